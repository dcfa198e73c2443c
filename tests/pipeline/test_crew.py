"""The crew: what hangs holds nobody else, and is counted; who is not proven has half of the hands."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tailrace.pipeline import crew as room
from tailrace.pipeline.crew import Crew


def until(done: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


class Work:
    """Tasks that wait to be let go."""

    def __init__(self, crew: Crew) -> None:
        self.crew = crew
        self.go = threading.Event()
        self.begun = 0
        self.done = 0
        self.overdue: list[float] = []
        self._lock = threading.Lock()

    def add(self, number: int, proven: bool = True) -> None:
        for _ in range(number):
            self.crew.submit(self._wait, self.overdue.append, proven)

    def _wait(self) -> None:
        with self._lock:
            self.begun += 1
        self.go.wait(10)
        with self._lock:
            self.done += 1


@pytest.fixture
def work() -> Iterator[Work]:
    made = Work(Crew(hands=4, most=20))
    yield made
    made.go.set()
    made.crew.close()


def test_so_many_tasks_run_at_once_and_the_others_wait(work: Work) -> None:
    work.add(6)
    until(lambda: work.begun == 4)
    time.sleep(0.05)
    assert (work.begun, work.crew.waiting) == (4, 2)
    work.go.set()
    until(lambda: work.done == 6)


def test_who_is_not_proven_has_half_of_the_hands(work: Work) -> None:
    work.add(6, proven=False)
    until(lambda: work.begun == 2)
    time.sleep(0.05)
    assert work.begun == 2
    work.add(2)
    until(lambda: work.begun == 4)


def test_who_is_not_proven_has_a_turn_however_many_others_wait(work: Work) -> None:
    work.go.set()
    order: list[str] = []

    def note(name: str) -> None:
        time.sleep(0.005)
        order.append(name)

    for _ in range(100):
        work.crew.submit(lambda: note("proven"), lambda seconds: None, True)
    work.crew.submit(lambda: note("new"), lambda seconds: None, False)
    until(lambda: len(order) == 101)
    assert order.index("new") < 50


def test_tasks_that_hang_hold_nobody_and_are_said_once(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SLOW_SECONDS", 0.1)
    monkeypatch.setattr(room, "HUNG_SECONDS", 0.2)
    work.add(4)
    until(lambda: work.begun == 4)
    quick = Work(work.crew)
    quick.go.set()
    quick.add(10)
    until(lambda: quick.done == 10, 3.0)
    until(lambda: work.crew.hung == 4 and len(work.overdue) == 4)
    time.sleep(0.6)
    assert len(work.overdue) == 4
    work.go.set()
    until(lambda: work.crew.hung == 0)


def test_threads_are_bounded_and_the_last_half_is_for_the_proven(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SLOW_SECONDS", 0.02)
    work.add(40, proven=False)
    until(lambda: work.begun == 10)
    time.sleep(0.6)
    assert work.begun == 10
    work.add(40)
    until(lambda: work.begun == 20)
    time.sleep(0.6)
    assert work.begun == 20
    work.go.set()
    until(lambda: work.done == 80)


def test_a_task_that_raises_takes_no_hand_with_it(work: Work) -> None:
    def fail() -> None:
        raise ValueError("a fault of ours")

    for _ in range(10):
        work.crew.submit(fail, lambda seconds: None, True)
    work.go.set()
    work.add(5)
    until(lambda: work.done == 5)


def test_nothing_waits_for_a_hung_task_at_the_end(work: Work) -> None:
    work.add(1)
    until(lambda: work.begun == 1)
    begun = time.monotonic()
    work.crew.close()
    assert time.monotonic() - begun < 1
