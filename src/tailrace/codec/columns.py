"""Kernels over columns that codecs share: the text of a column, replacing inside a few of its values.

Every kernel keeps the length and the NULLs of its column and costs nothing per row in Python. None of them knows a
format: what is replaced by what is an argument.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column, TableSchema


def visible(table: TableSchema) -> tuple[Column, ...]:
    """The columns that a format shows; a hidden one is an upstream's own, such as the row id."""
    return tuple(column for column in table.row_columns if not column.hidden)


def replace_in(text: pa.StringArray, needle: str, replacement: str) -> pa.StringArray:
    """Replaces a substring, touching only the values that hold it: most columns hold it in few or none."""
    held = pc.fill_null(pc.match_substring(text, needle), False)
    if not held.true_count:
        return text
    return pc.replace_with_mask(text, held, pc.replace_substring(text.filter(held), needle, replacement))


def first_of(mask: pa.BooleanArray) -> int:
    """The index of the first true value; the caller knows that there is one."""
    return int(np.argmax(pc.fill_null(mask, False).to_numpy(zero_copy_only=False)))


def first_refused(values: pa.Array, wanted: pa.DataType) -> int:
    """The index of the first value that cannot be cast; the caller knows that there is one."""
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


def shown(values: pa.Array, row: int) -> str:
    """A value for an error message: quoted, cut where it is long, whatever its bytes are."""
    value = values[row]
    plain = value.as_buffer().to_pybytes().decode("utf-8", "backslashreplace") if hasattr(value, "as_buffer") else value
    text = repr(plain)
    return text if len(text) <= 60 else text[:60] + "..."
