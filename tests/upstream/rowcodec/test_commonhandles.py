"""Keys of clustered primary keys must be TiDB's bytes, sort as their columns do, and give back what values leave out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.schema import TableSchema
from tailrace.change.types import ColumnType
from tailrace.errors import DecodeError, SchemaMismatch, TailraceError
from tailrace.upstream.rowcodec import decode_rows, encode_keys, encode_rows
from tests.upstream.rowcodec import reference
from tests.upstream.rowcodec.rowtypes import KINDS, common_table, decimal_text, text

Rows = list[dict[str, Any]]
KEY_KINDS = [(kind, values) for kind, values in KINDS if kind.name not in ("json", "longtext", "blob")]


def coded(table: TableSchema, rows: Rows) -> tuple[pa.Array, pa.Array]:
    image = pa.array(rows, table.arrow_struct)
    return encode_keys(table, image, table.table_id), encode_rows(table, image)


@st.composite
def tables_and_rows(draw: st.DrawFn) -> tuple[TableSchema, Rows]:
    chosen = draw(st.lists(st.sampled_from(KEY_KINDS), min_size=1, max_size=4))
    table = common_table([kind for kind, _ in chosen])
    row = st.fixed_dictionaries(
        {f"k{at}": values for at, (_, values) in enumerate(chosen)} | {"note": st.none() | st.integers(0, 9)}
    )
    return table, draw(st.lists(row, min_size=1, max_size=5))


@settings(max_examples=60, deadline=None)
@given(tables_and_rows())
def test_handles_are_the_bytes_of_the_description_and_come_back(given: tuple[TableSchema, Rows]) -> None:
    table, rows = given
    keys, values = coded(table, rows)
    assert keys.to_pylist() == [reference.encode_key(table, row, table.table_id) for row in rows]
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows]
    assert decode_rows(table, keys, values).to_pylist() == rows


@settings(max_examples=60, deadline=None)
@given(tables_and_rows(), st.data())
def test_changed_keys_are_refused_or_are_keys(given: tuple[TableSchema, Rows], data: st.DataObject) -> None:
    table, rows = given
    keys, values = coded(table, rows)
    plain = [bytearray(key) for key in keys.to_pylist()]
    victim = plain[data.draw(st.integers(0, len(plain) - 1))]
    at = data.draw(st.integers(0, len(victim) - 1))
    if data.draw(st.booleans()):
        del victim[at:]
    else:
        victim[at] = data.draw(st.integers(0, 255))
    changed = pa.array([bytes(key) for key in plain], pa.binary())
    try:
        back = decode_rows(table, changed, values)
    except TailraceError as error:
        assert "row " in str(error)
        return
    in_key = [column for column in table.columns[:-1] if reference.only_in_key(table, column)]
    if len(in_key) == len(table.columns) - 1:
        assert encode_keys(table, back, table.table_id).to_pylist() == changed.to_pylist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-99, 99), st.binary(max_size=20), decimal_text(9, 3)), min_size=2))
def test_keys_sort_as_their_columns_do(rows: list[tuple[int, bytes, str]]) -> None:
    table = common_table([ColumnType("int"), ColumnType("varbinary", 20), ColumnType("decimal", 9, 3)])
    keys, _ = coded(table, [{"k0": a, "k1": b, "k2": c, "note": None} for a, b, c in rows])
    order = [(a, b, float(c)) for a, b, c in rows]
    assert [row for _, row in sorted(zip(keys.to_pylist(), order, strict=True))] == sorted(order)


def test_a_short_handle_is_filled_to_nine_bytes() -> None:
    table = common_table([ColumnType("decimal", 1, 0)])
    keys, values = coded(table, [{"k0": "5", "note": 1}])
    assert keys[0].as_py()[11:] == bytes([6, 1, 0, 0x85, 0, 0, 0, 0, 0])
    assert decode_rows(table, keys, values).to_pylist() == [{"k0": "5", "note": 1}]
    broken = pa.array([keys[0].as_py()[:-1] + b"\1"], pa.binary())
    with pytest.raises(DecodeError, match="row 0: a short key that is not filled with zeros"):
        decode_rows(table, broken, values)


def test_a_prefix_of_a_column_is_in_the_key_and_all_of_it_in_the_value() -> None:
    table = common_table([text("varchar", 20), ColumnType("varbinary", 20)], prefixes=(2, 3))
    rows: Rows = [{"k0": "äöü!", "k1": b"12345", "note": 1}, {"k0": "x", "k1": b"", "note": None}]
    keys, values = coded(table, rows)
    assert keys.to_pylist() == [reference.encode_key(table, row, 78) for row in rows]
    assert decode_rows(table, keys, values).to_pylist() == rows
    bare = encode_rows(common_table([ColumnType("int"), ColumnType("int")]), _bare(rows))
    with pytest.raises(DecodeError, match="row 0, column k0: the value does not hold it"):
        decode_rows(table, keys, bare)


def _bare(rows: Rows) -> pa.StructArray:
    table = common_table([ColumnType("int"), ColumnType("int")])
    return pa.array([{"k0": 1, "k1": 1, "note": row["note"]} for row in rows], table.arrow_struct)


@pytest.mark.parametrize("collation", ["utf8mb4_bin", "utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin"])
@pytest.mark.parametrize("name", ["char", "varchar"])
def test_text_keys_of_any_collation_come_back_as_they_were(name: str, collation: str) -> None:
    table = common_table([text(name, 20, collation)])
    rows: Rows = [{"k0": "Straße", "note": 1}, {"k0": "a  b", "note": 2}]
    keys, values = coded(table, rows)
    assert decode_rows(table, keys, values).to_pylist() == rows


def test_spaces_at_the_end_of_a_varchar_are_not_in_the_key_but_come_back() -> None:
    table = common_table([text("varchar", 20)])
    keys, values = coded(table, [{"k0": "ab  ", "note": 1}, {"k0": "ab", "note": 1}])
    assert keys[0] == keys[1]
    assert decode_rows(table, keys, values).field("k0").to_pylist() == ["ab  ", "ab"]


def test_timestamps_are_in_utc_in_keys() -> None:
    table = common_table([ColumnType("timestamp")])
    image = pa.array([{"k0": "2020-01-01 08:00:00", "note": 1}], table.arrow_struct)
    utc = pa.array([{"k0": "2020-01-01 00:00:00", "note": 1}], table.arrow_struct)
    keys = encode_keys(table, image, 78, zone="Asia/Shanghai")
    assert keys.equals(encode_keys(table, utc, 78))
    assert decode_rows(table, keys, encode_rows(table, image, zone="+08:00"), zone="+08:00").equals(image)


@pytest.mark.parametrize(
    ("handle", "reason"),
    [
        ("04 8000000000000001", "flag is 4 and not 3"),
        ("03 80000000000001", "breaks off inside of a number"),
        ("03 8000000000000001", "breaks off before k1"),
        ("03 8000000000000001 01 6100000000000000f7", "not filled with zeros"),
        ("03 8000000000000001 01 6100000000000000f0", "impossible mark"),
        ("03 8000000000000001 01 6161616161616161ff", "breaks off inside of a string"),
        ("03 8000000000000001 01 6100000000000000f8 00", "1 bytes behind its last column"),
    ],
)
def test_handles_that_are_not_whole_are_refused(handle: str, reason: str) -> None:
    table = common_table([ColumnType("bigint"), ColumnType("varbinary", 9)])
    key = reference.encode_key(table, {"k0": 1, "k1": b"a"}, 78)[:11] + bytes.fromhex(handle)
    values = pa.array([bytes.fromhex("8000 0000 0000")], pa.binary())
    with pytest.raises(DecodeError) as caught:
        decode_rows(table, pa.array([key], pa.binary()), values)
    assert reason in str(caught.value)
    assert "row 0" in str(caught.value)


def test_a_null_in_a_key_is_refused() -> None:
    table = common_table([ColumnType("int")])
    with pytest.raises(SchemaMismatch, match="row 0: the key column k0 is NULL"):
        encode_keys(table, pa.array([{"k0": None, "note": 1}], table.arrow_struct), 1)
