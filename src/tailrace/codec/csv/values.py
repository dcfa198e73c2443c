"""Cells to values: one column of a grid becomes the Arrow array of its type, or a Malformed that names the row.

Strict in every type: a number out of its range or in a spelling that no encoder writes, a member that an enum does not
have, base64 that is not canonical, bytes that are not UTF-8, NULL where the column has none.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.codec.binary import base64_bytes, hex_bytes
from tailrace.codec.columns import first_of
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.csv.scan import Flags, Grid, Malformed
from tailrace.codec.csv.unescape import unescaped

_MEDIUM = {False: (-(1 << 23), (1 << 23) - 1), True: (0, (1 << 24) - 1)}


def column_values(grid: Grid, place: int, column: Column, options: CsvOptions) -> pa.Array:
    """The values of one place of all rows."""
    kind = column.type
    absent = grid.equal(place, options.null.encode()) & ~grid.quoted[:, place]
    if absent.any() and not column.nullable:
        raise Malformed(int(np.argmax(absent)), f"column {column.name} is NULL, which it must not be")
    raw = grid.raw(place, absent if absent.any() else None)
    is_string = not pa.types.is_integer(kind.arrow) and not pa.types.is_floating(kind.arrow)
    is_string = is_string or kind.name in ("enum", "set")
    if is_string:
        _check_quoted(grid, place, column, absent, options)
        raw = unescaped(grid, place, raw, options)
    return _parsed(raw, kind, f"column {column.name}", options)


def _check_quoted(grid: Grid, place: int, column: Column, absent: Flags, options: CsvOptions) -> None:
    bare = ~grid.quoted[:, place] & ~absent
    if options.quote and bare.any():
        row = int(np.argmax(bare))
        held = grid.raw(place)[row].as_py()
        raise Malformed(
            row, f"column {column.name} holds {held!r} without quotes; text must be quoted by {options.quote}"
        )


def _parsed(raw: pa.BinaryArray, kind: ColumnType, name: str, options: CsvOptions) -> pa.Array:
    if kind.name == "enum":
        return _members(raw, kind, name)
    if kind.name == "set":
        return _masks(raw, kind, name)
    if kind.is_binary:
        decode = base64_bytes if options.binary_encoding_method == "base64" else hex_bytes
        values, wrong = decode(raw)
        if wrong >= 0:
            raise Malformed(wrong, f"{name} holds {_shown(raw, wrong)}, which is not {options.binary_encoding_method}")
        return values
    if pa.types.is_integer(kind.arrow):
        return _in_range(integers(raw, kind.arrow, name), kind, name)
    if pa.types.is_floating(kind.arrow):
        return floats(raw, kind.arrow, name)
    return _text(raw, name)


def _shown(values: pa.Array, row: int) -> str:
    shown = repr(values[row].as_py())
    return shown if len(shown) <= 60 else shown[:60] + "..."


def integers(raw: pa.BinaryArray, wanted: pa.DataType, name: str) -> pa.Array:
    """Decimal integers that fit the type, spelled as encoders spell them."""
    text = _text(raw, name)
    try:
        values = text.cast(wanted)
        strange = pc.not_equal(values.cast(pa.string()), text)
    except pa.ArrowInvalid:
        row = _first_refused(text, wanted)
        raise Malformed(row, f"{name} holds {_shown(text, row)}; it must be an integer of type {wanted}") from None
    if pc.any(strange).as_py():
        row = first_of(strange)
        raise Malformed(row, f"{name} holds {_shown(text, row)}; it must be a plain decimal integer")
    return values


def floats(raw: pa.BinaryArray, wanted: pa.DataType, name: str) -> pa.Array:
    """Finite decimal numbers."""
    text = _text(raw, name)
    try:
        values = text.cast(wanted)
    except pa.ArrowInvalid:
        row = _first_refused(text, wanted)
        raise Malformed(row, f"{name} holds {_shown(text, row)}; it must be a decimal number") from None
    if pc.all(pc.is_finite(values)).as_py() is False:
        row = first_of(pc.invert(pc.is_finite(values)))
        raise Malformed(row, f"{name} holds {_shown(text, row)}; it must be a number that fits {wanted}")
    return values


def _first_refused(values: pa.Array, wanted: pa.DataType) -> int:
    """Only when something was refused: halves the column until one value is left."""
    low, size = 0, len(values)
    while size > 1:
        half = size // 2
        try:
            values.slice(low, half).cast(wanted)
        except pa.ArrowInvalid:
            size = half
        else:
            low, size = low + half, size - half
    return low


def _in_range(values: pa.Array, kind: ColumnType, name: str) -> pa.Array:
    """The types whose range is narrower than their Arrow type's."""
    if kind.name == "mediumint":
        low, high = _MEDIUM[kind.unsigned]
    elif kind.name == "bit":
        low, high = 0, (1 << max(kind.length, 1)) - 1
    elif kind.name == "year":
        low, high = 0, 2155
    else:
        return values
    if high >> 64:
        return values
    bounds = pc.or_(pc.less(values, pa.scalar(low, values.type)), pc.greater(values, pa.scalar(high, values.type)))
    if pc.any(bounds).as_py():
        row = first_of(bounds)
        raise Malformed(row, f"{name} holds {values[row].as_py()}; it must be {low} to {high}")
    return values


def _text(raw: pa.BinaryArray, name: str) -> pa.StringArray:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        row = _first_refused(raw, pa.string())
        raise Malformed(row, f"{name} holds {_shown(raw, row)}, which is not UTF-8") from None


def _members(raw: pa.BinaryArray, kind: ColumnType, name: str) -> pa.UInt16Array:
    text = _text(raw, name)
    found = pc.index_in(text, value_set=pa.array(kind.elems, pa.string()))
    _check_known(text, pc.is_null(found), f"{name} is an enum of {len(kind.elems)} members and holds")
    return pc.add(found, 1).cast(pa.uint16())


def _masks(raw: pa.BinaryArray, kind: ColumnType, name: str) -> pa.UInt64Array:
    coded = _text(raw, name).dictionary_encode()
    bits = {member: 1 << at for at, member in enumerate(kind.elems)}
    masks = [_mask(text, bits) for text in coded.dictionary.to_pylist()]
    known = pa.array(masks, pa.uint64()).take(coded.indices)
    _check_known(coded, pc.is_null(known), f"{name} is a set of {len(kind.elems)} members and holds")
    return known


def _mask(text: str, bits: dict[str, int]) -> int | None:
    """The mask of a set's text, None where the text is none: members in their order, each once."""
    chosen = [bits.get(member) for member in text.split(",")] if text else []
    if not text and "" in bits:
        return None
    mask = 0
    for bit in chosen:
        if bit is None or bit <= mask:
            return None
        mask |= bit
    return mask


def _check_known(text: pa.Array, unknown: pa.BooleanArray, what: str) -> None:
    wrong = pc.and_(unknown, pc.is_valid(text))
    if pc.any(wrong).as_py():
        row = first_of(wrong)
        raise Malformed(row, f"{what} {_shown(text, row)}, which is none of them")
