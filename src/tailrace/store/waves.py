"""Waves: many requests to a store at once, bounded in number and in time.

Guarantees: results come in the order of the items; once one fails, or the time is up, nothing more is begun, and what
had begun has ended before the error is raised. So nothing of a wave happens after it: a request that came late could
undo what the next wave does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from tailrace.errors import SinkAway
from tailrace.store.filesystem import Item, Result


class Waves:
    """`threads` requests at once, for `seconds` a wave. Each request must have a deadline of its own."""

    def __init__(self, threads: int, seconds: float, place: str) -> None:
        self._pool = ThreadPoolExecutor(threads, "tailrace-storage")
        self._seconds = seconds
        self._place = place

    def run(self, work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """Raises the error of the first item that failed, or SinkAway where the time was not enough."""
        begun = [self._pool.submit(work, item) for item in items]
        left = wait(begun, self._seconds, FIRST_EXCEPTION).not_done
        dropped = [each for each in left if each.cancel()]
        wait(begun)
        for each in begun:
            if not each.cancelled() and (error := each.exception()) is not None:
                raise error
        if dropped:
            raise SinkAway(
                f"{self._place} is too slow: {len(begun) - len(dropped)} of {len(begun)} requests were made in "
                f"{self._seconds:.0f} s"
            )
        return [each.result() for each in begun]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
