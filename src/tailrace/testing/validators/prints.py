"""Prints: 64 bits for each row, made column by column, and the fingerprint of a table made of them.

Rows are equal when their values are equal as their types compare them (-0.0 is 0.0, NaN is NaN), whatever the order
of columns and the width of a number; so the prints of equal rows are equal, and those of others differ but for one
chance in 2**64. A NULL adds nothing: a row keeps its print when a column of NULLs joins its table. A print is never
0, which is left to mean "no row".

Against accident and bugs only: whoever wants to deceive can find two rows of one print.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Prints = npt.NDArray[np.uint64]

_BLOCK_BYTES = 4 << 20
_WINDOW = 4096
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ALL = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The rows of a table as a multiset: how many, and the sum of their prints."""

    rows: int
    total: int

    @classmethod
    def of(cls, table: pa.Table) -> Fingerprint:
        total = int(np.add.reduce(row_prints(table))) if table.num_rows else 0
        return cls(table.num_rows, total)


def row_prints(table: pa.Table, columns: Sequence[str] | None = None) -> Prints:
    """The print of each row, over all or some columns."""
    total = np.zeros(table.num_rows, np.uint64)
    for name in table.column_names if columns is None else columns:
        total += _column(table.column(name).combine_chunks(), _seed(name))
    total = _mixed(total)
    total[total == 0] = 1
    return total


def _seed(name: str) -> np.uint64:
    return np.uint64((zlib.crc32(name.encode()) + 1) * int(_ODD) & _ALL)


def _column(array: pa.Array | pa.ChunkedArray, seed: np.uint64) -> Prints:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values = _whole_numbers(array)
    elif pa.types.is_floating(kind):
        values = _fractions(array)
    else:
        values = _texts(array)
    prints = _mixed(values + seed)
    if array.null_count:
        prints[array.is_null().to_numpy(zero_copy_only=False)] = 0
    return prints


def _whole_numbers(array: pa.Array) -> Prints:
    wide = array.fill_null(0) if array.null_count else array
    target = pa.uint64() if pa.types.is_uint64(array.type) else pa.int64()
    prints: Prints = wide.cast(target).to_numpy(zero_copy_only=False).view(np.uint64)
    return prints


def _fractions(array: pa.Array) -> Prints:
    # Adding 0.0 makes one zero of both; all NaN become one.
    numbers = array.fill_null(0.0).cast(pa.float64()).to_numpy(zero_copy_only=False) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    prints: Prints = numbers.view(np.uint64)
    return prints


def _texts(array: pa.Array) -> Prints:
    """Each byte times a random number that belongs to its place, summed up, with the length."""
    if not pa.types.is_binary(array.type):
        array = array.cast(pa.large_string())
    array = array.cast(pa.large_binary())
    filled = pc.fill_null(array, b"") if array.null_count else array
    lengths = pc.binary_length(filled).to_numpy(zero_copy_only=False).astype(np.int64)
    sums = np.zeros(len(filled), np.uint64)
    _, offsets, data = filled.buffers()
    if data is not None and lengths.any():
        starts = np.frombuffer(offsets, np.int64)[filled.offset : filled.offset + len(filled) + 1]
        _sum_places(np.frombuffer(data, np.uint8), starts, sums)
    prints: Prints = _mixed(sums) + lengths.astype(np.uint64) * _ODD
    return prints


def _sum_places(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sums: Prints) -> None:
    row = 0
    while row < len(sums):
        beyond = int(np.searchsorted(starts, starts[row] + _BLOCK_BYTES, side="right")) - 1
        end = max(row + 1, min(beyond, len(sums)))
        block = starts[row : end + 1]
        lengths = np.diff(block)
        full = np.flatnonzero(lengths)
        if len(full):
            places = np.arange(block[0], block[-1]) - np.repeat(block[:-1], lengths)
            weights = _WEIGHTS[places % _WINDOW] + (places // _WINDOW).astype(np.uint64) * _ODD
            parts = (data[block[0] : block[-1]].astype(np.uint64) + np.uint64(1)) * weights
            sums[row + full] = np.add.reduceat(parts, block[:-1][full] - block[0])
        row = end


def _mixed(values: Prints) -> Prints:
    """splitmix64's last steps: every bit of a value reaches every bit of the answer."""
    mixed: Prints = values.copy()
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


_WEIGHTS = _mixed(np.arange(1, _WINDOW + 1, dtype=np.uint64) * _ODD) | np.uint64(1)
