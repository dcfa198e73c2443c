"""Cron texts of TiCDC: `second minute hour day month [weekday]`, or `@daily` and its like. Only checked here."""

from __future__ import annotations

import re

from tailrace.config.duration import parse_duration
from tailrace.errors import ConfigError

_FIELDS = (("second", 0, 59), ("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 6))
_NAMES = {
    "month": ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    "weekday": ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
_WORDS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_PART = re.compile(r"(?:(\*|\?)|(\w+)(?:-(\w+))?)(?:/(\d+))?")


def check_cron(text: str, key: str) -> None:
    """Raises a ConfigError that names the field."""
    if text in _WORDS or text.startswith("@every "):
        _check_every(text, key)
        return
    fields = text.split()
    if len(fields) not in (5, 6):
        raise ConfigError(f"{key} has {len(fields)} fields; it may have second, minute, hour, day, month and weekday")
    for field, (name, low, high) in zip(fields, _FIELDS, strict=False):
        for part in field.split(","):
            if not _part_is_good(part, name, low, high):
                raise ConfigError(f"{key}: the {name} is {field!r}; it may be *, or numbers from {low} to {high}")


def _check_every(text: str, key: str) -> None:
    if text in _WORDS:
        return
    try:
        parse_duration(text.removeprefix("@every "))
    except ValueError as wrong:
        raise ConfigError(f"{key}: {wrong}") from wrong


def _part_is_good(part: str, name: str, low: int, high: int) -> bool:
    found = _PART.fullmatch(part)
    if found is None or found[4] == "0":
        return False
    if found[1]:
        return True
    start = _value(found[2], name, low)
    end = _value(found[3], name, low) if found[3] else start
    return start is not None and end is not None and low <= start <= end <= high


def _value(text: str, name: str, low: int) -> int | None:
    names = _NAMES.get(name, ())
    if text.lower() in names:
        return names.index(text.lower()) + low
    return int(text) if text.isascii() and text.isdigit() else None
