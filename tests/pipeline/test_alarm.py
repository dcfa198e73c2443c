"""The alarm calls in time, in order, and nobody after its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tailrace.pipeline.alarm import Alarm


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    made = Alarm()
    yield made
    made.close()


def test_calls_come_in_the_order_of_their_moments(alarm: Alarm) -> None:
    called: list[str] = []
    done = threading.Event()
    alarm.call(0.15, done.set)
    alarm.call(0.1, lambda: called.append("second"))
    alarm.call(0.02, lambda: called.append("first"))
    assert done.wait(5)
    assert called == ["first", "second"]


def test_an_earlier_call_does_not_wait_for_a_later_one(alarm: Alarm) -> None:
    done = threading.Event()
    alarm.call(3600, lambda: None)
    begun = time.monotonic()
    alarm.call(0.01, done.set)
    assert done.wait(5) and time.monotonic() - begun < 2


def test_one_that_raises_takes_no_other_with_it(alarm: Alarm) -> None:
    def fail() -> None:
        raise ValueError("a fault of ours")

    done = threading.Event()
    alarm.call(0.0, fail)
    alarm.call(0.01, done.set)
    assert done.wait(5)


def test_nothing_is_called_after_the_end() -> None:
    alarm = Alarm()
    called: list[int] = []
    alarm.call(0.05, lambda: called.append(1))
    alarm.close()
    time.sleep(0.1)
    assert called == []
