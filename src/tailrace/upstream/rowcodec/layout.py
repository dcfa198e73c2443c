"""The frame of row values (row format v2): where each column of each row lies, or that it is NULL or absent.

    128, flags, not-null count u16, null count u16, not-null ids, null ids, ends of the not-null values, their data
    flags: 1 large (ids and ends are u32, else u8 and u16), 2 a checksum follows: header, CRC-32 and perhaps a second

Ids ascend in both lists and stand in one of them only, ends never fall, and the data and the checksum end with the row:
anything else is a DecodeError with the row's number. The checksum's place is checked, the checksum is not computed,
because it covers the row's key as another version of the server wrote it. Ids that the table does not have (dropped
columns) are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.cells import BadCell, Bytes, Cells, Ints, check, gather, ranges

VERSION = 128
LARGE, CHECKSUM = 1, 2
HEAD = 6
ABSENT, NULL, PRESENT = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Layout:
    """For row r and the k-th of the asked columns: its state, and its place where it is PRESENT."""

    data: Bytes
    state: NDArray[np.uint8]
    starts: Ints
    ends: Ints

    def cells(self, k: int, rows: NDArray[np.intp] | slice) -> Cells:
        return Cells(self.data, self.starts[rows, k], self.ends[rows, k])


def read(data: Bytes, offsets: Ints, ids: Ints) -> Layout:
    """The layout of the rows `data[offsets[i]:offsets[i + 1]]` for the columns `ids`, which ascend."""
    starts, ends = offsets[:-1], offsets[1:]
    check(ends - starts >= HEAD, lambda i: f"a row of {ends[i] - starts[i]} bytes")
    heads = gather(data, starts, HEAD)
    check(heads[:, 0] == VERSION, lambda i: f"the version {heads[i, 0]} of a row's format, not {VERSION}")
    flags = heads[:, 1]
    check(flags & ~np.uint8(LARGE | CHECKSUM) == 0, lambda i: f"unknown flags {flags[i]:#x}")
    counts = heads[:, 2:].copy().view("<u2").astype(np.int64)
    shape = (len(starts), len(ids))
    layout = Layout(data, np.zeros(shape, np.uint8), np.zeros(shape, np.int64), np.zeros(shape, np.int64))
    for large in (False, True):
        rows = np.flatnonzero((flags & LARGE != 0) == large)
        if len(rows):
            checked = flags[rows] & CHECKSUM != 0
            try:
                _fill(layout, rows, (starts[rows], ends[rows], checked), counts[rows], ids, 4 if large else 1)
            except BadCell as bad:
                raise BadCell(int(rows[bad.index]), bad.reason) from None
    return layout


def _fill(
    layout: Layout, rows: Ints, bounds: tuple[Ints, Ints, NDArray[np.bool_]], counts: Ints, ids: Ints, width: int
) -> None:
    """Fill in rows of one size of ids; every index is checked before it is used."""
    starts, ends, checked = bounds
    present, total = counts[:, 0], counts.sum(axis=1)
    step = 4 if width == 4 else 2
    body = starts + HEAD + total * width + present * step
    check(body <= ends, "a row that breaks off before its data")
    owner, place = ranges(total)
    found = (
        gather(layout.data, (starts + HEAD)[owner] + place * width, width).view(f"<u{width}").ravel().astype(np.int64)
    )
    is_null = place >= present[owner]
    rising = (place == 0) | (place == present[owner])
    rising[1:] |= found[1:] > found[:-1]
    _check_rows(rising, owner, "column ids that do not ascend")
    slot = np.searchsorted(ids, found)
    known = np.zeros(len(found), np.bool_)
    if len(ids):
        slot[slot == len(ids)] = 0
        known = ids[slot] == found
    hidden = known & is_null
    layout.state[rows[owner[hidden]], slot[hidden]] = NULL
    mine = ~is_null
    owner, place, slot, known = owner[mine], place[mine], slot[mine], known[mine]
    end = (
        gather(layout.data, (body - present * step)[owner] + place * step, step)
        .view(f"<u{step}")
        .ravel()
        .astype(np.int64)
    )
    start = np.where(place == 0, 0, np.roll(end, 1))
    _check_rows(end >= start, owner, "a value that ends before it starts")
    length = np.zeros(len(rows), np.int64)
    last = np.cumsum(present) - 1
    some = present > 0
    length[some] = end[last[some]]
    _check_ends(layout.data, body + length, ends, checked)
    owner, slot, start, end = owner[known], slot[known], start[known], end[known]
    _check_rows(layout.state[rows[owner], slot] != NULL, owner, "a column that is both NULL and not")
    layout.state[rows[owner], slot] = PRESENT
    layout.starts[rows[owner], slot] = body[owner] + start
    layout.ends[rows[owner], slot] = body[owner] + end


def _check_ends(data: Bytes, reached: Ints, ends: Ints, checked: NDArray[np.bool_]) -> None:
    """A row ends with its last value, or with the checksum behind it."""
    check(reached + checked <= ends, lambda i: f"a value ends {reached[i] + checked[i] - ends[i]} bytes behind its row")
    heads = np.zeros(len(ends), np.uint8)
    heads[checked] = data[reached[checked]]
    check(heads & 0xF7 <= 2, lambda i: f"the version {heads[i]:#x} of a checksum, not 0, 1 or 2")
    size = np.where(checked, 5, 0) + np.where(heads & 8 != 0, 4, 0)
    check(reached + size == ends, lambda i: f"a row of {ends[i] - reached[i] - size[i]:+} bytes more than its values")


def _check_rows(good: NDArray[np.bool_], owner: Ints, reason: str) -> None:
    if not good.all():
        raise BadCell(int(owner[int(np.argmin(good))]), reason)
