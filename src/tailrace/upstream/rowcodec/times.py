"""DATE, DATETIME, TIMESTAMP and TIME: TiDB's packed numbers and their texts.

A date and time packs into 64 bits as ((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second, then
24 bits of microseconds; a TIME is its nanoseconds. The text has exactly the column's digits after the point, and zero
dates survive. A packed number that is no date, or has more digits than its column, is an error.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec import digits
from tailrace.upstream.rowcodec.cells import Bytes, Cells, Flags, Ints, Packed, check, tails, uniform
from tailrace.upstream.rowcodec.zones import Zone

Packing = NDArray[np.uint64]

_DASHES = ((4, ord("-")), (7, ord("-")))
_CLOCK = ((10, ord(" ")), (13, ord(":")), (16, ord(":")))
_DAYS = np.array([31, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_SECOND = 1_000_000_000
MAX_TIME = (838 * 3600 + 59 * 60 + 59) * _SECOND


def parse_dates(data: Bytes, offsets: Ints, *, clock: bool, fraction: int) -> Packing:
    """Packed numbers of texts: a date, or with `clock` a date and time of `fraction` digits."""
    point = fraction if clock else 0
    width = 10 if not clock else 19 + (point + 1 if point else 0)
    text = _fixed(data, offsets, width)
    marks = _DASHES + (_CLOCK if clock else ()) + (((19, ord(".")),) if point else ())
    good = digits.are_digits(text)
    for place, mark in marks:
        good[:, place] = text[:, place] == mark
    check(good, lambda i: f"{bytes(text[i])!r} is not written as its type is")
    none = np.zeros(len(text), np.int64)
    hms = [digits.number(text, place, 2) if clock else none for place in (11, 14, 17)]
    micros = digits.number(text, 20, point) * 10 ** (6 - point) if point else none
    return _pack([digits.number(text, place, count) for place, count in ((0, 4), (5, 2), (8, 2))], hms, micros)


def format_dates(packed: Packing, *, clock: bool, fraction: int) -> Packed:
    """The texts of packed numbers."""
    (year, month, day), (hour, minute, second), micros = _unpack(packed)
    point = fraction if clock else 0
    good = (year <= 9999) & (micros % 10 ** (6 - point) == 0)
    good &= clock | ((hour | minute | second) == 0)
    check(good, lambda i: f"{packed[i]:#x} is more than its type holds")
    text = np.empty((len(packed), 10 if not clock else 19 + (point + 1 if point else 0)), np.uint8)
    for place, mark in _DASHES + (_CLOCK if clock else ()):
        text[:, place] = mark
    digits.write(text, 0, 4, year)
    digits.write(text, 5, 2, month)
    digits.write(text, 8, 2, day)
    if clock:
        for place, value in ((11, hour), (14, minute), (17, second)):
            digits.write(text, place, 2, value)
    if point:
        text[:, 19] = ord(".")
        digits.write(text, 20, point, micros // 10 ** (6 - point))
    return uniform(text)


def to_utc(packed: Packing, zone: Zone) -> Packing:
    """A zone's wall clock as UTC; zero stays zero."""
    return _moved(packed, zone.to_utc)


def from_utc(packed: Packing, zone: Zone) -> Packing:
    """UTC as a zone's wall clock; zero stays zero."""
    return _moved(packed, zone.from_utc)


def parse_times(data: Bytes, offsets: Ints, fraction: int) -> Ints:
    """Nanoseconds of texts [-]hh[h]:mm:ss[.f]."""
    tail = fraction + 1 if fraction else 0
    text, first = digits.right_aligned(data, offsets, 10 + tail, "a TIME")
    rows = np.arange(len(text))
    minus = text[rows, first] == ord("-")
    text[rows[minus], first[minus]] = digits.ZERO
    good = digits.are_digits(text)
    for place, mark in ((4, ":"), (7, ":"), (10, "."))[: 3 if tail else 2]:
        good[:, place] = text[:, place] == ord(mark)
    good[:, 0] &= first + minus <= 2
    hour, minute, second = (digits.number(text, place, count) for place, count in ((0, 4), (5, 2), (8, 2)))
    nanos = ((hour * 60 + minute) * 60 + second) * _SECOND
    if tail:
        nanos += digits.number(text, 11, fraction) * 10 ** (9 - fraction)
    good[:, 0] &= (minute < 60) & (second < 60) & (nanos <= MAX_TIME)
    check(good, lambda i: f"{bytes(data[offsets[i] : offsets[i + 1]])!r} is not a TIME({fraction})")
    return np.where(minus, -nanos, nanos)


def format_times(nanos: Ints, fraction: int) -> Cells:
    """The texts of nanoseconds."""
    size = np.abs(nanos)
    good = (size <= MAX_TIME) & (nanos >= -MAX_TIME) & (size % 10 ** (9 - fraction) == 0)
    check(good, lambda i: f"{nanos[i]} ns is not a TIME({fraction})")
    text = np.empty((len(nanos), 10 + (fraction + 1 if fraction else 0)), np.uint8)
    text[:, 4] = text[:, 7] = ord(":")
    seconds = size // _SECOND
    minutes = seconds // 60
    hour = minutes // 60
    for place, count, value in ((0, 4, hour), (5, 2, minutes - hour * 60), (8, 2, seconds - minutes * 60)):
        digits.write(text, place, count, value)
    if fraction:
        text[:, 10] = ord(".")
        digits.write(text, 11, fraction, (size - seconds * _SECOND) // 10 ** (9 - fraction))
    first = np.where(hour > 99, 1, 2) - (nanos < 0)
    text[np.flatnonzero(nanos < 0), first[nanos < 0]] = ord("-")
    return tails(text, first)


def _moved(packed: Packing, move: Callable[[Ints], Ints]) -> Packing:
    set_ = np.flatnonzero(packed)
    (year, month, day), (hour, minute, second), micros = _unpack(packed[set_])
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]").astype(np.int64) + day - 1
    real = (month > 0) & (day > 0) & (days.astype("datetime64[D]").astype("datetime64[M]") == months)
    check(real, lambda i: f"{year[i]}-{month[i]}-{day[i]} is no day of the calendar")
    moved = move(days * 86_400 + hour * 3600 + minute * 60 + second)
    days, clock = np.divmod(moved, 86_400)
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int64)
    year, month = np.divmod(months.astype(np.int64), 12)
    minutes, second = np.divmod(clock, 60)
    result = np.zeros(len(packed), np.uint64)
    result[set_] = _pack([year + 1970, month + 1, days - first + 1], [minutes // 60, minutes % 60, second], micros)
    return result


def _fixed(data: Bytes, offsets: Ints, width: int) -> Bytes:
    sizes = np.diff(offsets)
    check(sizes == width, lambda i: f"a text of {sizes[i]} characters where its type has {width}")
    return data[offsets[0] : offsets[-1]].reshape(-1, width)


def _pack(ymd: list[Ints], clock: list[Ints], micros: Ints) -> Packing:
    year, month, day = ymd
    hour, minute, second = clock
    good = _is_time(month, day, hour, minute, second, micros)
    check(good, lambda i: f"{year[i]}-{month[i]}-{day[i]} {hour[i]}:{minute[i]}:{second[i]} is no date and time")
    date = (year * 13 + month) << 5 | day
    return (((date << 17 | hour << 12 | minute << 6 | second) << 24) | micros).view(np.uint64)


def _unpack(packed: Packing) -> tuple[tuple[Ints, Ints, Ints], tuple[Ints, Ints, Ints], Ints]:
    bits = packed.view(np.int64)
    micros, clock, date = bits & 0xFFFFFF, bits >> 24 & 0x1FFFF, bits >> 41
    year, month = np.divmod(date >> 5, 13)
    day, hour, minute, second = date & 31, clock >> 12, clock >> 6 & 63, clock & 63
    check(
        (bits >= 0) & _is_time(month, day, hour, minute, second, micros), lambda i: f"{packed[i]:#x} is no packed time"
    )
    return (year, month, day), (hour, minute, second), micros


def _is_time(month: Ints, day: Ints, hour: Ints, minute: Ints, second: Ints, micros: Ints) -> Flags:
    """Zero months and days are legal in TiDB, as is every day up to 31 under some SQL modes."""
    good = (month <= 12) & (day <= 31) & (hour < 24) & (minute < 60) & (second < 60) & (micros < 1_000_000)
    return np.asarray(good, np.bool_)
