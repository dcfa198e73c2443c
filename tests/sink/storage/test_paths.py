"""Paths follow from the row alone: its names, its version, its commit date in one time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tailrace.change.tso import Ts, compose
from tailrace.errors import SinkRefused
from tailrace.sink.storage.paths import DateSeparator, Layout, database_folder, index_path, table_folder


def at(text: str, zone: str = "UTC", fold: int = 0) -> Ts:
    moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return compose(round(moment.timestamp() * 1000))


@pytest.mark.parametrize(
    ("separator", "level"), [("none", ""), ("year", "2022"), ("month", "2022-12"), ("day", "2022-12-31")]
)
def test_the_folder_has_its_levels(separator: DateSeparator, level: str) -> None:
    layout = Layout(".json", separator, digits=6)
    date = layout.date_of(at("2022-12-31 23:59:59.999"))
    assert date == level
    tail = f"/{level}" if level else ""
    assert layout.folder("test", "table1", 5, 0, date) == f"test/table1/5{tail}"
    assert layout.folder("test", "table1", 5, 55, date) == f"test/table1/5/55{tail}"
    assert Layout(".json", separator, False).folder("test", "table1", 5, 55, date) == f"test/table1/5{tail}"
    assert index_path("test/table1/5") == "test/table1/5/meta/CDC.index"


def test_file_names_have_their_width_and_grow_beyond_it() -> None:
    layout = Layout(".csv", digits=6)
    assert [layout.data_name(number) for number in (1, 999_999, 1_000_000)] == [
        "CDC000001.csv",
        "CDC999999.csv",
        "CDC1000000.csv",
    ]
    assert [layout.number_of(name) for name in ("CDC000011.csv", "CDC1000000.csv")] == [11, 1_000_000]


@pytest.mark.parametrize(
    "name",
    ["CDC1.csv", "cdc000001.csv", "CDC000005.json", "CDChello.csv", "CDC000001.csv.tmp.1", "CDC٠٠٠٠٠١.csv", "CDC"],
)
def test_other_names_are_no_data_files(name: str) -> None:
    assert Layout(".csv", digits=6).number_of(name) is None


def test_an_index_is_read_with_any_width_and_nothing_else() -> None:
    layout = Layout(".json", digits=20)
    assert layout.indexed_number("CDC000011.json\n", "i") == 11
    assert layout.indexed_number("CDC1000000.json", "i") == 1_000_000
    for text in (
        "CDC1.json",
        "cdc000001.json",
        "CDC000005.xxx",
        "CDChello.json",
        "",
        "CDC000005.json\r\n",
        "CDC-00005.json",
    ):
        with pytest.raises(SinkRefused, match="data file"):
            layout.indexed_number(text, "i")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York", "America/St_Johns", "America/Sao_Paulo"])
@pytest.mark.parametrize("year", [2010, 2026])
def test_dates_never_fall_and_end_where_the_layout_says(zone: str, year: int) -> None:
    """Half hours around every midnight of a year; some of these clocks change at or just after midnight."""
    layout = Layout(".csv", zone=ZoneInfo(zone))
    midnights = [datetime(year, 1, 1, tzinfo=ZoneInfo(zone)) + timedelta(days=day) for day in range(365)]
    around = [timedelta(minutes=30 * half, seconds=40) for half in range(-3, 4)]
    moments = [midnight.astimezone(UTC) + offset for midnight in midnights for offset in around]
    stamps = [compose(round(moment.timestamp() * 1000)) for moment in moments]
    dates = [layout.date_of(stamp) for stamp in stamps]
    assert dates == sorted(dates)
    for stamp, date in zip(stamps, dates, strict=True):
        ends = layout.date_ends(stamp)
        assert ends is not None and ends > stamp
        assert layout.date_of(ends - 1) == date < layout.date_of(ends)


def test_the_clock_that_goes_back_over_midnight_does_not_take_the_date_back() -> None:
    layout = Layout(".csv", zone=ZoneInfo("America/St_Johns"))
    before, after = (at("2010-11-06 23:30:00", "America/St_Johns", fold) for fold in (0, 1))
    assert after - before == 3_600_000 << 18
    assert [layout.date_of(before), layout.date_of(after)] == ["2010-11-06", "2010-11-07"]


@pytest.mark.parametrize(
    ("separator", "ends"), [("year", "2025-01-01"), ("month", "2024-02-01"), ("day", "2024-02-01"), ("none", "")]
)
def test_a_date_level_ends_with_its_year_month_or_day(separator: DateSeparator, ends: str) -> None:
    layout = Layout(".csv", separator, zone=ZoneInfo("Asia/Shanghai"))
    until = layout.date_ends(at("2024-01-31 15:59:59"))
    assert until == (at(f"{ends} 00:00:00", "Asia/Shanghai") if ends else None)


def test_without_dates_nothing_ends() -> None:
    assert Layout(".csv", "none").date_ends(at("2022-12-31 12:00")) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "../x", "nul\0"])
def test_a_name_that_is_no_path_element_is_refused(name: str) -> None:
    for schema, table in (("db", name), (name, "t")):
        with pytest.raises(SinkRefused, match="cannot be a folder"):
            table_folder(schema, table)
    with pytest.raises(SinkRefused, match="cannot be a folder"):
        database_folder(name)


def test_other_names_stand_as_they_are() -> None:
    assert table_folder("Ünï db", "t.$-`\\") == "Ünï db/t.$-`\\"
    assert table_folder("db", "metadata") == "db/metadata"
    for own in ("metadata", ".tailrace"):
        with pytest.raises(SinkRefused, match="own files"):
            database_folder(own)
