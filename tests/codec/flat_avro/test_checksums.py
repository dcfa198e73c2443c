"""Row checksums are those that a consumer works out from one row."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.flat_avro import FlatAvroOptions
from tailrace.codec.flat_avro.checksums import row_checksums
from tailrace.codec.flat_avro.schemas import Shape
from tailrace.errors import EncodeError
from tests.codec.csv.reference import Row, as_batch
from tests.codec.flat_avro.reference import checksum

FORM = FlatAvroOptions(True, "string", "string", enable_row_checksum=True)


def table_of(*kinds: str) -> TableSchema:
    columns = [Column(1, "id", parse_type("int"), False, True)]
    columns += [Column(at + 2, f"c{at}", parse_type(kind)) for at, kind in enumerate(kinds)]
    return TableSchema("s", "t", 1, 1, tuple(columns), pk_is_handle=True)


def sums(table: TableSchema, time_zone: str, *values: Any) -> list[int]:
    image = {"id": 1} | {f"c{at}": value for at, value in enumerate(values)}
    batch = as_batch(table, [Row(0, 1, None, image)])
    found: list[int] = row_checksums(Shape.of(table, FORM), time_zone, batch.after).to_pylist()
    return found


def test_the_known_sum() -> None:
    assert sums(table_of("varchar(10)", "int"), "UTC", "aa", None) == [1194275474]


@pytest.mark.parametrize(
    ("zone", "shown", "in_utc"),
    [
        ("Asia/Shanghai", "2024-01-01 07:59:59.123", "2023-12-31 23:59:59.123"),
        ("America/New_York", "2024-07-01 00:00:00.000", "2024-07-01 04:00:00.000"),
        ("America/New_York", "0000-00-00 00:00:00.000", "0000-00-00 00:00:00.000"),
        ("UTC", "2024-07-01 00:00:00.500", "2024-07-01 00:00:00.500"),
    ],
)
def test_a_timestamp_counts_as_its_text_in_utc(zone: str, shown: str, in_utc: str) -> None:
    table = table_of("timestamp(3)", "timestamp(3)")
    assert sums(table, zone, shown, None) == [checksum(table, {"id": 1, "c0": in_utc, "c1": None})]


def test_a_vector_is_refused() -> None:
    with pytest.raises(EncodeError, match="vector"):
        sums(table_of("vector"), "UTC", "[1]")
