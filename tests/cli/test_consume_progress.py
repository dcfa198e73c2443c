"""The line that tells how far a consumer is."""

from __future__ import annotations

from io import StringIO

from tailrace.change.tso import compose
from tailrace.cli.consume_progress import Line, describe
from tailrace.errors import SinkAway
from tailrace.pipeline.assignment import Report

STAND = Report(rows=1_234_567, rows_per_second=9_876.5, ranges=4, to_ts=compose(1_700_000_000_000), lag_seconds=75.0)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_it_says_how_much_how_fast_and_how_far_behind() -> None:
    assert describe(STAND) == "1,234,567 rows, 9,876 rows/s, 4 tables, at 2023-11-14 22:13:20, 1m15s behind"
    assert describe(Report(to_ts=1)) == "0 rows, 0 rows/s, 0 tables, at the beginning"


def test_on_a_terminal_it_is_rewritten_and_elsewhere_told_now_and_then() -> None:
    terminal, file = Terminal(), StringIO()
    for out in (terminal, file):
        line = Line(out)
        line.told(STAND)
        line.told(Report(to_ts=1))
        line.warned(SinkAway("the disk\nis full"))
        line.close()
    shown = terminal.getvalue()
    assert shown.count("\r") == 2
    assert shown.endswith("\ntried again: TR-4101 the disk is full\n")
    assert file.getvalue() == "tried again: TR-4101 the disk is full\n"
