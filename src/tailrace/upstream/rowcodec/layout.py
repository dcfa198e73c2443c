"""The frame of row values (row format v2): where each column of each row lies, or that it is NULL or absent.

    128, flags, not-null count u16, null count u16, not-null ids, null ids, ends of the not-null values, their data
    flags: 1 large (ids and ends are u32, else u8 and u16), 2 a checksum follows: header, CRC-32 and perhaps a second

Ids ascend in both lists and stand in one of them only, ends never fall, and the data and the checksum end with the row:
anything else is a BadCell with the row's number. The checksum's place is checked, the checksum is not computed, because
it covers the row's key as another version of the server wrote it. Ids that the table does not have (dropped columns)
are passed over. Rows may differ in their ids as they like: the work is per column, never per kind of row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.cells import Bytes, Cells, Flags, Ints, check, gather

VERSION = 128
LARGE, CHECKSUM = 1, 2
HEAD = 6
_ABSENT = np.iinfo(np.int32).max
_BLOCK_BYTES = 1 << 20
_BLOCK_IDS = 1 << 21


@dataclass(frozen=True, slots=True)
class Layout:
    """`places[k]` says which of its lists' ids is the k-th asked column, or _ABSENT: for each row, or once for all."""

    data: Bytes
    present: Ints
    places: NDArray[np.int32]
    bounds: Ints

    def absent(self, k: int) -> Flags:
        return np.asarray(np.broadcast_to(self.places[k] == _ABSENT, self.present.shape))

    def cells(self, k: int) -> tuple[Flags, Cells]:
        """Which rows hold a value in the k-th column, and the values."""
        place = self.places[k]
        held = place < self.present
        if not held.any():
            none = np.zeros(0, np.int64)
            return held, Cells(self.data, none, none)
        if len(place) == 1:
            return held, Cells(self.data, self.bounds[:, place[0]], self.bounds[:, place[0] + 1])
        first = np.arange(len(held)) * self.bounds.shape[1] + place
        if not held.all():
            first = first[held]
        flat = self.bounds.reshape(-1)
        return held, Cells(self.data, flat[first], flat[first + 1])


def blocks(rows: Cells) -> Iterator[NDArray[np.intp]]:
    """Numbers of rows that are read together: of one size of ids, and few enough for the processor's cache."""
    check(rows.sizes >= HEAD, lambda i: f"a row of {rows.sizes[i]} bytes")
    total = len(rows)
    average = max(int(rows.sizes.sum()) // total, 1) if total else 1
    step = min(max(_BLOCK_BYTES // average, 256), 8192)
    for start in range(0, total, step):
        block = np.arange(start, min(start + step, total))
        large = rows.data[rows.starts[block] + 1] & LARGE != 0
        counts = _counts(rows.select(block)).sum(axis=1)
        for part in (block[~large], block[large]):
            yield from _halves(part, counts[part - start])


def _halves(rows: NDArray[np.intp], counts: Ints) -> Iterator[NDArray[np.intp]]:
    """A row of very many ids shall not make all others as wide."""
    if len(rows) <= 1 or len(rows) * int(counts.max()) <= _BLOCK_IDS:
        yield from [rows] if len(rows) else []
        return
    middle = len(rows) // 2
    yield from _halves(rows[:middle], counts[:middle])
    yield from _halves(rows[middle:], counts[middle:])


def read(rows: Cells, ids: Ints) -> Layout:
    """The layout of the rows of one block for the columns `ids`, which ascend."""
    heads = gather(rows.data, rows.starts, 2)
    check(heads[:, 0] == VERSION, lambda i: f"the version {heads[i, 0]} of a row's format, not {VERSION}")
    check(heads[:, 1] <= LARGE | CHECKSUM, lambda i: f"unknown flags {heads[i, 1]:#x}")
    width, step = (4, 4) if heads[0, 1] & LARGE else (1, 2)
    counts = _counts(rows)
    present, total = counts[:, 0], counts[:, 0] + counts[:, 1]
    lists = rows.starts + HEAD
    body = lists + total * width + present * step
    check(body <= rows.ends, "a row that breaks off before its data")
    alike = bool((counts == counts[0]).all()) and _alike(rows, HEAD + int(total[0]) * width)
    few = slice(0, 1) if alike else slice(None)
    found = _padded(rows.data, lists[few], total[few], width)
    places = _places(found, present[few], total[few], ids)
    ends = _padded(rows.data, lists + total * width, present, step)
    bounds = np.zeros((len(rows), ends.shape[1] + 1), np.int64)
    bounds[:, 1:] = ends
    rising = bounds[:, 1:] >= bounds[:, :-1]
    if not alike:
        rising |= np.arange(ends.shape[1]) >= present[:, None]
    check(rising, "a value that ends before it starts")
    _check_ends(rows, body + bounds[np.arange(len(rows)), present], heads[:, 1] & CHECKSUM != 0)
    bounds += body[:, None]
    return Layout(rows.data, present, places, bounds)


def _alike(rows: Cells, size: int) -> bool:
    """Whether all rows of equal counts have the ids of the first."""
    lists = gather(rows.data, rows.starts + HEAD, size - HEAD)
    return lists.tobytes() == lists[0].tobytes() * len(lists)


def _counts(rows: Cells) -> Ints:
    return gather(rows.data, rows.starts + 2, 4).view("<u2").astype(np.int64)


def _padded(data: Bytes, starts: Ints, counts: Ints, width: int) -> NDArray[Any]:
    """Lists of numbers as rows of a matrix; what stands behind a list's end is not to be looked at."""
    longest = int(counts.max()) * width
    if int(starts[-1]) + longest > len(data) or int(starts.max()) + longest > len(data):
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


def _check_ends(rows: Cells, reached: Ints, checked: Flags) -> None:
    """A row ends with its last value, or with the checksum behind it."""
    if checked.any():
        over = reached + checked - rows.ends
        check(over <= 0, lambda i: f"a value ends {over[i]} bytes behind its row")
        heads = np.zeros(len(rows), np.uint8)
        heads[checked] = rows.data[reached[checked]]
        check(heads & 0xF7 <= 2, lambda i: f"the version {heads[i]:#x} of a checksum, not 0, 1 or 2")
        reached = reached + np.where(checked, 5, 0) + np.where(heads & 8 != 0, 4, 0)
    check(reached == rows.ends, lambda i: f"a row whose values end {reached[i] - rows.ends[i]:+} bytes from its end")
