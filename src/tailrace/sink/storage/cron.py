"""Schedules in cron's words, as `file-cleanup-cron-spec` has them: seconds first, day of week last or left out.

A `Schedule` that exists is valid. It answers in the wall-clock time that it is asked in, knows no time zone, and
never reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tailrace.errors import ConfigError

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("second", 0, 59, {}),
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)
_WORDS = {
    "@yearly": "0 0 0 1 1 *",
    "@annually": "0 0 0 1 1 *",
    "@monthly": "0 0 0 1 * *",
    "@weekly": "0 0 0 * * 0",
    "@daily": "0 0 0 * * *",
    "@midnight": "0 0 0 * * *",
    "@hourly": "0 0 * * * *",
}
_LONGEST_YEARS = 5


@dataclass(frozen=True, slots=True)
class Schedule:
    """The allowed numbers of each field; `any_day` and `any_weekday` say that the field was `*` or `?`."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Raises ConfigError for a text that is no schedule."""
        words = _WORDS.get(text.strip().lower(), text).split()
        if len(words) == len(_FIELDS) - 1:
            words.append("*")
        if len(words) != len(_FIELDS):
            raise _wrong(text, "5 or 6 fields: second minute hour day-of-month month [day-of-week]")
        sets = (_allowed(word, *field, text) for word, field in zip(words, _FIELDS, strict=True))
        seconds, minutes, hours, days, months, weekdays = sets
        return cls(seconds, minutes, hours, days, months, weekdays, words[3][0] in "*?", words[5][0] in "*?")

    def next_after(self, moment: datetime) -> datetime | None:
        """The first time above `moment`; None where none comes within years, such as a 30th of February."""
        at = moment.replace(microsecond=0) + timedelta(seconds=1)
        last = moment.year + _LONGEST_YEARS
        while at.year <= last:
            if not self._on(at):
                at = at.replace(hour=0, minute=0, second=0) + timedelta(days=1)
            elif at.hour not in self.hours:
                at = at.replace(minute=0, second=0) + timedelta(hours=1)
            elif at.minute not in self.minutes:
                at = at.replace(second=0) + timedelta(minutes=1)
            elif at.second not in self.seconds:
                at += timedelta(seconds=1)
            else:
                return at
        return None

    def _on(self, at: datetime) -> bool:
        """Where both days are given, either is enough: cron's own rule."""
        if at.month not in self.months:
            return False
        day, weekday = at.day in self.days, at.isoweekday() % 7 in self.weekdays
        return day and weekday if self.any_day or self.any_weekday else day or weekday


def _allowed(word: str, name: str, low: int, high: int, names: dict[str, int], text: str) -> frozenset[int]:
    allowed: set[int] = set()
    for part in word.split(","):
        span, slash, step_text = part.partition("/")
        first_text, dash, last_text = span.partition("-")
        try:
            step = int(step_text) if slash else 1
            if span in ("*", "?"):
                first, last = low, high
            else:
                first = _number(first_text, names)
                last = _number(last_text, names) if dash else (high if slash else first)
        except ValueError:
            raise _wrong(text, f"numbers of {low} to {high} for the {name}, not {part!r}") from None
        if not (low <= first <= last <= high and step > 0):
            raise _wrong(text, f"a range within {low} to {high} for the {name}, not {part!r}")
        allowed.update(range(first, last + 1, step))
    return frozenset(allowed)


def _number(text: str, names: dict[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else int(text)


def _wrong(text: str, rule: str) -> ConfigError:
    return ConfigError(f"sink.cloud-storage-config.file-cleanup-cron-spec is {text!r}; it needs {rule}")
