"""The decoder gives back what was sent, as far as the format carries it, and refuses everything else by place."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.base import Decoded, Message, Watermark
from tailrace.codec.flat_avro import FlatAvroMessageDecoder, FlatAvroOptions, MemoryRegistry
from tailrace.codec.flat_avro.cursor import PADDING, Cursor
from tailrace.codec.flat_avro.fields import escaped_member, legal
from tailrace.codec.flat_avro.tables import members_of
from tailrace.codec.grid import Malformed
from tailrace.errors import DecodeError
from tests.codec.csv.reference import Row, as_batch, changes
from tests.codec.flat_avro.reference import OPTIONS, counted, encoder, messages_of, tables, varint
from tests.codec.flat_avro.test_encode import STAMP, WATCHED, inserted, one_column

STAMPED = FlatAvroOptions(enable_tidb_extension=True)


class Offsets:
    def of(self, message: int) -> str:
        return f"topic t partition 0 offset {message}"


def received(registry: MemoryRegistry, messages: Sequence[Message]) -> list[Decoded]:
    return read_by(FlatAvroMessageDecoder(registry), messages)


def read_by(decoder: FlatAvroMessageDecoder, messages: Sequence[Message]) -> list[Decoded]:
    keys = pa.array([each.key for each in messages], pa.large_binary())
    values = pa.array([each.value for each in messages], pa.large_binary())
    found = list(decoder.decode(keys, values, Offsets()))
    for each in found:
        if isinstance(each, ChangeBatch):
            each.data.validate(full=True)
    return found


def rows_of(found: Sequence[Decoded]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for each in found:
        assert isinstance(each, ChangeBatch)
        rows += each.data.to_pylist()
    return rows


def sent(table: TableSchema, *values: Any, options: FlatAvroOptions = STAMPED) -> tuple[MemoryRegistry, list[Message]]:
    registry = MemoryRegistry()
    made = encoder(options, registry).encode(as_batch(table, inserted(table, *values)))
    return registry, list(messages_of(made))


def readable(table: TableSchema, options: FlatAvroOptions) -> TableSchema:
    """Without members that end in a backslash, which TiCDC's list of them does not tell from an escape, and without
    vectors, which have no checksum."""
    dropped = ("vector",) if options.enable_row_checksum else ()
    columns = [column for column in table.columns if column.type.name not in dropped]
    plain = [
        replace(each, type=replace(each.type, elems=tuple(part.rstrip("\\") for part in each.type.elems)))
        for each in columns
    ]
    return replace(table, columns=tuple(plain))


@settings(max_examples=80, deadline=None)
@given(st.data(), OPTIONS)
def test_what_was_sent_comes_back(data: st.DataObject, options: FlatAvroOptions) -> None:
    drawn, registry = data.draw(tables()), MemoryRegistry()
    rows, table = data.draw(changes(drawn)), readable(drawn, options)
    found = rows_of(received(registry, messages_of(encoder(options, registry).encode(as_batch(table, rows)))))
    stamp = 0
    for row, got in zip(rows, found, strict=True):
        image = row.before if row.op == DELETE else row.after
        assert image is not None
        after = {legal(column.name): image[column.name] for column in table.row_columns}
        if options.enable_tidb_extension:
            stamp = stamp if row.op == DELETE else row.commit_ts
            assert got["op"] == row.op and got["commit_ts"] == stamp
        if row.op == DELETE:
            assert got["after"] is None and got["before"]["id"] == image["id"]
            assert not any(value for name, value in got["before"].items() if name != "id")
        else:
            assert got["before"] is None and got["after"] == after


@settings(max_examples=60, deadline=None)
@given(st.data(), OPTIONS)
def test_what_was_read_encodes_back_to_the_same_bytes(data: st.DataObject, options: FlatAvroOptions) -> None:
    drawn, registry = data.draw(tables()), MemoryRegistry()
    rows, table = data.draw(changes(drawn)), readable(drawn, options)
    messages = messages_of(encoder(options, registry).encode(as_batch(table, rows)))
    again: list[Message] = []
    for batch in received(registry, messages):
        assert isinstance(batch, ChangeBatch)
        again += messages_of(encoder(options, MemoryRegistry()).encode(batch))
    assert [(each.key or b"")[5:] for each in again] == [(each.key or b"")[5:] for each in messages]
    assert [(each.value or b"")[5:] for each in again] == [(each.value or b"")[5:] for each in messages]


def test_events_stand_between_the_batches() -> None:
    table, registry = one_column("int"), MemoryRegistry()
    writer = encoder(WATCHED, registry)
    first, second = messages_of(writer.encode(as_batch(table, inserted(table, 1, 2))))
    ddl = DdlEvent(STAMP, STAMP, 0, DdlType.CREATE_TABLE, "create table t (a int)", "s", "t")
    events = [writer.watermark(STAMP - 1), writer.ddl(ddl), writer.watermark(STAMP + 1)]
    watermark, statement, last = (event for event in events if event is not None)
    found = received(registry, [watermark, first, statement, second, last])
    assert found[0] == Watermark(STAMP - 1) and found[2] == ddl and found[4] == Watermark(STAMP + 1)
    assert rows_of([found[1]])[0]["after"] == {"id": 0, "v": 1} and rows_of([found[3]])[0]["after"]["v"] == 2


def test_a_tombstone_has_the_commit_ts_before_it_also_from_an_earlier_call() -> None:
    table, registry = one_column("int"), MemoryRegistry()
    rows = [*inserted(table, 5), Row(DELETE, STAMP + 9, {"id": 0, "v": 5}, None)]
    messages = messages_of(encoder(STAMPED, registry).encode(as_batch(table, rows)))
    decoder = FlatAvroMessageDecoder(registry)
    read_by(decoder, messages[:1])
    (batch,) = read_by(decoder, messages[1:])
    assert rows_of([batch]) == [
        {"op": DELETE, "commit_ts": STAMP, "start_ts": STAMP, "after": None, "before": {"id": 0, "v": None}}
    ]


def test_a_tombstone_of_a_table_never_seen_has_the_columns_of_its_key() -> None:
    table, registry = one_column("int"), MemoryRegistry()
    made = encoder(STAMPED, registry).encode(as_batch(table, [Row(DELETE, STAMP, {"id": 4, "v": 5}, None)]))
    (row,) = rows_of(received(registry, messages_of(made)))
    assert row["before"] == {"id": 4} and row["commit_ts"] == 0


def test_rows_and_tombstones_of_one_table_are_one_batch_and_two_versions_are_two() -> None:
    table, registry = one_column("int"), MemoryRegistry()
    writer = encoder(STAMPED, registry)
    rows = [
        *inserted(table, 1, 2),
        Row(DELETE, STAMP, {"id": 0, "v": 1}, None),
        Row(UPDATE, STAMP + 1, {"id": 1, "v": 2}, {"id": 1, "v": 3}),
    ]
    later = TableSchema("s", "t", 1, 2, (*table.columns, Column(3, "w", parse_type("int"))), pk_is_handle=True)
    new = as_batch(later, [Row(INSERT, STAMP + 2, None, {"id": 9, "v": 1, "w": 2})])
    messages = [*messages_of(writer.encode(as_batch(table, rows))), *messages_of(writer.encode(new))]
    found = received(registry, messages)
    assert [len(rows_of([each])) for each in found] == [4, 1]
    assert [row["op"] for row in rows_of(found)] == [INSERT, INSERT, DELETE, UPDATE, INSERT]


def with_value(message: Message, value: bytes) -> Message:
    return Message(message.key, value)


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("int", b"\2\2", "ends inside"),
        ("int", b"\2\1\2", "neither its first nor its second"),
        ("int", b"\2\2\x80\0", "longer than it need be"),
        ("int", b"\2\2" + varint(1 << 31), "beyond -2147483648 to 2147483647"),
        ("int", b"\2\2" + b"\xff" * 9 + b"\2", "more than 64 bits"),
        ("int unsigned", b"\2\2\1", "beyond 0 to"),
        ("year", b"\2\2" + varint(3000), "beyond 0 to 2155"),
        ("varchar(9)", b"\2\2\1", "beyond the end of its record"),
        ("varchar(9)", b"\2\2" + varint(1 << 40), "beyond the end of its record"),
        ("varchar(9)", b"\2\2" + counted(b"\xff"), "not UTF-8"),
        ("double", b"\2\2" + struct.pack("<d", float("nan")), "not finite"),
        ("enum('a')", b"\2\2" + counted(b"b"), "is not of the enum"),
        ("set('a','b')", b"\2\2" + counted(b"b,a"), "is not of the set"),
        ("bit(3)", b"\2\2" + counted(b"\x08"), "beyond 3 bits"),
        ("bit(12)", b"\2\2" + counted(b"\0\0\1"), "more bytes than it needs"),
        ("decimal(4,2)", b"\2\2" + counted(b""), "1 to 32 bytes"),
        ("decimal(4,2)", b"\2\2" + counted(b"\0\1"), "more bytes than it needs"),
        ("decimal(4,2)", b"\2\2" + counted(b"\x27\x10"), "more than 4 digits"),
    ],
)
def test_a_field_that_no_encoder_writes_is_refused_with_its_place(kind: str, body: bytes, says: str) -> None:
    registry, messages = sent(one_column(kind), None, None)
    tail = counted(b"c") + varint(STAMP) + varint(STAMP >> 18)
    odd = b"\0\0\0\0\2" + body + (b"" if says.startswith("ends") else tail)
    with pytest.raises(DecodeError, match=says) as refused:
        received(registry, [messages[0], with_value(messages[1], odd)])
    assert refused.value.position == "topic t partition 0 offset 1"


def test_numbers_as_text_are_read_strictly() -> None:
    options = FlatAvroOptions(True, "string", "string")
    tail = counted(b"c") + varint(STAMP) + varint(STAMP >> 18)
    for kind, wrong in (
        ("bigint unsigned", "01"),
        ("bigint unsigned", "-1"),
        ("bigint unsigned", "18446744073709551616"),
        ("decimal(4,2)", "1e5"),
        ("decimal(4,2)", ""),
    ):
        registry, messages = sent(one_column(kind), None, options=options)
        odd = b"\0\0\0\0\2\0\2" + counted(wrong.encode()) + tail
        with pytest.raises(DecodeError, match="field v"):
            received(registry, [with_value(messages[0], odd)])


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (None, None, "neither key nor value"),
        (None, b"\3x", "a DDL or a watermark"),
        (None, b"\2\0\0", "a DDL or a watermark"),
        (None, b"\1{", "a DDL must be JSON"),
        (None, b'\1{"query":1,"type":3,"schema":"s","table":"t","commitTs":7}', "must be text"),
        (None, b'\1{"query":"q","type":true,"schema":"s","table":"t","commitTs":7}', "numbers"),
        (b"\1\0\0\0\1\2", b"", "a zero byte and a schema's number"),
        (b"\0\0\0\0\7\2", None, "schema 7"),
        (b"\0\0\0\0\1\2\2", None, "bytes are left"),
    ],
)
def test_a_message_that_is_none_is_refused_with_its_place(key: bytes | None, value: bytes | None, says: str) -> None:
    registry, messages = sent(one_column("int"), 1)
    with pytest.raises(DecodeError, match=says) as refused:
        received(registry, [*messages, Message(key, value)])
    assert refused.value.position == "topic t partition 0 offset 1"


def test_a_key_of_another_row_is_refused() -> None:
    registry, messages = sent(one_column("int"), 1, 2)
    with pytest.raises(DecodeError, match="the key is not that of the row"):
        received(registry, [messages[0], Message(messages[0].key, messages[1].value)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"type":"record","name":"t","fields":[{"name":"id","type":"int"}]}',
        '{"type":"enum","name":"t","fields":[]}',
        json.dumps({"type": "record", "name": "t", "fields": [{"name": "id", "type": ["null", "int", "long"]}]}),
        json.dumps(
            {
                "type": "record",
                "name": "t",
                "fields": [{"name": "id", "type": {"type": "int", "connect.parameters": {"tidb_type": "TEXT"}}}],
            }
        ),
    ],
)
def test_a_schema_that_is_none_of_ours_is_refused_by_its_number(text: str) -> None:
    registry = MemoryRegistry()
    number = registry.register("t-key", text)
    with pytest.raises(DecodeError, match=f"schema {number}"):
        received(registry, [Message(struct.pack(">Bi", 0, number) + b"\2", None)])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_mutated_message_is_refused_or_encodes_back(data: st.DataObject) -> None:
    kinds = ["bigint", "varchar(40)", "decimal(10,2)", "bit(12)", "enum('a','b')", "double", "varbinary(9)"]
    columns = [Column(1, "id", parse_type("int"), False, True)]
    columns += [Column(at + 2, f"c{at}", parse_type(kind)) for at, kind in enumerate(kinds)]
    table, registry = TableSchema("s", "t", 1, 1, tuple(columns), pk_is_handle=True), MemoryRegistry()
    image = {"id": 300, "c0": -1 << 40, "c1": "x" * 70, "c2": "-12.50", "c3": 700, "c4": 2, "c5": 1.5, "c6": b"\0\xff"}
    batch = as_batch(table, [Row(INSERT, STAMP, None, image)])
    (message,) = messages_of(encoder(STAMPED, registry).encode(batch))
    parts = [bytearray(message.key or b""), bytearray(message.value or b"")]
    for _ in range(data.draw(st.integers(1, 3))):
        part = parts[data.draw(st.integers(0, 1))]
        at = data.draw(st.integers(0, len(part) - 1)) if part else 0
        match data.draw(st.sampled_from(["set", "cut", "add"])):
            case "set" if part:
                part[at] = data.draw(st.integers(0, 255))
            case "cut":
                del part[at:]
            case _:
                part.insert(at, data.draw(st.integers(0, 255)))
    mutated = Message(bytes(parts[0]), bytes(parts[1]))
    try:
        (found,) = received(registry, [mutated])
    except DecodeError as refused:
        assert refused.position == "topic t partition 0 offset 0"
        return
    assert isinstance(found, ChangeBatch)
    (again,) = messages_of(encoder(STAMPED, MemoryRegistry()).encode(found))
    assert again.key is not None and mutated.key is not None and again.value is not None and mutated.value is not None
    assert again.key[5:] == mutated.key[5:] and again.value[5:] == mutated.value[5:]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-70, 70), min_size=1, max_size=20), st.data())
def test_a_cursor_reads_the_numbers_of_some_records(values: list[int], data: st.DataObject) -> None:
    written = [varint(value) for value in values]
    ends = np.cumsum([len(each) for each in written])
    starts = np.append(0, ends[:-1])
    whole = np.frombuffer(b"".join(written) + bytes(PADDING), np.uint8)
    assert Cursor(whole, starts, ends).numbers().tolist() == values
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(values) - 1)))), np.int64)
    cursor = Cursor(whole, starts, ends)
    assert cursor.numbers(rows).tolist() == [values[row] for row in rows]
    assert [cursor.at[row] for row in rows] == [ends[row] for row in rows]
    short = ends.copy()
    short[-1] -= 1
    with pytest.raises(Malformed) as refused:
        Cursor(whole, starts, short).numbers()
    assert refused.value.row == len(values) - 1


@given(st.lists(st.text(st.sampled_from("ab,' \"é"), max_size=5), min_size=1, max_size=5))
def test_members_come_back_from_their_list(members: list[str]) -> None:
    plain = [member for member in members if "''" not in member]
    assert members_of(",".join(map(escaped_member, plain))) == tuple(plain or [""])
