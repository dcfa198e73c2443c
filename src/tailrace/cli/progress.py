"""Progress as people and programs read it: a table of subscriptions, and one subscription's fields. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tailrace.change.tso import MAX_TS, moment
from tailrace.observe.lag import duration, time_left
from tailrace.pipeline.assignment import Report
from tailrace.server.subscriptions import Status

HEADS = ("NAME", "STATE", "ROWS", "BYTES", "RATE", "SNAPSHOT", "LAG", "SINK")


def fields(status: Status) -> dict[str, Any]:
    """Everything that is known of a subscription, in JSON's types."""
    of, aged = status.subscription, status.report
    report = aged.report if aged else Report()
    return {
        "name": of.name,
        "state": of.state,
        "error": of.error.to_fields() | {"code": of.error.code} if of.error else None,
        "upstream": of.upstream,
        "sink": of.sink,
        "tables": list(of.tables),
        "rules": list(of.rules),
        "start": of.start,
        "end_ts": None if of.end_ts == MAX_TS else of.end_ts,
        "time_zone": of.time_zone,
        "owner": of.owner,
        "epoch": of.epoch,
        "created": datetime.fromtimestamp(of.created_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        "cut": of.cut,
        "checkpoint_ts": of.checkpoint_ts,
        "checkpoint_time": moment(of.checkpoint_ts).isoformat(timespec="milliseconds") if of.checkpoint_ts else None,
        "rows": report.rows,
        "bytes": report.bytes,
        "rows_per_second": round(report.rows_per_second, 1),
        "ranges": report.ranges,
        "snapshot": {
            "ranges_left": report.snapshot_ranges_left,
            "rows": report.snapshot_rows,
            "rows_total": report.snapshot_rows_total,
            "seconds_left": _seconds_left(report),
        },
        "lag_seconds": round(status.lag_seconds, 3) if status.lag_seconds is not None else None,
        "report_age_seconds": round(aged.age_seconds, 3) if aged else None,
    }


def lines(found: Sequence[Status]) -> list[str]:
    """A table, and below it a line for each error."""
    if not found:
        return ["no subscriptions"]
    rows = [HEADS, *(_row(status) for status in found)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADS))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    errors = [f"{each.subscription.name}: {each.subscription.error}" for each in found if each.subscription.error]
    return [*table, *errors]


def _row(status: Status) -> tuple[str, ...]:
    of, report = status.subscription, status.report.report if status.report else None
    if report is None:
        return (of.name, of.state, "-", "-", "-", "-", "-", of.sink)
    lag = duration(status.lag_seconds) if status.lag_seconds is not None and report.to_ts else "-"
    rate = f"{report.rows_per_second:,.0f}/s"
    return (of.name, of.state, f"{report.rows:,}", _size(report.bytes), rate, _snapshot(report), lag, of.sink)


def _snapshot(report: Report) -> str:
    if not report.snapshot_ranges_left:
        return "done" if report.ranges else "-"
    share = f"{report.snapshot_rows:,}"
    if report.snapshot_rows_total:
        share = f"{min(100 * report.snapshot_rows // report.snapshot_rows_total, 100)}%"
    left = _seconds_left(report)
    return f"{share}, {duration(left)} left" if left is not None else share


def _seconds_left(report: Report) -> float | None:
    if not report.snapshot_ranges_left:
        return None
    left = time_left(report.snapshot_rows, report.snapshot_rows_total, report.rows_per_second)
    return round(left, 1) if left is not None else None


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
