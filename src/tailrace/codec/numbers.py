"""Cells that are numbers: integers of many places at once, and floats.

Strict: decimal integers as encoders spell them, inside their column's range; finite floats. Anything else is a
Malformed that names the row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.codec.columns import first_of, first_refused, shown
from tailrace.codec.grid import Flags, Grid, Malformed

_RANGES = {("mediumint", False): (-(1 << 23), (1 << 23) - 1), ("mediumint", True): (0, (1 << 24) - 1)}
_ZERO, _MINUS = ord("0"), ord("-")


def integers(grid: Grid, places: Sequence[int], columns: Sequence[Column], absent: Flags | None) -> list[pa.Array]:
    """The values of integer columns, which stand at these places; `absent` tells the NULLs of all of them in turn.

    All are parsed at once: a hundred short columns cost little more than one long one.
    """
    wide = pa.uint64() if pa.types.is_uint64(columns[0].type.arrow) else pa.int64()
    text = as_text(grid.raw(places, absent))
    rows = grid.rows
    try:
        values = text.cast(wide)
    except pa.ArrowInvalid:
        at = first_refused(text, wide)
        raise _no_integer(text, at, columns[at // rows], at % rows) from None
    strange = _strange(grid, places, absent)
    if strange is not None:
        at = int(np.argmax(strange))
        raise _no_integer(text, at, columns[at // rows], at % rows)
    parts = [values.slice(at * rows, rows) for at in range(len(columns))]
    return [narrowed(part, column) for part, column in zip(parts, columns, strict=True)]


def _no_integer(text: pa.Array, at: int, column: Column, row: int) -> Malformed:
    return Malformed(
        row, f"column {column.name} holds {shown(text, at)}; it must be a plain decimal {column.type.arrow}"
    )


def _strange(grid: Grid, places: Sequence[int], absent: Flags | None) -> Flags | None:
    """Spellings that Arrow takes and no encoder writes: hexadecimal, leading zeros, a negative zero."""
    starts, sizes = grid.starts[places].ravel(), (grid.ends[places] - grid.starts[places]).ravel()
    at = np.flatnonzero(sizes > 1)
    signed = grid.data[starts[at]] == _MINUS
    strange = at[grid.data[starts[at] + signed] == _ZERO]
    strange = strange if absent is None else strange[~absent[strange]]
    if not len(strange):
        return None
    flags = np.zeros(len(starts), np.bool_)
    flags[strange] = True
    return flags


def narrowed(values: pa.Array, column: Column) -> pa.Array:
    """Integers as their column holds them; what is out of its range is Malformed."""
    kind = column.type
    span = _span(kind)
    if span is not None:
        beyond = pc.or_(pc.less(values, span[0]), pc.greater(values, span[1]))
        if pc.any(beyond).as_py():
            row = first_of(beyond)
            raise Malformed(row, f"column {column.name} holds {values[row]}; it must be {span[0]} to {span[1]}")
    try:
        return values.cast(kind.arrow)
    except pa.ArrowInvalid:
        row = first_refused(values, kind.arrow)
        raise Malformed(row, f"column {column.name} holds {values[row]}, which is no {kind.arrow}") from None


def _span(kind: ColumnType) -> tuple[pa.Scalar, pa.Scalar] | None:
    """The range of types that their Arrow type is too wide for."""
    if kind.name == "bit" and kind.length < 64:
        return pa.scalar(0, pa.uint64()), pa.scalar((1 << max(kind.length, 1)) - 1, pa.uint64())
    if kind.name == "enum":
        return pa.scalar(0, pa.int64()), pa.scalar(len(kind.elems) or 65535, pa.int64())
    if kind.name == "set" and 0 < len(kind.elems) < 64:
        return pa.scalar(0, pa.uint64()), pa.scalar((1 << len(kind.elems)) - 1, pa.uint64())
    if kind.name == "year":
        return pa.scalar(0, pa.int64()), pa.scalar(2155, pa.int64())
    limits = _RANGES.get((kind.name, kind.unsigned))
    return None if limits is None else (pa.scalar(limits[0], pa.int64()), pa.scalar(limits[1], pa.int64()))


def floats(grid: Grid, place: int, column: Column, absent: Flags | None) -> pa.Array:
    """The values of a FLOAT or DOUBLE column."""
    text, wanted = as_text(grid.raw(place, absent)), column.type.arrow
    try:
        values = text.cast(wanted)
    except pa.ArrowInvalid:
        row = first_refused(text, wanted)
    else:
        finite = pc.is_finite(values)
        if pc.all(finite).as_py() is not False:
            return values
        row = first_of(pc.invert(finite))
    raise Malformed(
        row, f"column {column.name} holds {shown(text, row)}; it must be a decimal number that fits {wanted}"
    )


def as_text(raw: pa.BinaryArray) -> pa.StringArray:
    """The same bytes as a string column, unchecked: only for a parser that takes nothing but ASCII."""
    validity, offsets, data = raw.buffers()
    return pa.Array.from_buffers(pa.string(), len(raw), [validity, offsets, data], offset=raw.offset)
