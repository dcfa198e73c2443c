"""Values as debezium writes them: each column's text, as it stands inside of its quotes, or alone."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.floats import float_json_text
from tailrace.change.go_json import quote
from tailrace.change.schema import Column
from tailrace.codec.binary import base64_text, content
from tailrace.codec.debezium.moments import days, micros, time_micros, utc_text
from tailrace.codec.escapes import written
from tailrace.codec.members import set_text
from tailrace.errors import EncodeError

_RAW = {ord(char) for char in "<>&"}
_PIECES = pa.array(
    [bytes([code]) if code in _RAW or code >= 0x80 else quote(chr(code))[1:-1].encode() for code in range(256)],
    pa.binary(),
)


def is_quoted(column: Column) -> bool:
    """Whether a value stands in quotes."""
    kind = column.type
    if kind.name == "bit":
        return kind.length != 1
    return kind.is_text or kind.is_binary or kind.name in ("timestamp", "enum", "set", "json", "vector")


def alike(column: Column) -> Hashable:
    """Columns of one such key have their texts made in the same way."""
    kind = column.type
    if kind.is_integer or kind.is_binary or kind.is_text or kind.name in ("float", "double", "year"):
        return str(kind.arrow)
    return kind.name if kind.name in ("decimal", "json", "vector", "time") else (kind, column.nullable)


def text_of(values: pa.Array, column: Column, time_zone: str) -> pa.Array:
    """The texts; NULL stays NULL, and so does what has no value in this format."""
    kind = column.type
    if kind.is_binary:
        return base64_text(values)
    if kind.name == "bit":
        return _bits(values, kind.length)
    if kind.name in ("float", "double"):
        return _finite(values, column)
    if kind.name == "decimal":
        return _finite(values.cast(pa.float64()), column)
    if kind.name in ("date", "datetime", "timestamp", "time"):
        return _moment(values, column, time_zone)
    if kind.name == "enum":
        members = pa.array(["", *kind.elems], pa.string())
        known = pc.if_else(pc.less_equal(values, len(kind.elems)), values, pa.scalar(0, values.type))
        return plain_escaped(members.take(known))
    if kind.name == "set":
        return plain_escaped(set_text(values, kind, column.name))
    if pa.types.is_uint64(values.type):
        return values.view(pa.int64()).cast(pa.string())
    return plain_escaped(values) if pa.types.is_string(values.type) else values.cast(pa.string())


def _moment(values: pa.StringArray, column: Column, time_zone: str) -> pa.StringArray:
    kind = column.type
    if kind.name == "timestamp":
        text = utc_text(values, kind.fraction, time_zone)
        point = "." + "0" * kind.fraction if kind.fraction else ""
        return text if column.nullable else pc.fill_null(text, f"1970-01-01T00:00:00{point}Z")
    if kind.name == "time":
        return time_micros(values).cast(pa.string())
    if kind.name == "date":
        numbers = days(values)
    else:
        numbers = micros(values, kind.fraction)
        numbers = pc.cast(pc.floor(pc.divide(numbers, 1000)), pa.int64()) if kind.fraction <= 3 else numbers
    if not column.nullable:  # a date that is none
        numbers = pc.fill_null(numbers, 0)
    return numbers.cast(pa.string())


def _bits(values: pa.UInt64Array, length: int) -> pa.Array:
    """One bit as a word, more as the base64 of their bytes, the lowest first."""
    if length == 1:
        return pc.if_else(pc.equal(values, pa.scalar(1, pa.uint64())), "true", "false")
    size = (max(length, 1) + 7) // 8
    held = pc.fill_null(values, 0).to_numpy().astype("<u8").view(np.uint8).reshape(-1, 8)[:, :size]
    borders = np.arange(len(values) + 1, dtype=np.int32) * size
    buffers = [None, pa.py_buffer(borders), pa.py_buffer(np.ascontiguousarray(held))]
    text = base64_text(pa.Array.from_buffers(pa.binary(), len(values), buffers))
    return pc.if_else(pc.is_valid(values), text, None)


def _finite(values: pa.Array, column: Column) -> pa.StringArray:
    if pc.all(pc.is_finite(values)).as_py() is False:
        raise EncodeError(f"column {column.name} holds a number that is not finite, which JSON does not have")
    return float_json_text(values)


def plain_escaped(text: pa.StringArray) -> pa.Array:
    """The inside of JSON strings where only quotes, backslashes and control characters are escaped."""
    offsets, held = content(text)
    data = np.frombuffer(held, np.uint8)
    odd = np.flatnonzero((data < 0x20) | (data == ord('"')) | (data == ord("\\")))
    if not len(odd):
        return text
    rows = np.unique(np.searchsorted(offsets, odd, "right") - 1)
    some = text.take(pa.array(rows))
    begins, few = content(some)
    mask = np.zeros(len(text), np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(
        text.cast(pa.binary()),
        pa.array(mask),
        written(some, begins, np.frombuffer(few, np.uint8), _PIECES).cast(pa.binary()),
    )
