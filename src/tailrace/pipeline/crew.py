"""The crew: the threads of the driver on which deliveries take their steps.

Guarantees: a task that does not come back holds nobody else. After `SLOW_SECONDS` it counts no more and another may
begin in its place; after `HUNG_SECONDS` that is said once (`overdue`). Tasks of subscriptions that are not proven
healthy have one hand at least and half of them at most, and begin nothing once half of all threads that there may ever
be are taken. It must never end a thread: a call into a sink cannot be taken back, only waited for.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

HANDS = 8
MOST_THREADS = 512
SLOW_SECONDS = 1.0
HUNG_SECONDS = 30.0
TICK_SECONDS = 0.25

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Task:
    run: Callable[[], None]
    overdue: Callable[[float], None]
    proven: bool
    begun: float = 0.0
    told: bool = False


class Crew:
    def __init__(self, hands: int = HANDS, most: int = MOST_THREADS) -> None:
        self._hands = max(hands, 2)
        self._most = most
        self._changed = threading.Condition()
        self._proven: deque[_Task] = deque()
        self._others: deque[_Task] = deque()
        self._running: set[_Task] = set()
        self._threads = 0
        self._idle = 0
        self._closed = threading.Event()
        self._watch = threading.Thread(target=self._tick, name="crew-watch", daemon=True)
        self._watch.start()

    @property
    def hung(self) -> int:
        """Tasks that should have come back long ago."""
        with self._changed:
            return len(self._older(HUNG_SECONDS))

    @property
    def waiting(self) -> int:
        """Tasks that no hand has taken yet."""
        with self._changed:
            return len(self._proven) + len(self._others)

    def submit(self, run: Callable[[], None], overdue: Callable[[float], None], proven: bool) -> None:
        """`run` must deal with its own errors; `overdue` is called once, with how long it has taken so far."""
        with self._changed:
            (self._proven if proven else self._others).append(_Task(run, overdue, proven))
            self._call_hands()

    def close(self) -> None:
        """What has begun goes on to its end, what has not is forgotten. Waits for nobody: a task may hang."""
        with self._changed:
            self._closed.set()
            self._proven.clear()
            self._others.clear()
            self._changed.notify_all()
        self._watch.join()

    def _call_hands(self) -> None:
        if self._idle:
            self._changed.notify()
        elif self._threads < self._most and self._queue() is not None:
            self._threads += 1
            threading.Thread(target=self._work, name=f"crew-{self._threads}", daemon=True).start()

    def _queue(self) -> deque[_Task] | None:
        """Where the next task may be taken from, if one may begin now."""
        now = time.monotonic()
        quick = [task for task in self._running if now - task.begun < SLOW_SECONDS]
        if len(quick) >= self._hands:
            return None
        others = sum(not task.proven for task in quick)
        may = bool(self._others) and others < self._hands // 2 and len(self._running) < self._most // 2
        if self._proven and (others or not may):
            return self._proven
        return self._others if may else None

    def _work(self) -> None:
        while (task := self._take()) is not None:
            try:
                task.run()
            except BaseException:
                logger.exception("a step of a delivery did not deal with its error")
            with self._changed:
                self._running.discard(task)

    def _take(self) -> _Task | None:
        with self._changed:
            while (queue := self._queue()) is None:
                if self._closed.is_set() or self._idle >= self._hands:
                    self._threads -= 1
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            task = queue.popleft()
            task.begun = time.monotonic()
            self._running.add(task)
            if self._proven or self._others:
                self._call_hands()
            return task

    def _tick(self) -> None:
        while not self._closed.wait(TICK_SECONDS):
            with self._changed:
                late = [task for task in self._older(HUNG_SECONDS) if not task.told]
                for task in late:
                    task.told = True
                if self._proven or self._others:
                    self._call_hands()
            for task in late:
                task.overdue(time.monotonic() - task.begun)

    def _older(self, seconds: float) -> list[_Task]:
        now = time.monotonic()
        return [task for task in self._running if now - task.begun >= seconds]
