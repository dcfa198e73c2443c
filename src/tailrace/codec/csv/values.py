"""Cells to values: the places of a grid become the Arrow arrays of their columns, or a Malformed names the row.

Strict in every type: text without quotes, bytes that are not UTF-8, a date or decimal in another spelling, a member
that an enum does not have, base64 that is not canonical, NULL where the column has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.codec.binary import base64_bytes, hex_bytes
from tailrace.codec.columns import first_of, first_refused, shown
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.csv.unescape import unescaped
from tailrace.codec.grid import Flags, Grid, Malformed
from tailrace.codec.members import enum_numbers, set_masks
from tailrace.codec.numbers import floats, integers
from tailrace.codec.spelling import misspelled


def image_columns(grid: Grid, columns: Mapping[int, Column], options: CsvOptions) -> dict[str, pa.Array]:
    """The values of the columns that stand at these places, by name."""
    values: dict[str, pa.Array] = {}
    for unsigned in (False, True):
        places = [place for place, column in columns.items() if _is_number(column.type, unsigned)]
        if places:
            chosen = [columns[place] for place in places]
            absent = grid.absent(places, options.null.encode())
            _check_present(absent, chosen, grid.rows)
            names = [column.name for column in chosen]
            values |= zip(names, integers(grid, places, chosen, absent), strict=True)
    for place, column in columns.items():
        if column.name not in values:
            values[column.name] = _one(grid, place, column, options)
    return values


def _is_number(kind: ColumnType, unsigned: bool) -> bool:
    """Whether cells of the type are integers, and of which of the two widest types."""
    number = pa.types.is_integer(kind.arrow) and kind.name not in ("enum", "set")
    return number and pa.types.is_uint64(kind.arrow) == unsigned


def _check_present(absent: Flags | None, columns: Sequence[Column], rows: int) -> None:
    for at, column in enumerate(columns):
        if absent is not None and not column.nullable and absent[at * rows : (at + 1) * rows].any():
            row = int(np.argmax(absent[at * rows : (at + 1) * rows]))
            raise Malformed(row, f"column {column.name} is NULL, which it must not be")


def _one(grid: Grid, place: int, column: Column, options: CsvOptions) -> pa.Array:
    absent = grid.absent(place, options.null.encode())
    _check_present(absent, [column], grid.rows)
    if pa.types.is_floating(column.type.arrow):
        return floats(grid, place, column, absent)
    _check_quoted(grid, place, column, absent, options)
    raw = unescaped(grid, place, grid.raw(place, absent), absent, options)
    return _parsed(raw, column, options)


def _check_quoted(grid: Grid, place: int, column: Column, absent: Flags | None, options: CsvOptions) -> None:
    if not options.quote:
        return
    bare = ~grid.quoted[place] if absent is None else ~(grid.quoted[place] | absent)
    if bare.any():
        row = int(np.argmax(bare))
        held = shown(grid.raw(place), row)
        raise Malformed(row, f"column {column.name} holds {held} without quotes; text must stand in {options.quote}")


def _parsed(raw: pa.BinaryArray, column: Column, options: CsvOptions) -> pa.Array:
    kind = column.type
    if kind.is_binary:
        method = options.binary_encoding_method
        values, wrong = base64_bytes(raw) if method == "base64" else hex_bytes(raw)
        if wrong >= 0:
            raise Malformed(wrong, f"column {column.name} holds {shown(raw, wrong)}, which is not {method}")
        return values
    text = _utf8(raw, column.name)
    if kind.name in ("enum", "set"):
        numbers = enum_numbers(text, kind) if kind.name == "enum" else set_masks(text, kind)
        unknown = pc.and_(pc.is_null(numbers), pc.is_valid(text))
        if pc.any(unknown).as_py():
            row = first_of(unknown)
            what = (
                f"a member of the {kind.name}" if kind.elems else f"known: the schema has no members of the {kind.name}"
            )
            raise Malformed(row, f"column {column.name} holds {shown(text, row)}, which is not {what}")
        return numbers
    row = misspelled(text, kind)
    if row >= 0:
        raise Malformed(row, f"column {column.name} holds {shown(text, row)}, which is no {kind.name}")
    return text


def _utf8(raw: pa.BinaryArray, name: str) -> pa.StringArray:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        row = first_refused(raw, pa.string())
        raise Malformed(row, f"column {name} holds {shown(raw, row)}, which is not UTF-8") from None
