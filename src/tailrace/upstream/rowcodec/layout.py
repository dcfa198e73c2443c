"""The frame of row values (row format v2): where each column of each row lies, or that it is NULL or absent.

    128, flags, not-null count u16, null count u16, not-null ids, null ids, ends of the not-null values, their data
    flags: 1 large (ids and ends are u32, else u8 and u16), 2 a checksum follows: header, CRC-32 and perhaps a second

Ids ascend in both lists and stand in one of them only, ends never fall, and the data and the checksum end with the row:
anything else is a BadCell with the row's number. The checksum's place is checked, the checksum is not computed, because
it covers the row's key as another version of the server wrote it. Ids that the table does not have (dropped columns)
are passed over. Rows may differ in their ids as they like: the work is per column, never per kind of row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.blocks import HEAD, Block
from tailrace.upstream.rowcodec.cells import Bytes, Cells, Flags, Ints, check, gather

_ABSENT = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True)
class Layout:
    """`places[k]` says which of its lists' ids is the k-th asked column, or _ABSENT: for each row, or once for all.

    `bounds[i]` is for each row where the i-th value begins, and `bounds[i + 1]` where it ends.
    """

    data: Bytes
    present: Ints
    places: NDArray[np.int32]
    bounds: Ints

    def absent(self, k: int) -> Flags:
        return np.asarray(np.broadcast_to(self.places[k] == _ABSENT, self.present.shape))

    def cells(self, k: int) -> tuple[Flags | None, Cells]:
        """Which rows hold a value in the k-th column (None: all of them), and the values."""
        place = self.places[k]
        if len(place) == 1:
            if place[0] < self.present[0]:
                return None, Cells(self.data, self.bounds[place[0]], self.bounds[place[0] + 1])
            return np.zeros(len(self.present), np.bool_), Cells(self.data, *np.zeros((2, 0), np.int64))
        held = place < self.present
        rows = len(held)
        whole = bool(held.all())
        first = np.arange(rows) + place * rows if whole else np.flatnonzero(held) + place[held] * rows
        flat = self.bounds.reshape(-1)
        return None if whole else held, Cells(self.data, flat[first], flat[first + rows])


def read(block: Block, ids: Ints) -> Layout:
    """The layout of the rows of a block for the columns `ids`, which ascend."""
    rows, present, total = block.rows, block.present, block.total
    width, step = (4, 4) if block.large else (1, 2)
    lists = rows.starts + HEAD
    body = lists + total * width + present * step
    check(body <= rows.ends, "a row that breaks off before its data")
    shared = _shared(rows, int(total[0]) * width, int(present[0]) * step) if _equal(present) and _equal(total) else None
    if shared:
        found, ends = shared[0].view(f"<u{width}"), shared[1].view(f"<u{step}")
        places = _places(found, present[:1], total[:1], ids)
    else:
        places = _places(_padded(rows.data, lists, total, width), present, total, ids)
        ends = _padded(rows.data, lists + total * width, present, step)
    bounds = np.zeros((ends.shape[1] + 1, len(present)), np.int64)
    bounds[1:] = ends.T
    rising = bounds[1:] >= bounds[:-1]
    if not shared:
        rising |= np.arange(ends.shape[1])[:, None] >= present
    check(rising.T, "a value that ends before it starts")
    reached = bounds[-1] if shared else bounds[present, np.arange(len(present))]
    _check_ends(block, body + reached)
    bounds += body
    return Layout(rows.data, present, places, bounds)


def _equal(counts: Ints) -> bool:
    return bool((counts == counts[0]).all())


def _shared(rows: Cells, ids: int, ends: int) -> tuple[Bytes, Bytes] | None:
    """The ids of the first row and the ends of all, where all rows of equal counts have the same ids."""
    lists = gather(rows.data, rows.starts + HEAD, ids + ends)
    own = np.ascontiguousarray(lists[:, :ids])
    if own.tobytes() != own[0].tobytes() * len(own):
        return None
    return own[:1], np.ascontiguousarray(lists[:, ids:])


def _padded(data: Bytes, starts: Ints, counts: Ints, width: int) -> NDArray[Any]:
    """Lists of numbers as rows of a matrix; what stands behind a list's end is not to be looked at."""
    longest = int(counts.max()) * width
    if int(starts.max()) + longest > len(data):
        first = int(starts.min())
        data = np.concatenate([data[first:], np.zeros(longest, np.uint8)])
        starts = starts - first
    return gather(data, starts, longest).view(f"<u{width}")


def _places(found: NDArray[Any], present: Ints, total: Ints, ids: Ints) -> NDArray[np.int32]:
    """For each asked column and row the place of its id in the row's lists."""
    rows, longest = found.shape
    order = np.arange(longest, dtype=np.int32)
    inside = order < total[:, None]
    rising = found[:, 1:] > found[:, :-1]
    rising |= ~inside[:, 1:]
    rising |= order[1:] == present[:, None]
    check(rising, "column ids that do not ascend")
    slot = _slots(found, ids)
    slot[~inside] = len(ids)
    places = np.full((len(ids) + 1, rows), _ABSENT, np.int32)
    places.reshape(-1)[slot * rows + np.arange(rows)[:, None]] = order
    places = places[:-1]
    known = np.count_nonzero(slot != len(ids))
    if known != np.count_nonzero(places != _ABSENT):
        each = np.count_nonzero(slot != len(ids), axis=1) == np.count_nonzero(places != _ABSENT, axis=0)
        check(each, "a column that is both NULL and not")
    return places


def _slots(found: NDArray[Any], ids: Ints) -> NDArray[np.intp]:
    """The numbers of ids among the asked ones, or their count for an id that the table does not have."""
    if found.dtype.itemsize == 1:
        slots = np.full(256, len(ids))
        small = ids < 256
        slots[ids[small]] = np.flatnonzero(small)
        return slots[found]
    slot = np.searchsorted(ids, found)
    if len(ids):
        last = np.minimum(slot, len(ids) - 1)
        slot[ids[last] != found] = len(ids)
    return slot


def _check_ends(block: Block, reached: Ints) -> None:
    """A row ends with its last value, or with the checksum behind it."""
    checked, ends = block.checked, block.rows.ends
    if checked.any():
        over = reached + checked - ends
        check(over <= 0, lambda i: f"a value ends {over[i]} bytes behind its row")
        heads = np.zeros(len(ends), np.uint8)
        heads[checked] = block.rows.data[reached[checked]]
        check(heads & 0xF7 <= 2, lambda i: f"the version {heads[i]:#x} of a checksum, not 0, 1 or 2")
        reached = reached + np.where(checked, 5, 0) + np.where(heads & 8 != 0, 4, 0)
    check(reached == ends, lambda i: f"a row whose values end {reached[i] - ends[i]:+} bytes from its end")
