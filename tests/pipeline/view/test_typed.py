"""Typed values: casts of whole columns, in which nothing is lost but days that no calendar has."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.errors import SchemaMismatch
from tailrace.pipeline.view.typed import typed


def cast(values: list[Any], kind: ColumnType, wanted: pa.DataType, zone: str = "UTC") -> list[Any]:
    found = typed(pa.array(values, kind.arrow), Column(1, "c", kind), wanted, zone)
    assert found.type == wanted
    return list(found.to_pylist())


DAYS = ["0000-00-00", "2026-00-10", "2026-02-31", "0001-01-01", None, "2024-02-29", "9999-12-31"]
REAL = [None, None, None, date(1, 1, 1), None, date(2024, 2, 29), date(9999, 12, 31)]


def test_days_that_no_calendar_has_are_null_and_all_others_stay() -> None:
    assert cast(DAYS, ColumnType("date"), pa.date32()) == REAL


def test_the_same_holds_for_times_of_such_days() -> None:
    said = [None if day is None else f"{day} 23:59:59.123456" for day in DAYS]
    found = cast(said, ColumnType("datetime", 26, 6), pa.timestamp("us"))
    assert [when and when.date() for when in found] == REAL
    assert found[5] == datetime(2024, 2, 29, 23, 59, 59, 123456)


def test_a_timestamp_is_the_moment_that_its_text_means_in_the_zone() -> None:
    instant = pa.timestamp("us", "UTC")
    kind = ColumnType("timestamp", 19)
    assert cast(["2026-07-01 10:00:00"], kind, instant) == [datetime(2026, 7, 1, 10, tzinfo=UTC)]
    assert cast(["2026-07-01 10:00:00"], kind, instant, "Asia/Shanghai") == [datetime(2026, 7, 1, 2, tzinfo=UTC)]
    # an hour that a clock shows twice, and one that it never shows
    assert cast(["2026-10-25 02:30:00", "2026-03-29 02:30:00"], kind, instant, "Europe/Berlin") == [
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    ]


def test_decimals_and_unsigned_integers_keep_every_digit() -> None:
    wide = "12345678901234567890123456789012345.678"
    assert cast([wide, None], ColumnType("decimal", 38, 3), pa.decimal128(38, 3)) == [Decimal(wide), None]
    top = 18446744073709551615
    assert cast([top, 0], ColumnType("bigint", 20, unsigned=True), pa.decimal128(20, 0)) == [Decimal(top), Decimal(0)]


def test_members_of_enums_and_sets_are_text() -> None:
    assert cast([2, None], ColumnType("enum", elems=("a", "b,c")), pa.string()) == ["b,c", None]
    assert cast([5, 0], ColumnType("set", elems=("x", "y", "z")), pa.string()) == ["x,z", ""]


def test_a_value_that_does_not_fit_is_an_error_that_names_the_column() -> None:
    with pytest.raises(SchemaMismatch, match="column c"):
        cast(["12.345"], ColumnType("decimal", 10, 3), pa.decimal128(4, 1))
