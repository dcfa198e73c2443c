"""Timestamps as a data server gets them: from the master, who checks that this process still has its place.

`known` is the newest timestamp that this server knows to be handed out. It only rises. Everything that is committed
later, here or anywhere, has a greater commit ts unless its transaction holds a lock already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from tailrace.change.tso import Ts

# (count, [(table id, schema version)]) -> the first timestamp
Take = Callable[[int, Sequence[tuple[int, Ts]]], Ts]


class Timestamps:
    def __init__(self, take: Take) -> None:
        self._take = take
        self._mutex = threading.Lock()
        self._asking = threading.Lock()
        self._known: Ts = 0
        self._at = 0.0

    @property
    def known(self) -> Ts:
        return self._known

    def take(self, count: int = 1, written: Sequence[tuple[int, Ts]] = ()) -> Ts:
        asked = time.monotonic()
        first = self._take(count, written)
        with self._mutex:
            if first > self._known:
                self._known, self._at = first, asked
        return first

    def recent(self, age_s: float) -> Ts:
        """A timestamp handed out at most `age_s` ago; many callers share one question."""
        if time.monotonic() - self._at > age_s:
            with self._asking:
                if time.monotonic() - self._at > age_s:
                    self.take()
        return self._known

    def at_least(self, ts: Ts) -> bool:
        """Whether `ts` has been handed out."""
        return ts <= self._known or ts <= self.take()
