"""Fields of many records to columns: what a cursor finds, as the table's canonical Arrow types.

A value that is accepted is one that an encoder writes for this column, and nothing else becomes a value: text must be
UTF-8, members must be members, numbers in their range, big-endian bytes as few as they can be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.codec.binary import spans
from tailrace.codec.columns import first_of, first_refused, shown
from tailrace.codec.flat_avro.cursor import Cursor, Rows
from tailrace.codec.flat_avro.tables import Known
from tailrace.codec.grid import Flags, Malformed
from tailrace.codec.members import enum_numbers, set_masks

_DECIMAL = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?$"
_LONGEST_DECIMAL = 32


def read_column(cursor: Cursor, known: Known) -> pa.Array:
    """The next field of every record."""
    absent = None if known.null_branch < 0 else cursor.branches(known.null_branch)
    rows = None if absent is None else np.flatnonzero(~absent)
    try:
        values = _values(cursor, known, rows)
    except Malformed as wrong:
        raise Malformed(wrong.row, f"field {known.column.name}: {wrong.message}") from None
    if rows is None or absent is None:
        return values
    places = np.zeros(len(absent), np.int64)
    places[rows] = np.arange(len(rows))
    if not len(rows):
        return pa.nulls(len(absent), known.column.type.arrow)
    return values.take(pa.array(places, mask=absent))


def _values(cursor: Cursor, known: Known, rows: Rows | None) -> pa.Array:
    kind = known.column.type
    if known.type in ("int", "long"):
        return _integers(cursor.numbers(rows), known, rows)
    if known.type in ("float", "double"):
        floats = cursor.fixed("<f4" if known.type == "float" else "<f8", rows)
        _refuse(~np.isfinite(floats), rows, "a number that is not finite")
        return pa.array(floats, kind.arrow)
    starts, ends = cursor.texts(rows)
    if kind.name == "bit":
        return _bits(cursor, starts, ends, known, rows)
    if kind.name == "decimal" and known.type == "bytes":
        return _decimals(cursor, starts, ends, known, rows)
    raw = spans(starts, ends, cursor.data)
    return raw if known.type == "bytes" else _texts(raw, known, rows)


def _refuse(wrong: Flags, rows: Rows | None, message: str) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        raise Malformed(at if rows is None else int(rows[at]), message)


def _integers(numbers: npt.NDArray[np.int64], known: Known, rows: Rows | None) -> pa.Array:
    kind = known.column.type
    if kind.name == "bigint":
        return pa.array(numbers.view(np.uint64) if kind.unsigned else numbers)
    low, high = {
        "year": (0, 2155),
        "mediumint": (0, (1 << 24) - 1),
        "int": (0, (1 << 32) - 1) if kind.unsigned else (-(1 << 31), (1 << 31) - 1),
    }[kind.name]
    _refuse((numbers < low) | (numbers > high), rows, f"a number beyond {low} to {high}")
    return pa.array(numbers.astype(kind.arrow.to_pandas_dtype()))


def _texts(raw: pa.BinaryArray, known: Known, rows: Rows | None) -> pa.Array:
    kind = known.column.type
    try:
        text = raw.cast(pa.string())
    except pa.ArrowInvalid:
        at = first_refused(raw, pa.string())
        raise Malformed(at if rows is None else int(rows[at]), f"{shown(raw, at)} is not UTF-8") from None
    if kind.name == "bigint":
        return _large(text, rows)
    if kind.name in ("enum", "set"):
        found = (enum_numbers if kind.name == "enum" else set_masks)(text, kind)
        _refuse_text(pc.is_null(found), text, rows, f"is not of the {kind.name} {kind.elems!r}")
        return found
    if kind.name == "decimal":
        _refuse_text(pc.invert(pc.match_substring_regex(text, _DECIMAL)), text, rows, "is no decimal")
    return text


def _large(text: pa.StringArray, rows: Rows | None) -> pa.UInt64Array:
    try:
        numbers = text.cast(pa.uint64())
    except pa.ArrowInvalid:
        wrong = np.zeros(len(text), np.bool_)
        wrong[first_refused(text, pa.uint64())] = True
        _refuse_text(pa.array(wrong), text, rows, "is no unsigned number of 64 bits")
        raise
    _refuse_text(pc.not_equal(numbers.cast(pa.string()), text), text, rows, "is no plain decimal number")
    return numbers


def _refuse_text(wrong: pa.BooleanArray, text: pa.StringArray, rows: Rows | None, message: str) -> None:
    if wrong.true_count:
        at = first_of(wrong)
        raise Malformed(at if rows is None else int(rows[at]), f"{shown(text, at)} {message}")


def _aligned(
    cursor: Cursor, starts: Rows, ends: Rows, width: int, fill: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint8]:
    """The bytes of each value at the right of a line; `fill` is what is left of them."""
    places = ends[:, None] + np.arange(-width, 0)
    held = cursor.data[np.maximum(places, 0)]
    return np.where(places >= starts[:, None], held, fill[:, None])


def _bits(cursor: Cursor, starts: Rows, ends: Rows, known: Known, rows: Rows | None) -> pa.UInt64Array:
    """Numbers of as few bytes as they need, or of as many as their type has, as newer writers send them."""
    length, sizes = known.column.type.length, ends - starts
    _refuse((sizes < 1) | (sizes > 8), rows, "a number of bits has 1 to 8 bytes")
    table = _aligned(cursor, starts, ends, 8, np.zeros(len(starts), np.uint8))
    numbers = np.ascontiguousarray(table).view(">u8").reshape(-1).astype(np.uint64)
    padded = (cursor.data[starts] == 0) & (sizes > 1) & (sizes != (length + 7) // 8)
    _refuse(padded, rows, "a number of bits has more bytes than it needs")
    _refuse(numbers > np.uint64((1 << length) - 1), rows, f"a number beyond {length} bits")
    return pa.array(numbers)


def _decimals(cursor: Cursor, starts: Rows, ends: Rows, known: Known, rows: Rows | None) -> pa.StringArray:
    kind, sizes = known.column.type, ends - starts
    _refuse((sizes < 1) | (sizes > _LONGEST_DECIMAL), rows, f"a decimal has 1 to {_LONGEST_DECIMAL} bytes")
    first, second = cursor.data[starts], cursor.data[starts + 1]
    padded = (sizes > 1) & (((first == 0) & (second < 128)) | ((first == 255) & (second > 127)))
    _refuse(padded, rows, "a decimal has more bytes than it needs")
    width = 16 if not len(sizes) or int(sizes.max()) <= 16 else 32
    fill = np.where(first > 127, 255, 0).astype(np.uint8)
    table = np.ascontiguousarray(_aligned(cursor, starts, ends, width, fill)[:, ::-1])
    wide = pa.decimal128(38, 0) if width == 16 else pa.decimal256(76, 0)
    digits = pa.Array.from_buffers(wide, len(starts), [None, pa.py_buffer(table)]).cast(pa.string())
    return _pointed(digits, kind.length, kind.fraction, rows)


def _pointed(digits: pa.StringArray, precision: int, scale: int, rows: Rows | None) -> pa.StringArray:
    """Whole numbers with a point before their last `scale` digits."""
    negative = pc.starts_with(digits, "-")
    plain = pc.utf8_ltrim(digits, "-")
    _refuse_text(pc.greater(pc.binary_length(plain), precision), digits, rows, f"has more than {precision} digits")
    if not scale:
        return digits
    padded = pc.utf8_lpad(plain, scale + 1, "0")
    whole, part = pc.utf8_slice_codeunits(padded, 0, -scale), pc.utf8_slice_codeunits(padded, -scale)
    sign: Any = pc.if_else(negative, "-", "")
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, whole, ""), part, ".")
