"""Timestamps as a data server gets them: from the master, who checks that this process still has its place.

`known` is the newest timestamp that this server knows to be handed out. It only rises. Everything that is committed
later, here or anywhere, has a greater commit ts unless its transaction holds a lock already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tailrace.change.tso import Ts

# (count, [(table id, schema version)]) -> the first timestamp
Take = Callable[[int, Sequence[tuple[int, Ts]]], Ts]


class Timestamps:
    def __init__(self, take: Take) -> None:
        self._take = take
        self._mutex = threading.Lock()
        self._known: Ts = 0

    @property
    def known(self) -> Ts:
        return self._known

    def take(self, count: int = 1, written: Sequence[tuple[int, Ts]] = ()) -> Ts:
        first = self._take(count, written)
        with self._mutex:
            self._known = max(self._known, first)
        return first

    def at_least(self, ts: Ts) -> bool:
        """Whether `ts` has been handed out."""
        return ts <= self._known or ts <= self.take()
