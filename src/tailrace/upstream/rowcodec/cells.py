"""Cells: byte strings of one column, by their place in a shared buffer; the ragged kernels that all types use.

`Cells` says where the encoded values of a column lie (dense: NULLs are left out), `Packed` holds the encoded values of
a column one after the other. Every kernel works on all cells at once. A kernel that meets a cell that cannot be raises
`BadCell` with the cell's number, never a wrong value; its caller turns that into an error with a row and a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


class BadCell(Exception):
    """Cell `index` of a column cannot be; `reason` says what it is and what would be right."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Cells:
    """Cell i is `data[starts[i]:ends[i]]`. Every start is at least 8, because a row's header stands before its data."""

    data: Bytes
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> Ints:
        return self.ends - self.starts

    def select(self, which: NDArray[np.intp]) -> Cells:
        return Cells(self.data, self.starts[which], self.ends[which])

    def words(self) -> NDArray[np.uint64]:
        """The 8 bytes that end where each cell ends, little-endian."""
        return gather(self.data, self.ends - 8, 8).view("<u8").ravel()

    def matrix(self, width: int, what: str) -> Bytes:
        """All cells as rows of a matrix; they must be `width` bytes long."""
        check(self.sizes == width, lambda i: f"{what} of {self.sizes[i]} bytes instead of {width}")
        return gather(self.data, self.starts, width)


@dataclass(frozen=True, slots=True)
class Packed:
    """Encoded values without gaps: cell i is `sizes[i]` bytes long and follows cell i - 1."""

    data: Bytes
    sizes: Ints

    def cells(self) -> Cells:
        """The same values as cells, 8 bytes behind the front of a copy."""
        ends = np.cumsum(self.sizes) + 8
        return Cells(np.concatenate([np.zeros(8, np.uint8), self.data]), ends - self.sizes, ends)


def check(good: Flags, reason: Callable[[int], str] | str) -> None:
    """Raise BadCell for the first cell that is not good (all of its row in a matrix); `reason` may ask its number."""
    if not good.all():
        index = int(np.argmin(good if good.ndim == 1 else good.all(axis=1)))
        raise BadCell(index, reason if isinstance(reason, str) else reason(index))


@contextmanager
def numbered(rows: NDArray[np.intp] | Flags | None) -> Iterator[None]:
    """Give a BadCell of selected cells the number that it has among all (None: all are selected)."""
    try:
        yield
    except BadCell as bad:
        if rows is None:
            raise
        numbers = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        raise BadCell(int(numbers[bad.index]), bad.reason) from bad


def gather(data: Bytes, starts: Ints, width: int) -> Bytes:
    """A matrix of the `width` bytes from each start. The caller has made sure that they lie inside."""
    if len(starts) == 0 or width == 0:
        return np.zeros((len(starts), width), np.uint8)
    windows = np.ndarray((len(data) - width + 1,), f"V{width}", data, 0, (1,))
    return windows[starts].view(np.uint8).reshape(len(starts), width)


def uniform(matrix: Bytes) -> Packed:
    """Packed cells of one width."""
    rows, width = matrix.shape
    return Packed(np.ascontiguousarray(matrix).reshape(-1), np.full(rows, width, np.int64))


def tails(matrix: Bytes, first: Ints) -> Cells:
    """The ends of a matrix's rows, from a place of their own on. A first row of 8 bytes keeps their starts above 8."""
    rows, width = matrix.shape
    ends = 8 + width * np.arange(1, rows + 1)
    return Cells(np.concatenate([np.zeros(8, np.uint8), matrix.reshape(-1)]), ends - width + first, ends)


def squeeze(matrix: Bytes, keep: Flags) -> Packed:
    """Packed cells of the kept bytes of each row of a matrix."""
    return Packed(matrix[keep], np.count_nonzero(keep, axis=1).astype(np.int64))


def offsets_of(sizes: Ints) -> Ints:
    """Where each cell starts, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def arrow_bytes(data: Bytes, sizes: Ints, kind: pa.DataType, valid: Flags | None = None) -> pa.Array:
    """An Arrow binary array over packed bytes; `sizes` counts all rows, those that are not valid with 0."""
    offsets = offsets_of(sizes)
    wide = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
    if not wide and offsets[-1] > np.iinfo(np.int32).max:
        raise BadCell(len(sizes) - 1, "a column of more than 2 GiB in one batch; take fewer rows a batch")
    placed = offsets if wide else offsets.astype(np.int32)
    buffers = [bitmap(valid), pa.py_buffer(placed), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(sizes), buffers, -1 if valid is not None else 0)


def bitmap(valid: Flags | None) -> pa.Buffer | None:
    """Arrow's validity bitmap; None where all rows are valid."""
    if valid is None:
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def bytes_of(values: pa.Array) -> tuple[Bytes, Ints]:
    """The data and the n + 1 offsets of an Arrow string or binary array, without a copy of the data."""
    wide = pa.types.is_large_binary(values.type) or pa.types.is_large_string(values.type)
    _, placed, data = values.buffers()
    if len(values) == 0 or placed is None:
        return np.zeros(0, np.uint8), np.zeros(1, np.int64)
    kind = np.int64 if wide else np.int32
    offsets = np.frombuffer(placed, kind)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return (np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)), offsets


def ranges(sizes: Ints) -> tuple[Ints, Ints]:
    """For each byte of ragged cells the number of its cell, and its place within the cell."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - offsets_of(sizes)[owner]
