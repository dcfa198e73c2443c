"""MySQL's functions that a partition's expression may use, for SQLite: by value, for DDL only.

They take what is stored, so a moment is its text. A zero date, or what is no moment, is NULL, as in MySQL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import date, datetime
from math import ceil, floor
from typing import Any
from zoneinfo import ZoneInfo

# MySQL counts days from the year 0, Python from the year 1.
_YEAR_ZERO = 365


def register(connection: sqlite3.Connection, zone: ZoneInfo) -> None:
    of_day: dict[str, Callable[[date], int]] = {
        "YEAR": lambda day: day.year,
        "MONTH": lambda day: day.month,
        "DAY": lambda day: day.day,
        "DAYOFMONTH": lambda day: day.day,
        "DAYOFYEAR": lambda day: day.timetuple().tm_yday,
        "DAYOFWEEK": lambda day: day.isoweekday() % 7 + 1,
        "WEEKDAY": lambda day: day.weekday(),
        "QUARTER": lambda day: (day.month + 2) // 3,
        "TO_DAYS": lambda day: day.toordinal() + _YEAR_ZERO,
        "YEARWEEK": lambda day: int(day.strftime("%Y%U")),
    }
    of_moment: dict[str, Callable[[datetime], int]] = {
        "HOUR": lambda at: at.hour,
        "MINUTE": lambda at: at.minute,
        "SECOND": lambda at: at.second,
        "UNIX_TIMESTAMP": lambda at: int(at.replace(tzinfo=zone).timestamp()),
        "TO_SECONDS": lambda at: (at.toordinal() + _YEAR_ZERO) * 86400 + at.hour * 3600 + at.minute * 60 + at.second,
    }
    of_number: dict[str, Callable[[Any], int]] = {"FLOOR": floor, "CEILING": ceil, "CEIL": ceil}
    for name, work in (of_day | of_moment).items():
        connection.create_function(name, 1, _told(work), deterministic=True)
    for name, count in of_number.items():
        connection.create_function(name, 1, lambda value, count=count: None if value is None else count(value))
    connection.create_function("MOD", 2, _modulo, deterministic=True)


def _told(work: Callable[[datetime], int]) -> Callable[[Any], int | None]:
    def call(value: Any) -> int | None:
        try:
            return None if value is None else work(datetime.fromisoformat(str(value)))
        except ValueError:
            return None

    return call


def _modulo(one: Any, other: Any) -> Any:
    """The sign is the dividend's, as in MySQL and not as in Python."""
    if one is None or not other:
        return None
    left = abs(one) % abs(other)
    return -left if one < 0 else left
