"""A wave is over when it returns, whatever happened in it."""

from __future__ import annotations

import threading
import time

import pytest

from tailrace.errors import SinkAway, SinkRefused
from tailrace.store.waves import Waves


def test_results_come_in_order_and_several_at_once() -> None:
    together = threading.Barrier(4, timeout=5)

    def work(item: int) -> int:
        together.wait()
        return item * item

    assert Waves(4, 5, "here").run(work, range(8)) == [at * at for at in range(8)]


def test_no_more_are_at_work_than_threads() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def work(item: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1

    Waves(3, 5, "here").run(work, range(50))
    assert most == 3


def test_after_a_failure_nothing_more_begins_and_nothing_goes_on() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 1:
            raise SinkRefused("no")
        time.sleep(0.05)
        ended.append(item)

    with pytest.raises(SinkRefused, match="no"):
        Waves(2, 5, "here").run(work, range(100))
    assert len(begun) < 10
    assert sorted(ended) == [item for item in sorted(begun) if item != 1]
    before = list(begun)
    time.sleep(0.1)
    assert begun == before


def test_the_first_of_several_errors_is_the_one_that_is_raised() -> None:
    both = threading.Barrier(2, timeout=5)

    def work(item: int) -> None:
        both.wait()
        raise SinkRefused(f"item {item}")

    with pytest.raises(SinkRefused, match="item 0"):
        Waves(2, 5, "here").run(work, range(2))


def test_a_wave_that_takes_too_long_is_given_up_and_says_how_far_it_was() -> None:
    began = time.monotonic()
    with pytest.raises(SinkAway, match=r"bucket s3://b is too slow: \d+ of 1000 requests were made in 0 s"):
        Waves(2, 0.1, "bucket s3://b").run(lambda item: time.sleep(0.02), range(1000))
    assert time.monotonic() - began < 2


def test_a_wave_of_nothing_is_nothing() -> None:
    assert Waves(2, 5, "here").run(lambda item: item, list[int]()) == []
