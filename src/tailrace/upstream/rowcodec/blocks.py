"""Blocks: rows that are read together, because their ids are of one size and their bytes fit the processor's cache.

The heads of rows are checked here: version, flags and the counts of their two lists of ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.cells import Bytes, Cells, Flags, Ints, check, gather, numbered

VERSION = 128
LARGE, CHECKSUM = 1, 2
HEAD = 6
_BYTES = 1 << 22
_ROWS = 1 << 14
_IDS = 1 << 21


@dataclass(frozen=True, slots=True)
class Block:
    """`numbers` are the rows' numbers in their batch; `present` and `total` count their not-null and all ids."""

    numbers: NDArray[np.intp]
    rows: Cells
    flags: Bytes
    present: Ints
    total: Ints

    @property
    def large(self) -> bool:
        return bool(self.flags[0] & LARGE)

    @property
    def checked(self) -> Flags:
        return np.asarray(self.flags & CHECKSUM != 0)

    def select(self, which: NDArray[np.intp] | slice) -> Block:
        rows = Cells(self.rows.data, self.rows.starts[which], self.rows.ends[which])
        return Block(self.numbers[which], rows, self.flags[which], self.present[which], self.total[which])


def blocks(rows: Cells) -> Iterator[Block]:
    """All rows, in blocks."""
    sizes = rows.sizes
    check(sizes >= HEAD, lambda i: f"a row of {sizes[i]} bytes")
    average = int(sizes.sum()) // max(len(rows), 1) + 1
    step = min(max(_BYTES // average, 256), _ROWS)
    for start in range(0, len(rows), step):
        numbers = np.arange(start, min(start + step, len(rows)))
        with numbered(numbers):
            block = _read(numbers, Cells(rows.data, rows.starts[numbers], rows.ends[numbers]))
        large = block.flags & LARGE != 0
        if large.any() and not large.all():
            yield from _halves(block.select(np.flatnonzero(~large)))
            yield from _halves(block.select(np.flatnonzero(large)))
        else:
            yield from _halves(block)


def _read(numbers: NDArray[np.intp], rows: Cells) -> Block:
    heads = gather(rows.data, rows.starts, HEAD)
    check(heads[:, 0] == VERSION, lambda i: f"the version {heads[i, 0]} of a row's format, not {VERSION}")
    flags = heads[:, 1]
    check(flags <= LARGE | CHECKSUM, lambda i: f"unknown flags {flags[i]:#x}")
    counts = heads[:, 2:].copy().view("<u2").astype(np.int64)
    return Block(numbers, rows, flags, counts[:, 0], counts[:, 0] + counts[:, 1])


def _halves(block: Block) -> Iterator[Block]:
    """A row of very many ids shall not make all others as wide."""
    rows = len(block.numbers)
    if rows == 1 or rows * int(block.total.max()) <= _IDS:
        yield block
        return
    yield from _halves(block.select(slice(0, rows // 2)))
    yield from _halves(block.select(slice(rows // 2, rows)))
