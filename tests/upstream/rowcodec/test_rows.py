"""Row values must be what TiDB writes, come back as they were, and be refused where they are not whole."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.errors import DecodeError, EncodeError, SchemaMismatch, TailraceError
from tailrace.upstream.rowcodec import decode_rows, encode_keys, encode_rows
from tests.upstream.rowcodec import reference
from tests.upstream.rowcodec.rowtypes import JSON, KINDS, TEXT, table_of

Rows = list[dict[str, Any]]


def image_of(table: TableSchema, rows: Rows) -> pa.StructArray:
    return pa.array(rows, table.arrow_struct)


def coded(table: TableSchema, rows: Rows) -> tuple[pa.Array, pa.Array]:
    image = image_of(table, rows)
    return encode_keys(table, image, table.table_id), encode_rows(table, image)


@st.composite
def tables_and_rows(draw: st.DrawFn) -> tuple[TableSchema, Rows]:
    chosen = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8))
    large = draw(st.integers(0, 3)) == 0
    ids = draw(st.lists(st.integers(2, 400 if large else 255), min_size=len(chosen), max_size=len(chosen), unique=True))
    table = table_of([kind for kind, _ in chosen], ids=ids, defaults=draw(st.booleans()))
    row = st.fixed_dictionaries(
        {"id": st.integers(-(1 << 63), (1 << 63) - 1)}
        | {f"c{at}": st.none() | values for at, (_, values) in enumerate(chosen)}
    )
    return table, draw(st.lists(row, min_size=1, max_size=6))


@settings(max_examples=60, deadline=None)
@given(tables_and_rows())
def test_rows_are_the_bytes_of_the_description_and_come_back(given: tuple[TableSchema, Rows]) -> None:
    table, rows = given
    keys, values = coded(table, rows)
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows]
    assert keys.to_pylist() == [reference.encode_key(table, row, table.table_id) for row in rows]
    assert decode_rows(table, keys, values).equals(image_of(table, rows))


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, min_size=1, max_size=5))
def test_json_documents_are_the_bytes_of_the_description_and_come_back(documents: list[Any]) -> None:
    table = table_of([ColumnType("json")])
    rows = [{"id": at, "c0": json.dumps(document)} for at, document in enumerate(documents)]
    keys, values = coded(table, rows)
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows]
    back = decode_rows(table, keys, values).field("c0").to_pylist()
    assert [json.loads(text) for text in back] == documents


@settings(max_examples=100, deadline=None)
@given(tables_and_rows(), st.data())
def test_changed_bytes_give_the_described_value_or_a_typed_error(
    given: tuple[TableSchema, Rows], data: st.DataObject
) -> None:
    table, rows = given
    keys, values = coded(table, rows)
    changed = [bytearray(value) for value in values.to_pylist()]
    victim = changed[data.draw(st.integers(0, len(changed) - 1))]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, max(len(victim) - 1, 0)))
        if data.draw(st.booleans()):
            del victim[at:]
        elif victim:
            victim[at] = data.draw(st.integers(0, 255))
        if not victim:
            break
    try:
        back = decode_rows(table, keys, pa.array([bytes(value) for value in changed], pa.binary()))
    except TailraceError as error:
        assert "row " in str(error)
        return
    for row, value in zip(back.to_pylist(), changed, strict=True):
        described = reference.decode_row(table, bytes(value))
        assert {name: row[name] for name in described} == described


def test_a_row_of_tidbs_own_layout_is_read() -> None:
    columns = (
        Column(1, "a", ColumnType("bigint")),
        Column(22, "b", ColumnType("smallint")),
        Column(3, "c", ColumnType("double")),
        Column(24, "d", ColumnType("varchar", 10)),
        Column(25, "e", ColumnType("varchar", 10)),
    )
    table = TableSchema("shop", "plain", 1, 1, columns)
    value = bytes.fromhex("8000 0300 0100 01 16 18 19 0100 0300 0600 01 0100 616263")
    key = pa.array([bytes.fromhex("7480000000000000015f728000000000000001")], pa.binary())
    assert decode_rows(table, key, pa.array([value], pa.binary())).to_pylist() == [
        {"a": 1, "b": 1, "c": None, "d": "abc", "e": None}
    ]


@pytest.mark.parametrize("size", [65_535, 65_536, 200_000])
def test_rows_turn_large_behind_64_kib_of_values(size: int) -> None:
    table = table_of([ColumnType("longblob"), ColumnType("int")])
    rows: Rows = [{"id": 1, "c0": b"x" * (size - 1), "c1": 5}, {"id": 2, "c0": b"small", "c1": -5}]
    rows.append({"id": 3, "c0": b"y" * (size - 1), "c1": None})
    keys, values = coded(table, rows)
    assert [value[1] for value in values.to_pylist()] == [1 if size > 65_535 else 0, 0, 0 if size < 65_537 else 1]
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows]
    assert decode_rows(table, keys, values).to_pylist() == rows


def test_more_than_255_columns_come_back() -> None:
    table = table_of([ColumnType("int")] * 300)
    rows = [{"id": r} | {f"c{at}": None if (at + r) % 13 == 0 else at * r for at in range(300)} for r in range(20)]
    keys, values = coded(table, rows)
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows]
    assert decode_rows(table, keys, values).to_pylist() == rows


def test_columns_younger_than_a_row_take_their_origin_default_else_null() -> None:
    old = table_of([ColumnType("int")])
    younger = [
        ("n", ColumnType("int"), "42", 42),
        ("d", ColumnType("decimal", 6, 2), "3.1", "3.10"),
        ("v", ColumnType("varchar", 10), "new", "new"),
        ("w", ColumnType("varbinary", 10), b"\xff", b"\xff"),
        ("e", ColumnType("enum", elems=("first", "second")), "second", 2),
        ("s", ColumnType("set", elems=("a", "b", "c")), "a,c", 5),
        ("t", ColumnType("timestamp", scale=3), "2020-01-01 00:00:00", "2020-01-01 08:00:00.000"),
        ("dt", ColumnType("datetime"), "0000-00-00 00:00:00", "0000-00-00 00:00:00"),
        ("du", ColumnType("time", scale=1), "-10:00:00", "-10:00:00.0"),
        ("y", ColumnType("year"), "0000", 0),
        ("b", ColumnType("bit", 9), b"\x01\x02", 258),
        ("f", ColumnType("double"), "1.5", 1.5),
        ("nothing", ColumnType("int"), None, None),
    ]
    added = tuple(Column(50 + at, name, kind, origin_default=text) for at, (name, kind, text, _) in enumerate(younger))
    table = TableSchema("shop", "things", 77, 2, (*old.columns, *added), pk_is_handle=True)
    keys, values = coded(old, [{"id": 1, "c0": 7}])
    newer_keys, newer = coded(table, [{"id": 2, "c0": None} | dict.fromkeys((name for name, *_ in younger), None)])
    both = decode_rows(
        table, pa.concat_arrays([keys, newer_keys]), pa.concat_arrays([values, newer]), zone="Asia/Shanghai"
    ).to_pylist()
    assert both[0] == {"id": 1, "c0": 7} | {name: value for name, _, _, value in younger}
    assert set(both[1].values()) == {2, None}


def test_columns_that_were_dropped_are_passed_over() -> None:
    old = table_of([ColumnType("int"), ColumnType("varchar", 9), ColumnType("int")])
    keys, values = coded(old, [{"id": 1, "c0": 7, "c1": "gone", "c2": 9}, {"id": 2, "c0": 7, "c1": None, "c2": None}])
    kept = TableSchema("shop", "things", 77, 2, (*old.columns[:2], old.columns[3]), pk_is_handle=True)
    assert decode_rows(kept, keys, values).to_pylist() == [{"id": 1, "c0": 7, "c2": 9}, {"id": 2, "c0": 7, "c2": None}]


def test_an_integer_handle_in_the_value_is_read_from_there() -> None:
    table = table_of([ColumnType("int")])
    keys, _ = coded(table, [{"id": 5, "c0": 1}])
    value = bytes.fromhex("8000 0200 0000 01 02 0100 0200 06 01")
    assert decode_rows(table, keys, pa.array([value], pa.binary())).to_pylist() == [{"id": 6, "c0": 1}]


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("extra", [False, True])
def test_a_checksum_behind_the_values_is_passed_over(version: int, extra: bool) -> None:
    table = table_of([ColumnType("varchar", 9)])
    keys, values = coded(table, [{"id": 1, "c0": "abc"}, {"id": 2, "c0": "de"}])
    plain, other = values.to_pylist()
    marked = plain[:1] + b"\x02" + plain[2:] + bytes([version | 8 * extra]) + b"\1\2\3\4" * (1 + extra)
    back = decode_rows(table, keys, pa.array([marked, other], pa.binary()))
    assert back.field("c0").to_pylist() == ["abc", "de"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "a row of 0 bytes"),
        ("8000010000", "a row of 5 bytes"),
        ("7f00 0100 0000 02 0100 05", "version 127"),
        ("8004 0100 0000 02 0100 05", "unknown flags 0x4"),
        ("8000 ff00 0000 02 0100 05", "breaks off"),
        ("8000 0100 0000 02 0200 05", "bytes from its end"),
        ("8000 0100 0000 02 0100 0505", "-1 bytes from its end"),
        ("8000 0200 0000 02 03 0200 0100 0505", "ends before it starts"),
        ("8000 0200 0000 03 02 0100 0200 0505", "do not ascend"),
        ("8000 0200 0000 02 02 0100 0200 0505", "do not ascend"),
        ("8000 0100 0100 02 02 0100 05", "both NULL and not"),
        ("8000 0100 0000 02 0300 050505", "an integer of 3 bytes"),
        ("8000 0100 0000 02 0800 0000000001000000", "does not fit int32"),
        ("8002 0100 0000 02 0100 05", "1 bytes behind its row"),
        ("8002 0100 0000 02 0100 05 03 01020304", "checksum"),
        ("8002 0100 0000 02 0100 05 01 010203", "+1 bytes from its end"),
    ],
)
def test_bytes_that_are_no_row_are_refused_with_table_and_row(value: str, reason: str) -> None:
    table = table_of([ColumnType("int"), ColumnType("int")])
    keys, values = coded(table, [{"id": 1, "c0": 1, "c1": 2}, {"id": 2, "c0": 1, "c1": 2}])
    with pytest.raises(DecodeError) as caught:
        decode_rows(table, keys, pa.array([values[0].as_py(), bytes.fromhex(value)], pa.binary()))
    assert reason in str(caught.value)
    assert "shop.things" in str(caught.value)
    assert "row 1" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        (ColumnType("decimal", 5, 2), "1234.00", "DECIMAL(5, 2)"),
        (ColumnType("decimal", 5, 2), "1.2", "DECIMAL(5, 2)"),
        (ColumnType("decimal", 5, 2), "1e2.00", "DECIMAL(5, 2)"),
        (ColumnType("decimal", 5, 2), "", "decimal"),
        (ColumnType("decimal", 5, 2), "-0.00", "minus zero"),
        (ColumnType("decimal", 5, 2), "--1.00", "DECIMAL(5, 2)"),
        (ColumnType("datetime"), "2020-01-01", "10 characters"),
        (ColumnType("datetime"), "2020-01-01 00:00:0x", "not written"),
        (ColumnType("datetime"), "2020-13-01 00:00:00", "no date and time"),
        (ColumnType("date"), "2020-01-32", "no date and time"),
        (ColumnType("timestamp"), "1969-12-31 23:59:59", "outside of TIMESTAMP"),
        (ColumnType("timestamp"), "2038-01-19 03:14:08", "outside of TIMESTAMP"),
        (ColumnType("timestamp"), "2021-02-29 00:00:00", "no day of the calendar"),
        (ColumnType("time"), "839:00:00", "TIME"),
        (ColumnType("time"), "1:00:00", "TIME"),
        (ColumnType("time"), "10:60:00", "TIME"),
        (ColumnType("double"), float("nan"), "not a number"),
        (ColumnType("float"), float("inf"), "not a number"),
        (ColumnType("enum", elems=("a",)), 2, "ENUM of 1"),
        (ColumnType("set", elems=("a",)), 2, "more than the 1 bits"),
        (ColumnType("bit", 3), 8, "more than the 3 bits"),
        (ColumnType("json"), "{", "Expecting"),
        (ColumnType("json"), "NaN", "NaN"),
        (ColumnType("json"), "[" * 200 + "]" * 200, "deeper than 100"),
        (ColumnType("vector"), "[1,", "Expecting"),
        (ColumnType("vector"), "{}", "list of numbers"),
        (ColumnType("vector"), "[1e39]", "32 bits"),
    ],
)
def test_values_that_a_column_cannot_carry_are_refused_with_row_and_column(
    kind: ColumnType, value: Any, reason: str
) -> None:
    table = table_of([kind])
    rows: Rows = [{"id": 1, "c0": None}, {"id": 2, "c0": value}]
    with pytest.raises(EncodeError) as caught:
        encode_rows(table, image_of(table, rows))
    assert reason in str(caught.value)
    assert "row 1, column c0" in str(caught.value)


def test_null_in_a_column_that_is_not_null_is_refused_both_ways() -> None:
    loose = table_of([ColumnType("int")], defaults=True)
    columns = (loose.columns[0], Column(2, "c0", ColumnType("int"), nullable=False))
    strict = TableSchema("shop", "things", 77, 1, columns, pk_is_handle=True)
    keys, values = coded(loose, [{"id": 1, "c0": 3}, {"id": 2, "c0": None}])
    with pytest.raises(DecodeError, match="row 1, column c0: NULL in a column that is NOT NULL"):
        decode_rows(strict, keys, values)
    with pytest.raises(SchemaMismatch, match="row 1, column c0: NULL in a column that is NOT NULL"):
        encode_rows(strict, image_of(strict, [{"id": 1, "c0": 3}, {"id": 2, "c0": None}]))


def test_rows_of_another_shape_are_refused() -> None:
    table = table_of([ColumnType("int")])
    with pytest.raises(SchemaMismatch, match="must be"):
        encode_rows(table, pa.array([{"id": 1}]))
    with pytest.raises(SchemaMismatch, match="NULL"):
        encode_rows(table, pa.array([None], table.arrow_struct))
    keys, values = coded(table, [{"id": 1, "c0": 3}])
    with pytest.raises(DecodeError, match="1 keys and 2 values"):
        decode_rows(table, keys, pa.concat_arrays([values, values]))
    with pytest.raises(DecodeError, match="without a value"):
        decode_rows(table, keys, pa.array([None], pa.binary()))


def test_no_rows_are_no_rows() -> None:
    table = table_of([kind for kind, _ in KINDS])
    keys, values = coded(table, [])
    assert len(keys) == len(values) == 0
    assert decode_rows(table, keys, values).equals(image_of(table, []))


def test_slices_of_arrays_are_read_from_their_own_rows() -> None:
    table = table_of([kind for kind, _ in KINDS] + [ColumnType("json")])
    rows: Rows = [{"id": r} | {f"c{at}": None for at in range(len(KINDS) + 1)} for r in range(9)]
    for r, row in enumerate(rows):
        row |= {"c0": r, "c12": f"{r}.25", "c28": f"text {r}", "c31": b"raw" * r}
    table = table_of([ColumnType("int"), ColumnType("decimal", 9, 2), ColumnType("text"), ColumnType("blob")])
    rows = [
        {"id": r, "c0": r, "c1": f"{r}.25", "c2": None if r % 2 else f"text {r}", "c3": b"raw" * r} for r in range(9)
    ]
    image = image_of(table, rows).slice(3, 4)
    keys, values = encode_keys(table, image, 77), encode_rows(table, image)
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows[3:7]]
    assert decode_rows(table, keys.slice(1, 2), values.slice(1, 2)).to_pylist() == rows[4:6]
    large = values.cast(pa.large_binary())
    assert decode_rows(table, keys.cast(pa.large_binary()), large).to_pylist() == rows[3:7]


@given(st.lists(TEXT, min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_text_that_is_no_utf8_is_refused(texts: list[str]) -> None:
    table = table_of([ColumnType("blob")])
    rows: Rows = [{"id": at, "c0": text.encode()} for at, text in enumerate(texts)] + [{"id": 99, "c0": b"ab\xff"}]
    keys, values = coded(table, rows)
    as_text = TableSchema(
        "shop", "things", 77, 1, (table.columns[0], Column(2, "c0", ColumnType("text"))), pk_is_handle=True
    )
    with pytest.raises(DecodeError, match=f"row {len(texts)}, column c0: text that is no UTF-8"):
        decode_rows(as_text, keys, values)


def test_every_row_keeps_its_own_layout() -> None:
    table = table_of([ColumnType("int")] * 12, defaults=True)
    random = np.random.default_rng(7)
    rows: Rows = []
    for r in range(300):
        picks = random.random(12)
        rows.append({"id": r} | {f"c{at}": None if picks[at] < 0.4 else int(picks[at] * 1e6) for at in range(12)})
    keys, values = coded(table, rows)
    assert values.to_pylist() == [reference.encode_row(table, row) for row in rows]
    assert decode_rows(table, keys, values).to_pylist() == rows
