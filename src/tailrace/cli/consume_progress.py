"""The line of `tailrace consume` that tells how far it is: rewritten in place on a terminal, now and then elsewhere."""

from __future__ import annotations

import time
from typing import TextIO

from tailrace.change.tso import moment
from tailrace.errors import TailraceError
from tailrace.observe.lag import duration
from tailrace.pipeline.assignment import Report

_EVERY_SECONDS = 10.0


class Line:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._terminal = out.isatty()
        self._width = 0
        self._told_at = time.monotonic()

    def told(self, report: Report) -> None:
        text = describe(report)
        if self._terminal:
            self._out.write("\r" + text.ljust(self._width))
            self._width = len(text)
            self._out.flush()
        elif time.monotonic() >= self._told_at + _EVERY_SECONDS:
            self._told_at = time.monotonic()
            print(text, file=self._out, flush=True)

    def warned(self, error: TailraceError) -> None:
        self.close()
        print(f"tried again: {' '.join(str(error).split())}", file=self._out, flush=True)

    def close(self) -> None:
        if self._width:
            self._out.write("\n")
            self._width = 0


def describe(report: Report) -> str:
    """Rows, rate, and how far behind the storage's checkpoint."""
    moved = f"{report.rows:,} rows, {report.rows_per_second:,.0f} rows/s, {report.ranges:,} tables"
    if report.to_ts <= 1:
        return f"{moved}, at the beginning"
    at = moment(report.to_ts).strftime("%Y-%m-%d %H:%M:%S")
    return f"{moved}, at {at}, {duration(report.lag_seconds)} behind"
