"""Flat-avro as one would write it row by row: the obvious code that kernels are held against, and tables for it."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tailrace.change.batch import DELETE, UPDATE
from tailrace.change.schema import Column, Default, TableSchema
from tailrace.change.types import ColumnType
from tailrace.codec.base import Message, Messages
from tailrace.codec.flat_avro import FlatAvroMessageEncoder, FlatAvroOptions, MemoryRegistry
from tests.codec.csv.reference import Image, Row
from tests.codec.csv.reference import tables as any_tables

_DEFAULTS: dict[str, Default] = {
    "int": "7",
    "bigint": "-8",
    "varchar": "no",
    "longblob": b"\0x",
    "double": "1.5",
    "enum": "red",
}


def varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def counted(raw: bytes) -> bytes:
    return varint(len(raw)) + raw


def native(value: Any, kind: ColumnType, options: FlatAvroOptions) -> Any:
    """A value as fastavro gives it."""
    if value is None:
        return None
    if kind.name == "bigint" and kind.unsigned:
        signed = value - (1 << 64) if value >= 1 << 63 else value
        return str(value) if options.avro_bigint_unsigned_handling_mode == "string" else signed
    if kind.name == "decimal":
        return value if options.avro_decimal_handling_mode == "string" else Decimal(value)
    if kind.name == "bit":
        return bytes(value.to_bytes(max((value.bit_length() + 7) // 8, 1), "big"))
    if kind.name == "enum":
        return kind.elems[value - 1]
    if kind.name == "set":
        return ",".join(each for at, each in enumerate(kind.elems) if value >> at & 1)
    return value


def cell(value: Any, column: Column, options: FlatAvroOptions) -> bytes:
    kind = column.type
    precise = kind.name == "decimal" and options.avro_decimal_handling_mode == "precise"
    null, there = (b"\2", b"\0") if column.default is not None and not precise else (b"\0", b"\2")
    head = there if column.nullable else b""
    if value is None:
        return null
    if kind.name in ("float", "double"):
        return head + struct.pack("<f" if kind.name == "float" else "<d", value)
    plain = native(value, kind, options)
    if isinstance(plain, Decimal):
        number = int(value.replace(".", ""))
        return head + counted(
            number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
        )
    if isinstance(plain, int):
        return head + varint(plain)
    return head + counted(plain if isinstance(plain, bytes) else plain.encode())


def checksum(table: TableSchema, image: Image) -> int:
    assert image is not None
    data = b""
    for column in sorted(table.row_columns, key=lambda column: column.id):
        value = image[column.name]
        if value is None:
            continue
        if isinstance(value, float):
            data += struct.pack("<d", value)
        elif isinstance(value, int):
            data += struct.pack("<Q", value % (1 << 64))
        else:
            raw = value if isinstance(value, bytes) else value.encode()
            data += struct.pack("<I", len(raw)) + raw
    return zlib.crc32(data)


def message(table: TableSchema, row: Row, options: FlatAvroOptions, numbers: tuple[int, int]) -> Message:
    """`numbers` are those of the key's schema and the value's."""
    columns = table.row_columns
    image = row.before if row.op == DELETE else row.after
    assert image is not None
    key = struct.pack(">Bi", 0, numbers[0])
    key += b"".join(cell(image[each.name], each, options) for each in columns if each.name in table.handle_key)
    if row.op == DELETE:
        return Message(key, None)
    if options.enable_row_checksum:
        columns = tuple(sorted(columns, key=lambda column: column.id))
    value = struct.pack(">Bi", 0, numbers[1]) + b"".join(cell(image[each.name], each, options) for each in columns)
    if options.enable_tidb_extension:
        value += counted(b"u" if row.op == UPDATE else b"c") + varint(row.commit_ts) + varint(row.commit_ts >> 18)
    if options.enable_row_checksum:
        found = checksum(table, image)
        value += counted(str(found).encode() if found else b"") + b"\0\0"
    return Message(key, value)


def messages_of(made: Messages) -> Sequence[Message]:
    return [Message(key, value) for key, value in zip(made.keys.to_pylist(), made.values.to_pylist(), strict=True)]


def encoder(options: FlatAvroOptions, registry: MemoryRegistry | None = None) -> FlatAvroMessageEncoder:
    return FlatAvroMessageEncoder(options, registry or MemoryRegistry(), lambda table: f"{table.schema}.{table.name}")


@st.composite
def tables(draw: st.DrawFn) -> TableSchema:
    """Random tables whose names are still apart when Avro has made them legal; some columns NOT NULL, some with a
    default, ids in another order than the columns."""
    table = draw(any_tables())
    columns = []
    for at, column in enumerate(table.columns):
        nullable = column.nullable and draw(st.booleans())
        default = draw(st.sampled_from([None, _DEFAULTS.get(column.type.name)]))
        name = column.name if column.pk else f"{at} {column.name}"
        columns.append(
            replace(column, id=100 - at, name=name, nullable=nullable, default=None if column.pk else default)
        )
    if draw(st.booleans()):
        columns = columns[1:] + columns[:1]
    return replace(table, columns=tuple(columns))


PLAIN = st.builds(
    FlatAvroOptions,
    enable_tidb_extension=st.booleans(),
    avro_decimal_handling_mode=st.sampled_from(["precise", "string"]),
    avro_bigint_unsigned_handling_mode=st.sampled_from(["long", "string"]),
)
OPTIONS = PLAIN | st.just(FlatAvroOptions(True, "string", "string", enable_row_checksum=True))
