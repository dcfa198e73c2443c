"""Cells: the columns of a batch as CSV sees them, before quoting.

A `Cell` holds values whose text is what the format wants, except for quotes and NULL: numbers as numbers where
Arrow's text of them is the format's, and text everywhere else. `quoted` says whether the format treats it as a string.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.floats import float_text, is_plain_float
from tailrace.change.schema import Column
from tailrace.codec.binary import base64_text, hex_text
from tailrace.codec.members import enum_text, set_text
from tailrace.errors import EncodeError


@dataclass(frozen=True, slots=True)
class Cell:
    """One place of every row."""

    values: pa.Array
    quoted: bool

    @property
    def is_bare_text(self) -> bool:
        """Text that the format does not quote: a number laid out by us."""
        return not self.quoted and pa.types.is_string(self.values.type)

    @property
    def text(self) -> pa.StringArray:
        if not pa.types.is_binary(self.values.type):
            return self.values.cast(pa.string())
        offset, (validity, offsets, data) = self.values.offset, self.values.buffers()
        # joining and replacing look at bytes only, so text that is not UTF-8 passes through them unharmed
        return pa.Array.from_buffers(pa.string(), len(self.values), [validity, offsets, data], offset=offset)


def column_cell(column: Column, values: pa.Array, method: Literal["base64", "hex"]) -> Cell:
    """The cell of a table's column."""
    kind = column.type
    if kind.name in ("float", "double"):
        return _float_cell(column, values)
    if kind.name == "enum":
        return Cell(enum_text(values, kind, column.name), quoted=True)
    if kind.name == "set":
        return Cell(set_text(values, kind, column.name), quoted=True)
    if kind.is_binary:
        return Cell(base64_text(values) if method == "base64" else hex_text(values), quoted=True)
    return Cell(values, quoted=pa.types.is_string(values.type))


def _float_cell(column: Column, values: pa.Array) -> Cell:
    if pc.all(pc.is_finite(values)).as_py() is False:
        raise EncodeError(f"column {column.name} holds a number that is not finite, which CSV has no text for")
    plain = pc.all(is_plain_float(values)).as_py() is not False
    return Cell(values if plain else float_text(values), quoted=False)
