"""Cells of many images to the Arrow arrays of their columns, or a Malformed that names the image.

Strict in every type: numbers in their range, base64 and quoted bytes as encoders write them, dates and decimals in
their form, NULL only where the column may be.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.codec.binary import base64_bytes
from tailrace.codec.columns import first_of, first_refused, shown
from tailrace.codec.go_quote import go_unquoted
from tailrace.codec.grid import Malformed
from tailrace.codec.numbers import narrowed
from tailrace.codec.open_protocol.shape import is_number
from tailrace.codec.spelling import misspelled

Flags = npt.NDArray[np.bool_]


def cell_type(column: Column) -> pa.StructType:
    """What a column's cell is in JSON."""
    value = column.type.arrow if is_number(column) else pa.string()
    return pa.struct([("t", pa.int64()), ("h", pa.bool_()), ("f", pa.int64()), ("v", value)])


def column_of(values: pa.Array, column: Column, absent: Flags | None) -> pa.Array:
    """The values of one column; `absent` are the cells that are not there, whose NULL is no value."""
    if not column.nullable and values.null_count:
        missing = pc.is_null(values).to_numpy(zero_copy_only=False)
        missing = missing if absent is None else missing & ~absent
        if missing.any():
            raise Malformed(int(np.argmax(missing)), f"column {column.name} is NULL, which it must not be")
    if pa.types.is_floating(values.type):
        if pc.all(pc.is_finite(values)).as_py() is False:
            row = first_of(pc.invert(pc.is_finite(values)))
            raise Malformed(row, f"column {column.name} holds a number that {values.type} does not have")
        return values
    return narrowed(values, column) if is_number(column) else _text(values, column)


def _text(values: pa.Array, column: Column) -> pa.Array:
    kind, raw, wrong = column.type, values.cast(pa.binary()), -1
    if kind.name.endswith(("text", "blob")):
        raw, wrong = base64_bytes(raw)
    elif kind.is_binary:
        raw, wrong = go_unquoted(raw)
    if wrong >= 0:
        raise Malformed(
            wrong, f"column {column.name} holds {shown(values, wrong)}, which is no {kind.name} as it is written"
        )
    if kind.is_binary:
        return raw
    try:
        text = raw.cast(pa.string())
    except pa.ArrowInvalid:
        row = first_refused(raw, pa.string())
        raise Malformed(row, f"column {column.name} holds {shown(raw, row)}, which is not UTF-8") from None
    row = misspelled(text, kind)
    if row >= 0:
        raise Malformed(row, f"column {column.name} holds {shown(text, row)}, which is no {kind.name}")
    return text
