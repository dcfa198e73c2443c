"""Images of rows as JSON objects: which pieces the cells of many rows are made of, in whatever format.

A format gives each column's literals once; which one stands before a value depends on whether the value is there, is
NULL or has text, and on how the cell before it ended. So images whole, of the handle key alone and of what an update
changed are made in the same way. Nothing here loops over rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.codec.pieces import Places, Pool

ABSENT, NULL, TEXT = 0, 1, 2
Kinds = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Cell:
    """A column's literals: `lead` before any value, `opening` before one that is not NULL, and `closing` behind it."""

    lead: str
    opening: str = ""
    closing: str = ""


@dataclass(frozen=True, slots=True)
class ImageForm:
    """The cells of one table version. `closings` are the ways in which a cell can end: nothing before the first one,
    behind a NULL, and behind the values; `endings` says which of them each column's values have."""

    literals: pa.BinaryArray
    closings: tuple[str, ...]
    endings: npt.NDArray[np.int32]

    @classmethod
    def of(cls, cells: Sequence[Cell], null_closing: str = "") -> ImageForm:
        kinds = sorted({cell.closing for cell in cells})
        closings = ("", null_closing, *kinds)
        texts = []
        for cell in cells:
            for number, before in enumerate(closings):
                lead = f"{before},{cell.lead}" if number else cell.lead
                texts += ["", f"{lead}null", f"{lead}{cell.opening}"]
        endings = np.array([2 + kinds.index(cell.closing) for cell in cells], np.int32)
        return cls(pa.array([text.encode() for text in texts], pa.binary()), closings, endings)

    def block(self, literals: int, places: Places, kinds: Kinds | None) -> tuple[Places, Places | int]:
        """Two pieces a column and row, and how the last cell of each row ends.

        `literals` is where the form's literals are in the pool, `places` are the values' texts; None: all have text.
        """
        columns, rows = places.shape
        block = np.empty((2 * columns, rows), np.int32)
        step = 3 * len(self.closings)
        first = literals + step * np.arange(columns, dtype=np.int32)
        if kinds is None:
            ends = np.concatenate([[0], self.endings])
            block[0::2] = (first + 3 * ends[:-1] + TEXT)[:, None]
            block[1::2] = places
            return block, int(ends[-1])
        before = self._before(kinds)
        block[0::2] = first[:, None] + 3 * before[:-1] + kinds
        block[1::2] = np.where(kinds == TEXT, places, first[:, None])
        last: Places = before[-1]
        return block, last

    def _before(self, kinds: Kinds) -> Places:
        """How the last cell before each one ends, absent ones passed over; one line more for what follows the last."""
        whole = np.zeros((len(kinds) + 1, kinds.shape[1]), np.int32)
        whole[1:] = np.where(kinds == TEXT, self.endings[:, None], kinds)
        if kinds.size and kinds.min() == ABSENT:
            there = np.where(whole > ABSENT, np.arange(len(whole))[:, None], 0)
            whole = np.take_along_axis(whole, np.maximum.accumulate(there, axis=0), axis=0)
        return whole

    def ended(self, text: str) -> list[bytes]:
        """What follows an image, one variant for each way in which its last cell can end."""
        return [f"{closing}{text}".encode() for closing in self.closings]


def kinds_of(values: Sequence[pa.Array]) -> Kinds | None:
    """NULL or TEXT for each value of each column; None: nothing is NULL."""
    if not any(array.null_count for array in values):
        return None
    kinds = np.full((len(values), len(values[0])), TEXT, np.uint8)
    for at, array in enumerate(values):
        if array.null_count:
            kinds[at, pc.is_null(array).to_numpy(zero_copy_only=False)] = NULL
    return kinds


def differs(old: pa.Array, new: pa.Array) -> npt.NDArray[np.bool_]:
    """Where the values are not the same; NULL is the same as NULL."""
    other = pc.fill_null(pc.not_equal(old, new), False).to_numpy(zero_copy_only=False)
    appears = pc.not_equal(pc.is_null(old), pc.is_null(new)).to_numpy(zero_copy_only=False)
    return np.asarray(other | appears)


def joined(pieces: Sequence[Places | int], rows: int) -> Places:
    """The pieces of every row, one line a row, from blocks of lines, lines and single pieces in their order."""
    widths = [len(each) if isinstance(each, np.ndarray) and each.ndim == 2 else 1 for each in pieces]
    whole, begin = np.empty((rows, sum(widths)), np.int32), 0
    for width, each in zip(widths, pieces, strict=True):
        whole[:, begin : begin + width] = np.reshape(each, (width, -1)).T
        begin += width
    return whole


def add_alike(
    pool: Pool, values: Sequence[pa.Array], keys: Sequence[Hashable], write: Callable[[pa.Array, int], pa.Array]
) -> tuple[Places, Kinds | None]:
    """Adds the texts of columns, those of one key written together, and says which pieces and which NULLs they are.

    `write` makes the texts of columns like the one with the number that it is given.
    """
    rows = len(values[0]) if values else 0
    places, kinds = np.empty((len(values), rows), np.int32), np.full((len(values), rows), TEXT, np.uint8)
    groups: dict[Hashable, list[int]] = {}
    for at, key in enumerate(keys):
        groups.setdefault(key, []).append(at)
    absent = False
    for members in groups.values():
        joined = pa.concat_arrays([values[at] for at in members]) if len(members) > 1 else values[members[0]]
        text = write(joined, members[0])
        places[members] = numbered(pool, text).reshape(len(members), rows)
        if text.null_count:
            absent = True
            nulls = pc.is_null(text).to_numpy(zero_copy_only=False).reshape(len(members), rows)
            kinds[members] = np.where(nulls, NULL, TEXT)
    return places, kinds if absent else None


def numbered(pool: Pool, values: pa.Array) -> Places:
    """Adds the values, numbers as decimal text, and says which pieces they are."""
    text = values if pa.types.is_binary(values.type) else values.cast(pa.string())
    begin = pool.add(text)
    return np.arange(begin, begin + len(text), dtype=np.int32)
