"""Schedules say when the cleanup comes, in the words of the changefeed's file."""

from __future__ import annotations

from datetime import datetime

import pytest

from tailrace.errors import ConfigError
from tailrace.sink.storage.cron import Schedule

NOW = datetime(2026, 1, 30, 13, 5, 30)  # a Friday


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 2 * * *", "2026-01-31 02:00:00"),
        ("0 0 2 * *", "2026-01-31 02:00:00"),
        ("* * * * * *", "2026-01-30 13:05:31"),
        ("*/20 * * * * *", "2026-01-30 13:05:40"),
        ("30 5 13 * * *", "2026-01-31 13:05:30"),
        ("0 10-20/5 * * * *", "2026-01-30 13:10:00"),
        ("0 0 0 1 * ?", "2026-02-01 00:00:00"),
        ("0 0 0 29 feb *", "2028-02-29 00:00:00"),
        ("0 0 12 ? * MON,Wed", "2026-02-02 12:00:00"),
        ("0 0 12 15 * 0", "2026-02-01 12:00:00"),
        ("0 0 12 * 2 0", "2026-02-01 12:00:00"),
        ("5/25 59 23 31 12 *", "2026-12-31 23:59:05"),
        ("@hourly", "2026-01-30 14:00:00"),
        ("@daily", "2026-01-31 00:00:00"),
    ],
)
def test_the_next_time_is_the_first_that_fits(text: str, expected: str) -> None:
    assert Schedule.parse(text).next_after(NOW) == datetime.fromisoformat(expected)


def test_a_day_that_never_comes_is_none() -> None:
    assert Schedule.parse("0 0 0 30 2 *").next_after(NOW) is None


_WRONG = ["", "* * *", "60 * * * * *", "* 60 * * * *", "* * 24 * * *", "* * * 0 * *", "* * * * 13 *", "* * * * * 7"]
_WRONG += ["a * * * * *", "5-1 * * * * *", "*/0 * * * * *", "* * * * * * *", "@soon", "1- * * * * *"]


@pytest.mark.parametrize("text", _WRONG)
def test_what_is_no_schedule_is_refused_by_its_key(text: str) -> None:
    with pytest.raises(ConfigError, match="file-cleanup-cron-spec"):
        Schedule.parse(text)
