"""Dates and times as numbers are what the calendar says, one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.codec.debezium.moments import days, micros, time_micros, utc_text

EPOCH = datetime(1970, 1, 1)


@given(st.lists(st.none() | st.dates(), max_size=5))
def test_a_date_is_its_days_from_1970_on(dates: list[date | None]) -> None:
    text = pa.array([None if each is None else each.isoformat() for each in dates], pa.string())
    want = [None if each is None else (each - EPOCH.date()).days for each in dates]
    assert days(text).to_pylist() == want


@given(st.lists(st.none() | st.datetimes(), max_size=5), st.integers(0, 6))
def test_a_moment_is_its_microseconds_from_1970_on(moments: list[datetime | None], digits: int) -> None:
    step = 10 ** (6 - digits)
    cut = [each and each.replace(microsecond=each.microsecond // step * step) for each in moments]
    width = 20 + digits if digits else 19
    text = [None if each is None else each.isoformat(" ", "microseconds")[:width] for each in cut]
    want = [None if each is None else (each - EPOCH) // timedelta(microseconds=1) for each in cut]
    assert micros(pa.array(text, pa.string()), digits).to_pylist() == want
    written = utc_text(pa.array(text, pa.string()), digits, "UTC").to_pylist()
    assert written == [None if each is None else each.replace(" ", "T") + "Z" for each in text]


def test_what_no_calendar_has_is_no_date() -> None:
    text = ["0000-00-00", "2024-00-10", "2024-02-30", "2023-02-29", "1900-02-29", "2000-02-29", "2024-13-01"]
    assert [value is not None for value in days(pa.array(text)).to_pylist()] == [False] * 5 + [True, False]


@given(st.lists(st.none() | st.timedeltas(timedelta(hours=-838), timedelta(hours=838)), max_size=5))
def test_a_time_is_its_microseconds(times: list[timedelta | None]) -> None:
    texts: list[str | None] = []
    for each in times:
        if each is None:
            texts.append(None)
            continue
        seconds, rest = divmod(abs(each), timedelta(seconds=1))
        sign = "-" if each < timedelta(0) else ""
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        texts.append(f"{sign}{clock}.{rest // timedelta(microseconds=1):06d}")
    want = [None if each is None else each // timedelta(microseconds=1) for each in times]
    assert time_micros(pa.array(texts, pa.string())).to_pylist() == want


def test_a_time_zone_is_left_for_utc() -> None:
    text = pa.array(["2024-06-30 08:00:00", None])
    assert utc_text(text, 0, "Asia/Shanghai").to_pylist() == ["2024-06-30T00:00:00Z", None]
    assert datetime(2024, 6, 30, tzinfo=UTC).isoformat() == "2024-06-30T00:00:00+00:00"
