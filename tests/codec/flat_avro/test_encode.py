"""The encoder writes what the obvious row-by-row code writes, and what fastavro reads."""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tables import batch as bench_batch
from bench.tables import ints100_table, narrow_table, wide_table
from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.codec.base import Message
from tailrace.codec.flat_avro import FlatAvroOptions, MemoryRegistry
from tailrace.codec.sending import RECORD_OVERHEAD
from tailrace.errors import EncodeError, MessageTooLarge
from tests.codec.csv.reference import Row, as_batch, changes
from tests.codec.flat_avro.reference import OPTIONS, PLAIN, encoder, message, messages_of, native, tables

STAMP = 450_000_000_000_000_000
WATCHED = FlatAvroOptions(enable_tidb_extension=True, avro_enable_watermark=True)


def one_column(kind: str, *, nullable: bool = True) -> TableSchema:
    columns = (Column(1, "id", parse_type("int"), False, True), Column(2, "v", parse_type(kind), nullable))
    return TableSchema("s", "t", 1, 1, columns, pk_is_handle=True)


def inserted(table: TableSchema, *values: Any) -> list[Row]:
    return [Row(INSERT, STAMP, None, {"id": at, "v": value}) for at, value in enumerate(values)]


def read(registry: MemoryRegistry, data: bytes) -> dict[str, Any]:
    assert data[0] == 0
    schema = fastavro.parse_schema(json.loads(registry.schema(int.from_bytes(data[1:5], "big"))))
    stream = io.BytesIO(data[5:])
    record: Any = fastavro.schemaless_reader(stream, schema, None)
    assert not stream.read()
    return dict(record)


@settings(max_examples=60, deadline=None)
@given(st.data(), OPTIONS)
def test_any_rows_in_any_form_are_written_as_row_by_row_code_would(
    data: st.DataObject, options: FlatAvroOptions
) -> None:
    table = data.draw(tables())
    if options.enable_row_checksum:
        kept = tuple(column for column in table.columns if column.type.name != "vector")
        table = replace(table, columns=kept)
    rows = data.draw(changes(table))
    registry = MemoryRegistry()
    writer = encoder(options, registry)
    for some in (rows, rows[1:]):
        expected = [message(table, row, options, (1, 2)) for row in some]
        assert messages_of(writer.encode(as_batch(table, some))) == expected


@settings(max_examples=40, deadline=None)
@given(st.data(), PLAIN)
def test_what_is_written_is_what_fastavro_reads(data: st.DataObject, options: FlatAvroOptions) -> None:
    table = data.draw(tables())
    rows, registry = data.draw(changes(table)), MemoryRegistry()
    made = messages_of(encoder(options, registry).encode(as_batch(table, rows)))
    for row, found in zip(rows, made, strict=True):
        image = row.before if row.op == DELETE else row.after
        assert image is not None and found.key is not None
        assert list(read(registry, found.key).values()) == [image["id"]]
        assert (found.value is None) == (row.op == DELETE)
        if found.value is not None:
            record = list(read(registry, found.value).values())
            expected = [native(image[column.name], column.type, options) for column in table.row_columns]
            if options.enable_tidb_extension:
                expected += ["u" if row.op == UPDATE else "c", row.commit_ts, row.commit_ts >> 18]
            assert record == expected


@pytest.mark.parametrize("size", [1023, 1024, 1025, 70_000, 3 << 20])
def test_texts_of_any_length_have_their_length_before_them(size: int) -> None:
    table, options = one_column("longtext"), FlatAvroOptions()
    rows = inserted(table, "x" * size, None, "", "y" * (size - 1), "z" * (size + 1))
    expected = [message(table, row, options, (1, 2)) for row in rows]
    assert messages_of(encoder(options).encode(as_batch(table, rows))) == expected


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        ("int", None, "NOT NULL"),
        ("double", float("inf"), "not finite"),
        ("float", float("nan"), "not finite"),
        ("decimal(4,2)", "100.00", "decimal"),
        ("decimal(4,2)", "1.001", "decimal"),
        ("enum('a')", 2, "member"),
        ("enum('a')", 0, "member"),
        ("set('a')", 2, "set"),
    ],
)
def test_a_value_that_the_schema_cannot_carry_is_refused_by_name(kind: str, value: Any, says: str) -> None:
    table = one_column(kind, nullable=False)
    with pytest.raises(EncodeError, match=says) as refused:
        encoder(FlatAvroOptions()).encode(as_batch(table, inserted(table, value)))
    assert "column v" in str(refused.value) and "table s.t" in str(refused.value)


def test_a_delete_needs_only_its_key() -> None:
    table = one_column("enum('a')", nullable=False)
    rows = [Row(DELETE, STAMP, {"id": 3, "v": 9}, None)]
    registry = MemoryRegistry()
    (found,) = messages_of(encoder(FlatAvroOptions(), registry).encode(as_batch(table, rows)))
    assert found == Message(b"\0\0\0\0\1\6", None)
    assert [subject for subject, _ in registry.registered.values()] == ["s_t-key"]


def test_a_message_is_refused_when_it_is_one_byte_too_large() -> None:
    table = one_column("longtext")
    rows = inserted(table, "a", "b" * 500)
    (_, largest) = messages_of(encoder(FlatAvroOptions()).encode(as_batch(table, rows)))
    assert largest.key is not None and largest.value is not None
    size = len(largest.key) + len(largest.value) + RECORD_OVERHEAD
    encoder(FlatAvroOptions(max_message_bytes=size)).encode(as_batch(table, rows))
    with pytest.raises(MessageTooLarge, match=rf"{size} bytes; max-message-bytes is {size - 1}.*change 2"):
        encoder(FlatAvroOptions(max_message_bytes=size - 1)).encode(as_batch(table, rows))


def test_a_table_without_a_key_is_refused() -> None:
    table = TableSchema("s", "t", 1, 1, (Column(2, "v", parse_type("int")),))
    with pytest.raises(EncodeError, match="no handle key"):
        encoder(FlatAvroOptions()).encode(as_batch(table, [Row(INSERT, 1, None, {"v": 1})]))


def test_the_key_is_the_handle_key_in_table_order() -> None:
    columns = (Column(1, "a", parse_type("int"), False), Column(2, "b", parse_type("int"), False))
    table = TableSchema("s", "t", 1, 1, columns, (Index(1, "u", ("b", "a"), unique=True),))
    (found,) = messages_of(encoder(FlatAvroOptions()).encode(as_batch(table, [Row(INSERT, 1, None, {"a": 1, "b": 2})])))
    assert found.key == b"\0\0\0\0\1\2\4"


def test_names_that_become_one_are_refused_for_values_and_not_for_tombstones() -> None:
    columns = (*one_column("int").columns, Column(3, "a b", parse_type("int")), Column(4, "a-b", parse_type("int")))
    table = TableSchema("s", "t", 1, 1, columns, pk_is_handle=True)
    image = {column.name: 1 for column in columns}
    writer = encoder(FlatAvroOptions())
    with pytest.raises(EncodeError, match="column a-b would be the Avro field a_b, which is column a b already"):
        writer.encode(as_batch(table, [Row(INSERT, 1, None, image)]))
    assert writer.encode(as_batch(table, [Row(DELETE, 1, image, None)])).values.null_count == 1


def test_a_column_that_is_named_like_the_extension_is_refused_where_there_is_one() -> None:
    table = TableSchema("s", "t", 1, 1, (*one_column("int").columns, Column(3, "_tidb_op", parse_type("int"))))
    batch = as_batch(table, [Row(INSERT, 1, None, {"id": 1, "v": 1, "_tidb_op": 1})])
    assert len(encoder(FlatAvroOptions()).encode(batch).keys) == 1
    with pytest.raises(EncodeError, match="a field of the TiDB extension already"):
        encoder(FlatAvroOptions(enable_tidb_extension=True)).encode(batch)


def test_a_schema_is_registered_once_for_a_version_and_again_for_the_next() -> None:
    asked: list[str] = []

    class Counting(MemoryRegistry):
        def register(self, subject: str, schema: str) -> int:
            asked.append(subject)
            return super().register(subject, schema)

    table = one_column("int")
    writer = encoder(FlatAvroOptions(), Counting())
    for _ in range(3):
        writer.encode(as_batch(table, inserted(table, 1)))
    assert asked == ["s_t-key", "s_t-value"]
    later = replace(table, version=2, columns=(*table.columns, Column(3, "w", parse_type("int"))))
    found = writer.encode(as_batch(later, [Row(INSERT, 1, None, {"id": 1, "v": 1, "w": 1})]))
    assert asked[2:] == ["s_t-key", "s_t-value"]
    assert found.keys.to_pylist()[0][:5] == b"\0\0\0\0\1" and found.values.to_pylist()[0][:5] == b"\0\0\0\0\3"


def test_a_batch_without_rows_is_no_message_and_no_schema() -> None:
    registry, table = MemoryRegistry(), one_column("int")
    made = encoder(FlatAvroOptions(), registry).encode(as_batch(table, []))
    assert len(made.keys) == len(made.values) == len(made.rows) == 0 and not registry.registered


def test_ddls_and_watermarks_are_messages_only_with_both_options() -> None:
    event = DdlEvent(7, 6, 0, DdlType.CREATE_TABLE, "create table `a<b` (id int)", "s", "a<b")
    text = b'\1{"query":"create table `a\\u003cb` (id int)","type":3,"schema":"s","table":"a\\u003cb","commitTs":7}'
    assert encoder(WATCHED).ddl(event) == Message(None, text)
    assert encoder(WATCHED).watermark(1591943372224) == Message(None, bytes.fromhex("0200000172a7381dc0"))
    for options in (FlatAvroOptions(enable_tidb_extension=True), FlatAvroOptions(avro_enable_watermark=True)):
        assert encoder(options).ddl(event) is None and encoder(options).watermark(1) is None


@pytest.mark.parametrize("make", [narrow_table, wide_table, ints100_table])
def test_slices_of_a_large_batch_are_the_batch(make: Any) -> None:
    batch = bench_batch(make(), 3000, updates=0.3, deletes=0.2)
    writer = encoder(FlatAvroOptions(enable_tidb_extension=True))
    whole = writer.encode(batch)
    parts = [writer.encode(batch.slice(begin, 700)) for begin in range(0, 3000, 700)]
    assert whole.keys == pa.concat_arrays([part.keys for part in parts])
    assert whole.values == pa.concat_arrays([part.values for part in parts])


def test_one_row_costs_less_than_a_millisecond() -> None:
    one = bench_batch(wide_table(), 1)
    writer = encoder(FlatAvroOptions(enable_tidb_extension=True))
    writer.encode(one)
    best = float("inf")
    for _ in range(50):
        start = time.process_time()
        writer.encode(one)
        best = min(best, time.process_time() - start)
    assert best < 0.001
