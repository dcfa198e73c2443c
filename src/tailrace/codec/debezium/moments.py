"""Dates and times as numbers: days, milliseconds and microseconds, and timestamps as text in UTC.

A date that no calendar has (a zero month or day, the 31st of February) becomes NULL. Nothing here loops over rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_TIME = r"^(?P<s>-?)(?P<h>\d+):(?P<m>\d\d):(?P<c>\d\d)(?:\.(?P<f>\d+))?$"


def days(text: pa.StringArray) -> pa.Int64Array:
    """Dates as days from 1970 on."""
    date, good, absent = _parts(text, 10)
    return pa.array(_days(date), mask=absent | ~good)


def micros(text: pa.StringArray, digits: int) -> pa.Int64Array:
    """Dates and times as microseconds from 1970 on, in whatever time zone they are in."""
    parts, good, absent = _parts(text, 20 + digits if digits else 19)
    clock = [_number(parts, at, 2) for at in (11, 14, 17)]
    seconds = _days(parts) * 86400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    fraction = _number(parts, 20, digits) * 10 ** (6 - digits) if digits else 0
    return pa.array(seconds * 1_000_000 + fraction, mask=absent | ~good)


def time_micros(text: pa.StringArray) -> pa.Int64Array:
    """Times, which may be negative and longer than a day, as microseconds."""
    sign, hours, minutes, seconds, fraction = pc.extract_regex(text, _TIME).flatten()
    whole = [part.cast(pa.int64()) for part in (hours, minutes, seconds)]
    total = pc.add(pc.add(pc.multiply(whole[0], 3600), pc.multiply(whole[1], 60)), whole[2])
    padded = pc.utf8_rpad(fraction, 6, "0").cast(pa.int64())
    total = pc.add(pc.multiply(total, 1_000_000), padded)
    return pc.if_else(pc.equal(sign, "-"), pc.negate(total), total)


def utc_text(text: pa.StringArray, digits: int, time_zone: str) -> pa.StringArray:
    """Timestamps of a time zone in UTC, as ISO 8601 writes them."""
    local = micros(text, digits).cast(pa.timestamp("us"))
    exact = pc.assume_timezone(local, time_zone, ambiguous="earliest", nonexistent="latest")
    numbers = exact.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    unit = ("s", 1_000_000) if not digits else ("ms", 1000) if digits <= 3 else ("us", 1)
    plain = pc.divide(numbers, unit[1]) if unit[1] > 1 else numbers
    written = pc.strftime(plain.cast(pa.timestamp(unit[0])), "%Y-%m-%dT%H:%M:%S")
    cut = pc.utf8_slice_codeunits(written, 0, 20 + digits if digits else 19)
    return pc.binary_join_element_wise(cut, "Z", "")


def _parts(text: pa.StringArray, width: int) -> tuple[Any, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The characters of each value as digits, which of them are dates, and which are NULL."""
    absent = np.asarray(pc.is_null(text).to_numpy(zero_copy_only=False))
    filled = pc.fill_null(text, "0" * width) if absent.any() else text
    padded = pc.utf8_rpad(pc.utf8_slice_codeunits(filled, 0, width), width, "0")
    _, offsets, data = padded.buffers()
    begin = int(np.frombuffer(offsets, np.int32)[padded.offset]) if len(padded) else 0
    held = np.frombuffer(data or b"", np.uint8)[begin : begin + width * len(padded)]
    parts = held.reshape(len(padded), width).astype(np.int64) - ord("0")
    year, month, day = _number(parts, 0, 4), _number(parts, 5, 2), _number(parts, 8, 2)
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    most = np.where((month >= 1) & (month <= 12), _DAYS[np.clip(month, 0, 12)] + (leap & (month == 2)), 0)
    return parts, (day >= 1) & (day <= most), absent


def _number(parts: Any, at: int, digits: int) -> Numbers:
    number: Numbers = np.zeros(len(parts), np.int64)
    for place in range(at, at + digits):
        number = number * 10 + parts[:, place]
    return number


def _days(parts: Any) -> Numbers:
    """Days from 1970 on in the calendar of today, counted in years that begin in March."""
    year, month, day = _number(parts, 0, 4), _number(parts, 5, 2), _number(parts, 8, 2)
    year = year - (month <= 2)
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    days_of_era = of_era * 365 + of_era // 4 - of_era // 100 + of_year
    result: Numbers = era * 146097 + days_of_era - 719468
    return result
