"""Byte strings in a form that sorts as they do, and that says where it ends: TiDB's and TiKV's memcomparable bytes.

A string becomes groups of eight bytes, the last one filled with zeros, each followed by 255 less the count of the
filling; a string whose length divides by eight ends with a group of filling only.
"""

from __future__ import annotations

import numpy as np

from tailrace.upstream.rowcodec.cells import Bytes, Cells, Ints, Packed, check, gather, offsets_of, ranges

GROUP = 8
STEP = GROUP + 1
_FULL = 0xFF
_KEEP = np.array([(1 << 8 * count) - 1 for count in range(GROUP + 1)], np.uint64)


def pack(data: Bytes, offsets: Ints) -> Packed:
    """The groups of strings."""
    sizes = np.diff(offsets)
    groups = sizes // GROUP + 1
    owner, number = ranges(groups)
    filled = np.minimum(sizes[owner] - number * GROUP, GROUP)
    padded = np.concatenate([data, np.zeros(GROUP, np.uint8)])
    words = gather(padded, offsets[:-1][owner] + number * GROUP, GROUP).view("<u8").ravel() & _KEEP[filled]
    matrix = np.empty((len(words), STEP), np.uint8)
    matrix[:, :GROUP] = words.astype("<u8").view(np.uint8).reshape(-1, GROUP)
    matrix[:, GROUP] = _FULL - GROUP + filled
    return Packed(matrix.reshape(-1), groups * STEP)


def group_ends(data: Bytes, starts: Ints, limits: Ints) -> Ints:
    """Where the groups that begin at each start end; they must end within the limits."""
    ends = starts.copy()
    rows = np.arange(len(starts))
    while len(rows):
        check(ends[rows] + STEP <= limits[rows], "a key that breaks off inside of a string")
        ends[rows] += STEP
        rows = rows[data[ends[rows] - 1] == _FULL]
    return ends


def unpack(cells: Cells) -> Packed:
    """The strings of groups, which `group_ends` has measured."""
    groups = cells.sizes // STEP
    owner, number = ranges(groups)
    matrix = gather(cells.data, cells.starts[owner] + number * STEP, STEP)
    filled = matrix[:, GROUP].astype(np.int64) - (_FULL - GROUP)
    _check_groups(filled >= 0, owner, "a group of a string with an impossible mark")
    words = np.ascontiguousarray(matrix[:, :GROUP]).view("<u8").ravel()
    _check_groups(words & ~_KEEP[filled] == 0, owner, "a group of a string that is not filled with zeros")
    keep = np.arange(GROUP) < filled[:, None]
    sizes = (groups - 1) * GROUP
    sizes[:] += filled[offsets_of(groups)[1:] - 1]
    return Packed(matrix[:, :GROUP][keep], sizes)


def _check_groups(good: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], owner: Ints, reason: str) -> None:
    rows = np.ones(int(owner[-1]) + 1 if len(owner) else 0, np.bool_)
    np.logical_and.at(rows, owner, good)
    check(rows, reason)
