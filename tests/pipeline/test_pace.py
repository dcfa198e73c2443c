"""When the next cut is due and how long a failure waits, by a clock that the test turns."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tailrace.pipeline.pace import GIVE_UP_SECONDS, LONGEST_WAIT, Pace, Patience, Rate
from tailrace.sink.base import Capabilities


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def capabilities(cut_seconds: float) -> Capabilities:
    return Capabilities("exactly_once", True, cut_seconds, 1, True, idle_seconds=2.0)


def test_cuts_start_as_far_apart_as_the_sink_wants() -> None:
    clock = Hand()
    pace = Pace(capabilities(5.0), clock)
    assert pace.until_cut() == 0
    pace.cut()
    clock.at += 2
    assert pace.until_cut() == 3
    clock.at += 4
    assert pace.until_cut() == 0


def test_an_idle_sink_is_told_again_after_its_idle_seconds() -> None:
    clock = Hand()
    pace = Pace(capabilities(5.0), clock)
    pace.told()
    assert pace.until_idle() == 2 and pace.tells_idle
    clock.at += 2
    assert pace.until_idle() == 0


def test_a_sink_that_asks_for_nothing_is_told_nothing_while_time_is_noted_all_the_same() -> None:
    clock = Hand()
    pace = Pace(replace(capabilities(0.0), idle_seconds=math.inf), clock)
    pace.told()
    assert not pace.tells_idle and 0 < pace.until_idle() < 10


def test_waits_grow_up_to_a_limit_and_start_small_again() -> None:
    patience = Patience(Hand())
    waits = [patience.wait(0.0) for _ in range(12)]
    assert waits == sorted(waits)
    assert waits[0] < 1 and waits[-1] == LONGEST_WAIT
    patience.restored()
    assert patience.wait(0.0) == waits[0]


def test_patience_ends_half_an_hour_after_the_first_failure_of_a_row() -> None:
    clock = Hand()
    patience = Patience(clock)
    patience.wait(1.0)
    assert not patience.exhausted
    clock.at += GIVE_UP_SECONDS + 1
    assert patience.exhausted


def test_the_rate_is_that_of_the_last_seconds() -> None:
    clock = Hand()
    rate = Rate(clock)
    for _ in range(50):
        rate.add(100)
        clock.at += 0.5
    rate.add(0)
    assert rate.value == pytest.approx(200, rel=0.1)
