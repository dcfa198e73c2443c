"""Numbers in cells: integers of 1, 2, 4 or 8 little-endian bytes, and floats whose bytes sort as they do.

An integer takes the smallest of the four widths that holds it, as TiDB writes it. A value that its column's Arrow type
cannot hold is an error, never cut off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.cells import Bytes, Cells, Ints, Packed, check, uniform

SIGN = np.uint64(1 << 63)
_KEPT = np.arange(8) < np.arange(9)[:, None]


def pack_signed(values: NDArray[np.int64]) -> Packed:
    return _minimal(values.view(np.uint64), _signed_widths(values))


def pack_unsigned(values: NDArray[np.uint64]) -> Packed:
    return _minimal(values, _unsigned_widths(values))


def unpack_signed(cells: Cells) -> NDArray[np.int64]:
    return cells.words().view(np.int64) >> _spare_bits(cells).view(np.int64)


def unpack_unsigned(cells: Cells) -> NDArray[np.uint64]:
    return cells.words() >> _spare_bits(cells)


def pack_floats(values: NDArray[np.float64]) -> Packed:
    check(np.isfinite(values), lambda i: f"{values[i]} is not a number that a column can hold")
    return uniform(big_endian(sortable(values)))


def unpack_floats(cells: Cells) -> NDArray[np.float64]:
    return unsortable(cells.matrix(8, "a float").view(">u8").ravel().astype(np.uint64))


def sortable(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Unsigned integers in the order of the floats."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    return np.where(values >= 0, bits | SIGN, ~bits)


def unsortable(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    floats: NDArray[np.float64] = np.where(bits & SIGN, bits & ~SIGN, ~bits).view(np.float64)
    check(np.isfinite(floats), lambda i: f"{floats[i]} is not a number that a column can hold")
    return floats


def big_endian(values: NDArray[Any]) -> Bytes:
    """One row of 8 bytes a value, the highest first."""
    return values.astype(f">{values.dtype.kind}8").view(np.uint8).reshape(-1, 8)


def narrowed(values: NDArray[Any], kind: pa.DataType) -> NDArray[Any]:
    """The same integers in the column's own width."""
    target = np.dtype(kind.to_pandas_dtype())
    if target.itemsize == values.dtype.itemsize and target.kind == values.dtype.kind:
        return values
    limits = np.iinfo(target)
    check((values >= limits.min) & (values <= limits.max), lambda i: f"{values[i]} does not fit {kind}")
    return values.astype(target)


def _minimal(bits: NDArray[np.uint64], widths: Ints) -> Packed:
    matrix = bits.astype("<u8").view(np.uint8).reshape(-1, 8)
    if len(widths) and (widths == widths[0]).all():
        return uniform(matrix[:, : widths[0]])
    return Packed(matrix[_KEPT[widths]], widths)


def _unsigned_widths(values: NDArray[np.uint64]) -> Ints:
    widths = np.ones(len(values), np.int64)
    for power, more in ((8, 1), (16, 2), (32, 4)):
        wide = values >= np.uint64(1 << power)
        if not wide.any():
            break
        widths += wide * np.int64(more)
    return widths


def _signed_widths(values: NDArray[np.int64]) -> Ints:
    """An integer fits a signed width when twice its distance from 0 or -1 fits the unsigned one."""
    return _unsigned_widths((values ^ (values >> 63)).view(np.uint64) << np.uint64(1))


def _spare_bits(cells: Cells) -> NDArray[np.uint64]:
    sizes = cells.sizes
    good = (sizes > 0) & (sizes <= 8) & (sizes & (sizes - 1) == 0)
    check(good, lambda i: f"an integer of {sizes[i]} bytes instead of 1, 2, 4 or 8")
    return (64 - (sizes << 3)).view(np.uint64)
