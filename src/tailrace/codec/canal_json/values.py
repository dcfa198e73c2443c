"""Cells to images: the places of a text become the Arrow arrays of their columns, or a Malformed names the row.

Strict in every type: numbers as encoders spell them, bytes as characters up to U+00FF, dates and decimals in their
form, members that an enum or set has, NULL only where the column may be. What `old` leaves out did not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.codec.canal_json.cells import MISSING, TEXT, Bytes, Cells, Flags, Images
from tailrace.codec.columns import first_refused, shown
from tailrace.codec.grid import Grid, Malformed
from tailrace.codec.numbers import floats, integers
from tailrace.codec.spelling import misspelled
from tailrace.codec.unescape import latin1_bytes, unescaped

Places = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True)
class Columns:
    """The values of `data` of all rows and then of `old` of the updates, one array for each column."""

    cells: Cells
    updates: Places
    columns: Sequence[Column]

    def arrays(self) -> list[pa.Array]:
        try:
            return self._arrays(self._joined())
        except Malformed as wrong:
            rows = len(self.cells.odd)
            row = wrong.row if wrong.row < rows else int(self.updates[wrong.row - rows])
            raise Malformed(row, wrong.message) from None

    def _joined(self) -> Images:
        data, old = self.cells.data, self.cells.old
        if not len(self.updates):
            return data
        same = old.kinds == MISSING
        parts = []
        for name in ("starts", "ends", "kinds", "escaped"):
            now, then = getattr(data, name), getattr(old, name)
            then = np.where(same, now[:, self.updates], then) if same.any() else then
            parts.append(np.concatenate([now, then], axis=1))
        return Images(*parts)

    def _arrays(self, images: Images) -> list[pa.Array]:
        absent = images.kinds != TEXT
        self._check_nulls(images)
        text = self.cells.text
        none = np.zeros(0, np.int64)
        quoted = np.broadcast_to(np.True_, images.kinds.shape)
        grid = Grid(text, images.starts, images.ends, quoted, none, none, len(text))
        found: dict[int, pa.Array] = {}
        for unsigned in (False, True):
            places = [at for at, column in enumerate(self.columns) if _is_number(column, unsigned)]
            if places:
                chosen = [self.columns[at] for at in places]
                flags = absent[places].ravel()
                arrays = integers(grid, places, chosen, flags if flags.any() else None)
                found |= zip(places, arrays, strict=True)
        for at, column in enumerate(self.columns):
            if at not in found:
                flags = absent[at] if absent[at].any() else None
                found[at] = self._one(grid, at, column, flags, images.escaped[at])
        return [found[at] for at in range(len(self.columns))]

    def _check_nulls(self, images: Images) -> None:
        """A MISSING cell is one of a DELETE that shows its key alone."""
        for at, column in enumerate(self.columns):
            if not column.nullable:
                absent = (images.kinds[at] != TEXT) & (images.kinds[at] != MISSING)
                if absent.any():
                    raise Malformed(int(np.argmax(absent)), f"column {column.name} is NULL, which it must not be")

    def _one(self, grid: Grid, at: int, column: Column, absent: Flags | None, escaped: Flags) -> pa.Array:
        if pa.types.is_floating(column.type.arrow):
            return floats(grid, at, column, absent)
        raw = _read(grid.raw(at, absent), escaped if absent is None else escaped & ~absent, column.name)
        if column.type.is_binary:
            values, wrong = latin1_bytes(raw)
            if wrong >= 0:
                what = f"column {column.name} holds {shown(raw, wrong)}, in which a character is no byte"
                raise Malformed(wrong, what)
            return values
        text = _utf8(raw, column.name)
        row = misspelled(text, column.type)
        if row >= 0:
            raise Malformed(row, f"column {column.name} holds {shown(text, row)}, which is no {column.type.name}")
        return text


def _is_number(column: Column, unsigned: bool) -> bool:
    kind = column.type.arrow
    return bool(pa.types.is_integer(kind) and pa.types.is_uint64(kind) == unsigned)


def _read(raw: pa.BinaryArray, escaped: Flags, name: str) -> pa.BinaryArray:
    rows = np.flatnonzero(escaped)
    if not len(rows):
        return raw
    plain, wrong = unescaped(raw.take(pa.array(rows)))
    if wrong >= 0:
        row = int(rows[wrong])
        raise Malformed(row, f"column {name} holds {shown(raw, row)}, in which an escape is none of JSON")
    return plain if len(rows) == len(raw) else pc.replace_with_mask(raw, pa.array(escaped), plain)


def _utf8(raw: pa.BinaryArray, name: str) -> pa.StringArray:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        row = first_refused(raw, pa.string())
        raise Malformed(row, f"column {name} holds {shown(raw, row)}, which is not UTF-8") from None


def padded(parts: pa.BinaryArray, padding: int) -> tuple[Bytes, Places]:
    """The values one after the other with some zeros behind, and their offsets."""
    _, offsets, data = parts.buffers()
    borders = np.frombuffer(offsets, np.int32)[parts.offset : parts.offset + len(parts) + 1].astype(np.int64)
    text = np.zeros(int(borders[-1] - borders[0]) + padding, np.uint8)
    text[: len(text) - padding] = np.frombuffer(data, np.uint8)[borders[0] : borders[-1]]
    return text, borders - borders[0]
