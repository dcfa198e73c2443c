"""The alarm: calls somebody at a moment, for any number of moments, on one thread."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable

logger = logging.getLogger(__name__)


class Alarm:
    """What is called must return at once. Nothing is called after `close`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="alarm", daemon=True)
        self._thread.start()

    def call(self, seconds: float, what: Callable[[], None]) -> None:
        moment = time.monotonic() + seconds
        with self._changed:
            first = not self._due or moment < self._due[0][0]
            heapq.heappush(self._due, (moment, next(self._numbers), what))
            if first:
                self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while (calls := self._wait()) is not None:
            for what in calls:
                try:
                    what()
                except Exception:
                    logger.exception("a call of the alarm")

    def _wait(self) -> list[Callable[[], None]] | None:
        with self._changed:
            while not self._closed and (not self._due or self._due[0][0] > time.monotonic()):
                self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
            if self._closed:
                return None
            calls = []
            while self._due and self._due[0][0] <= time.monotonic():
                calls.append(heapq.heappop(self._due)[2])
            return calls
