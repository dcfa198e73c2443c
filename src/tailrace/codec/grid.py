"""A grid: the cells of a CSV text by place and row, as spans of bytes that nobody has copied yet.

It answers questions about whole places (columns of cells). A `Malformed` names what is wrong and in which row of the
text it is; the decoder adds the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.codec.binary import spans

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]


class Malformed(Exception):
    """What is wrong, in which row of the text (from 0 on)."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
        self.message = message


@dataclass(frozen=True, slots=True)
class Grid:
    """`starts`, `ends` and `quoted` by place, then row: the bytes of a cell without its quotes.

    `odd_rows` and `odd_places` name the cells that hold doubled quotes or escapes. `consumed` is where the last whole
    row ends.
    """

    data: Bytes
    starts: Places
    ends: Places
    quoted: Flags
    odd_rows: Places
    odd_places: Places
    consumed: int

    @property
    def rows(self) -> int:
        return int(self.starts.shape[1])

    def without_last(self) -> Grid:
        """All rows but the last; what is left of the text then begins with that row."""
        begin = int(self.starts[0, -1]) - int(self.quoted[0, -1])
        kept = self.odd_rows < self.rows - 1
        spans = (self.starts[:, :-1], self.ends[:, :-1], self.quoted[:, :-1])
        return Grid(self.data, *spans, self.odd_rows[kept], self.odd_places[kept], begin)

    def raw(self, places: int | Sequence[int], absent: Flags | None = None) -> pa.BinaryArray:
        """The bytes of one place, or of several one after the other, as they stand; NULL where `absent` says so."""
        return spans(self.starts[places].ravel(), self.ends[places].ravel(), self.data, absent)

    def equal(self, places: int | Sequence[int], text: bytes) -> Flags:
        """Which cells hold exactly these bytes, with quotes or without."""
        starts = self.starts[places].ravel()
        same: Flags = self.ends[places].ravel() - starts == len(text)
        at = np.flatnonzero(same)
        for offset, byte in enumerate(text):
            if not len(at):
                break
            at = at[self.data[starts[at] + offset] == byte]
        same = np.zeros(len(starts), np.bool_)
        same[at] = True
        return same

    def absent(self, places: int | Sequence[int], null: bytes) -> Flags | None:
        """Which cells are NULL: its text, without quotes. None: no cell is."""
        same = self.equal(places, null) & ~self.quoted[places].ravel()
        return same if same.any() else None

    def odd(self, place: int) -> Places:
        """The rows whose cell there holds doubled quotes or escapes."""
        rows: Places = self.odd_rows[self.odd_places == place]
        return rows
