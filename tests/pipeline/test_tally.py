"""Tallies count what they are told, and tell it at most once a second."""

from __future__ import annotations

from tailrace.change.tso import compose
from tailrace.pipeline.assignment import Report
from tailrace.pipeline.tally import Tally
from tailrace.progress.cut import Reached, Receipt
from tailrace.progress.position import Progress, RangeProgress, Stage


def progress(to_ms: int, *stages: Stage) -> Progress:
    ranges = tuple(RangeProgress(at, 7, stage=stage) for at, stage in enumerate(stages))
    return Progress("s", 1, compose(to_ms) if to_ms else 0, ranges)


def test_rows_of_the_snapshot_and_of_the_log_are_told_apart() -> None:
    tally = Tally(lambda report: None, lambda: 0.0)
    tally.delivered([Receipt(0, 10, 100, reached=(Reached(0, b"k", False),))], progress(0, Stage.SNAPSHOT))
    tally.delivered([Receipt(0, 5, 50)], progress(1000, Stage.LOG))
    report = tally.report
    assert (report.rows, report.bytes, report.cuts, report.snapshot_rows) == (15, 150, 2, 10)
    assert (report.ranges, report.snapshot_ranges_left) == (1, 0)


def test_the_lag_lies_between_what_could_be_given_and_what_is_durable() -> None:
    tally = Tally(lambda report: None, lambda: 0.0)
    tally.delivered([], progress(1000, Stage.LOG))
    tally.resolved(compose(3500))
    assert tally.report.lag_seconds == 2.5


def test_reports_come_at_most_once_a_second() -> None:
    told: list[Report] = []
    now = [0.0]
    tally = Tally(told.append, lambda: now[0])
    for _ in range(10):
        tally.resolved(compose(1000))
    assert len(told) == 1
    now[0] = 1.5
    tally.resolved(compose(2000))
    assert len(told) == 2


def test_seconds_are_added_up_by_stage() -> None:
    tally = Tally(lambda report: None, lambda: 0.0)
    for _ in range(2):
        tally.delivered([Receipt(0, seconds={"pull": 1.0, "write": 0.5})], progress(1, Stage.LOG))
    assert tally.seconds == {"pull": 2.0, "write": 1.0}
