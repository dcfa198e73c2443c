"""The oracle: never the same timestamp, never a lower one."""

from __future__ import annotations

from tailrace.change.tso import compose, physical_ms
from tailrace.dataserver.oracle import WINDOW_MS, Oracle


class Wall:
    def __init__(self, ms: int) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms


def test_timestamps_rise_when_the_clock_goes_back() -> None:
    wall = Wall(1_000_000)
    oracle = Oracle(0, lambda limit: None, wall)
    before = oracle.take()
    wall.ms = 5
    assert oracle.take() == before + 1


def test_a_run_of_timestamps_is_nobody_elses() -> None:
    oracle = Oracle(0, lambda limit: None, Wall(1_000_000))
    first = oracle.take(300_000)
    assert oracle.take() == first + 300_000


def test_after_a_restart_they_go_on_above_all_that_was_given_even_with_an_older_clock() -> None:
    saved: list[int] = []
    wall = Wall(1_000_000)
    oracle = Oracle(0, saved.append, wall)
    given = [oracle.take(count) for count in (1, 7, 100_000)]
    again = Oracle(saved[-1], saved.append, Wall(3))
    assert again.take() > max(given) + 100_000 - 1


def test_the_limit_is_saved_before_anything_below_it_is_given() -> None:
    saved: list[int] = []
    wall = Wall(1_000_000)
    oracle = Oracle(0, saved.append, wall)
    for _ in range(5):
        assert oracle.take(10) + 9 <= saved[-1]
        wall.ms += WINDOW_MS // 2


def test_they_follow_the_wall_clock() -> None:
    wall = Wall(1_000_000)
    oracle = Oracle(0, lambda limit: None, wall)
    oracle.take()
    wall.ms += 10_000
    assert oracle.take() == compose(wall.ms)
    assert physical_ms(oracle.take()) == wall.ms
