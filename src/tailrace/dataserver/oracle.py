"""The timestamp oracle.

Guarantees that no timestamp is handed out twice or below an earlier one, whatever the clock does and however often
the process is killed: an upper limit is saved before anything below it is handed out, and a restart goes on at the
saved limit. Timestamps of one call follow each other without a gap.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from tailrace.change.tso import Ts, compose
from tailrace.observe.clock import wall_ms
from tailrace.observe.failpoints import reach

WINDOW_MS = 3000


class Oracle:
    def __init__(self, saved: Ts, save: Callable[[Ts], None], clock: Callable[[], int] = wall_ms) -> None:
        """`saved` is the last limit that `save` was given; `save` returns when it is durable."""
        self._mutex = threading.Lock()
        self._last = self._limit = saved
        self._save, self._clock = save, clock

    def take(self, count: int = 1) -> Ts:
        """The first of `count` new timestamps."""
        with self._mutex:
            first = max(self._last + 1, compose(self._clock()))
            last = first + count - 1
            if last > self._limit:
                limit = last + compose(WINDOW_MS)
                self._save(limit)
                reach("store-window")
                self._limit = limit
            self._last = last
            return first
