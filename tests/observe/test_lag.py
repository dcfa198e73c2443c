"""Lag: known in every state, and said as people say it."""

from __future__ import annotations

import pytest

from tailrace.observe.lag import duration, lag_seconds, time_left


def test_a_delivery_that_says_nothing_falls_behind_by_a_second_each_second() -> None:
    assert lag_seconds(2.0, 0.0) == 2.0
    assert lag_seconds(2.0, 60.0) == 62.0


def test_clocks_that_differ_make_no_negative_lag() -> None:
    assert lag_seconds(-1.0, -3.0) == 0.0


@pytest.mark.parametrize(
    ("done", "total", "rate", "left"),
    [(0, 100, 10.0, 10.0), (50, 100, 10.0, 5.0), (120, 100, 10.0, 0.0), (5, 0, 10.0, None), (5, 100, 0.0, None)],
)
def test_the_time_left_is_known_once_there_is_a_rate(done: int, total: int, rate: float, left: float | None) -> None:
    assert time_left(done, total, rate) == left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (10, "10s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (185, "3m05s"),
        (7800, "2h10m"),
        (4 * 86400 + 3 * 3600, "4d3h"),
    ],
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text
