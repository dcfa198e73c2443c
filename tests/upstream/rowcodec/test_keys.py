"""Record keys must be TiDB's bytes, sort as their rows do, and never be taken for rows of another table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.schema import Column, Partition, TableSchema
from tailrace.change.types import ColumnType
from tailrace.errors import DecodeError, SchemaMismatch
from tailrace.upstream.rowcodec import decode_handles, decode_rows, encode_keys, encode_rows, table_range
from tests.upstream.rowcodec import reference
from tests.upstream.rowcodec.rowtypes import table_of

HANDLES = st.integers(-(1 << 63), (1 << 63) - 1)


def test_the_bytes_of_a_known_key() -> None:
    table = TableSchema("shop", "t", 1, 1, (Column(1, "id", ColumnType("bigint"), pk=True),), pk_is_handle=True)
    keys = encode_keys(table, pa.array([{"id": 1}, {"id": -1}], table.arrow_struct), 65)
    assert [key.hex() for key in keys.to_pylist()] == [
        "7480000000000000415f728000000000000001",
        "7480000000000000415f727fffffffffffffff",
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(HANDLES, min_size=1), HANDLES)
def test_integer_keys_sort_as_their_handles_inside_of_the_tables_range(handles: list[int], physical_id: int) -> None:
    table = table_of([])
    keys = encode_keys(table, pa.array([{"id": value} for value in handles], table.arrow_struct), physical_id)
    plain = keys.to_pylist()
    assert plain == [reference.encode_key(table, {"id": value}, physical_id) for value in handles]
    assert sorted(plain) == [key for _, key in sorted(zip(handles, plain, strict=True))]
    assert decode_handles(keys).tolist() == handles
    start, end = table_range(physical_id)
    assert all(start < key < end for key in plain)


def test_ranges_of_neighbours_do_not_overlap() -> None:
    borders = [border for physical_id in (-1, 0, 1, 2, 255, 256, 1 << 40) for border in table_range(physical_id)]
    assert borders == sorted(borders)


def test_an_unsigned_key_keeps_its_bits() -> None:
    columns = (
        Column(1, "id", ColumnType("bigint", unsigned=True), pk=True, nullable=False),
        Column(2, "v", ColumnType("int")),
    )
    table = TableSchema("shop", "t", 5, 1, columns, pk_is_handle=True)
    rows: list[dict[str, object]] = [
        {"id": 0, "v": 1},
        {"id": (1 << 63) - 1, "v": 2},
        {"id": 1 << 63, "v": 3},
        {"id": (1 << 64) - 1, "v": None},
    ]
    image = pa.array(rows, table.arrow_struct)
    keys = encode_keys(table, image, 5)
    assert keys.to_pylist() == [reference.encode_key(table, dict(row), 5) for row in rows]
    assert decode_handles(keys).tolist() == [0, (1 << 63) - 1, -(1 << 63), -1]
    assert decode_rows(table, keys, encode_rows(table, image)).to_pylist() == rows


def test_narrow_handles_come_back_in_their_width_or_not_at_all() -> None:
    small = TableSchema("shop", "t", 5, 1, (Column(1, "id", ColumnType("tinyint"), pk=True),), pk_is_handle=True)
    image = pa.array([{"id": -128}, {"id": 127}], small.arrow_struct)
    values = encode_rows(small, image)
    assert decode_rows(small, encode_keys(small, image, 5), values).equals(image)
    wide = TableSchema("shop", "t", 5, 1, (Column(1, "id", ColumnType("int"), pk=True),), pk_is_handle=True)
    keys = encode_keys(wide, pa.array([{"id": 5}, {"id": 128}], wide.arrow_struct), 5)
    with pytest.raises(DecodeError, match="row 1, column id: 128 does not fit int8"):
        decode_rows(small, keys, values)


def test_a_table_without_a_clustered_key_takes_row_ids() -> None:
    table = TableSchema("shop", "heap", 9, 1, (Column(1, "v", ColumnType("int")),))
    image = pa.array([{"v": 1}, {"v": None}], table.arrow_struct)
    keys = encode_keys(table, image, 9, np.array([7, 8]))
    assert decode_handles(keys).tolist() == [7, 8]
    assert decode_rows(table, keys, encode_rows(table, image)).equals(image)
    for row_ids in (None, np.array([7])):
        with pytest.raises(SchemaMismatch, match="one row id a row"):
            encode_keys(table, image, 9, row_ids)


def test_keys_of_a_partition_belong_to_the_table_and_others_do_not() -> None:
    parts = (Partition(201, "p0"), Partition(202, "p1"))
    columns = (Column(1, "id", ColumnType("bigint"), pk=True),)
    table = TableSchema("shop", "parts", 200, 1, columns, pk_is_handle=True, partitions=parts)
    image = pa.array([{"id": 1}], table.arrow_struct)
    values = encode_rows(table, image)
    for physical_id in (200, 201, 202):
        assert decode_rows(table, encode_keys(table, image, physical_id), values).equals(image)
    with pytest.raises(DecodeError, match=r"row 0 .*table 203.* not of \[200, 201, 202\].*shop.parts"):
        decode_rows(table, encode_keys(table, image, 203), values)


@pytest.mark.parametrize(
    "key",
    [b"", b"t", b"t\x80\0\0\0\0\0\0\x4d_i\x80\0\0\0\0\0\0\1", b"m\x80\0\0\0\0\0\0\x4d_r\x80\0\0\0\0\0\0\1", None],
)
def test_what_is_no_record_key_is_refused(key: bytes | None) -> None:
    with pytest.raises(DecodeError, match=r"row 1|NULL"):
        decode_handles(pa.array([b"t\x80\0\0\0\0\0\0\x4d_r\x80\0\0\0\0\0\0\1", key], pa.binary()))


def test_a_handle_of_another_size_is_no_integer() -> None:
    with pytest.raises(DecodeError, match="row 0: an integer handle of 9 bytes instead of 8"):
        decode_handles(pa.array([b"t\x80\0\0\0\0\0\0\x4d_r\x80\0\0\0\0\0\0\1\0"], pa.binary()))


def test_a_null_handle_is_refused() -> None:
    table = table_of([])
    with pytest.raises(SchemaMismatch, match="the handle id of row 1 is NULL"):
        encode_keys(table, pa.array([{"id": 1}, {"id": None}], table.arrow_struct), 1)
