"""Progress as it is shown: rows, bytes, rate, time left of the snapshot, lag."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tailrace.change.tso import MAX_TS, compose
from tailrace.cli.progress import fields, lines
from tailrace.errors import PositionLost
from tailrace.pipeline.assignment import Report
from tailrace.server.records import State, Subscription
from tailrace.server.reports import AgedReport
from tailrace.server.subscriptions import Status


def status(report: Report | None = None, state: State = "normal", age: float = 0.0, reached: int = 0) -> Status:
    made = Subscription("orders", "memory://x", "file:///x", "", ("*.*",), False, "snapshot", MAX_TS, "UTC")
    made = replace(made, state=state, checkpoint_ts=reached)
    return Status(made, AgedReport(report, age) if report else None)


def test_a_subscription_that_nobody_has_reported_of_yet() -> None:
    assert lines([status(state="new")])[1].split() == ["orders", "new", "-", "-", "-", "-", "-", "file:///x"]


@pytest.mark.parametrize(
    ("done", "total", "rate", "text"),
    [
        (250, 1000, 10.0, "25%, 1m15s left"),
        (250, 0, 10.0, "250"),
        (2500, 1000, 0.0, "100%"),
    ],
)
def test_a_snapshot_shows_its_share_and_the_time_left(done: int, total: int, rate: float, text: str) -> None:
    report = Report(snapshot_ranges_left=2, snapshot_rows=done, snapshot_rows_total=total, rows_per_second=rate)
    assert text in lines([status(report, "snapshot")])[1]


def test_lag_grows_while_nothing_is_reported() -> None:
    report = Report(to_ts=5, lag_seconds=2.0)
    assert "3.5s" in lines([status(report, age=1.5)])[1]
    assert fields(status(report, age=1.5))["lag_seconds"] == 3.5


@pytest.mark.parametrize("state", ["finished", "cancelled"])
def test_what_is_over_has_no_lag(state: State) -> None:
    shown = status(Report(ranges=1, to_ts=5, lag_seconds=2.0), state, age=99.0)
    assert fields(shown)["lag_seconds"] is None
    assert lines([shown])[1].split()[-3:] == ["done", "-", "file:///x"]


def test_a_snapshot_of_nothing_is_not_called_done() -> None:
    assert "done" not in lines([status(Report())])[1]


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB"), (7 << 40, "7.0 TiB")]
)
def test_sizes_are_in_units(size: int, text: str) -> None:
    assert text in lines([status(Report(bytes=size))])[1]


def test_columns_stand_below_their_heads() -> None:
    head, row = lines([status(Report(rows=12_345_678_901))])
    assert head.index("SINK") == row.index("file:///x")


def test_fields_are_json_and_say_when() -> None:
    report = Report(rows=5, snapshot_ranges_left=1, snapshot_rows=5, snapshot_rows_total=10, rows_per_second=5.0)
    found = json.loads(json.dumps(fields(status(report, reached=compose(1_700_000_000_000)))))
    assert found["snapshot"] == {"ranges_left": 1, "rows": 5, "rows_total": 10, "seconds_left": 1.0}
    assert found["checkpoint_time"] == "2023-11-14T22:13:20.000+00:00"
    assert found["end_ts"] is None
    assert fields(status())["lag_seconds"] is None


def test_errors_stand_below_the_table() -> None:
    failed = replace(status().subscription, error=PositionLost("gone", position="5..9"))
    assert lines([Status(failed, None)])[-1] == "orders: TR-3001 gone [position 5..9]"
