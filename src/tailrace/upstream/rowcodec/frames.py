"""Row values put together: the header of each row, then the cells of its columns (the frame that `layout` reads).

As in TiDB a row is large when it stores a column id above 255 or more than 65,535 bytes of values.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.blocks import HEAD, LARGE, VERSION
from tailrace.upstream.rowcodec.cells import Flags, Ints, Packed, arrow_bytes, squeeze

MAX_SMALL_ID, MAX_SMALL_DATA = 0xFF, 0xFFFF


def build(ids: Ints, present: Flags, nulls: Flags, sizes: Ints, cells: list[Packed]) -> pa.Array:
    """Rows of the columns `ids`, which ascend; the matrices say for (row, column) what is stored, and its size."""
    ends = np.cumsum(sizes, axis=1)
    data = ends[:, -1] if len(ids) else np.zeros(len(sizes), np.int64)
    large = (data > MAX_SMALL_DATA) | ((present | nulls) & (ids > MAX_SMALL_ID)).any(axis=1)
    kind = pa.binary() if data.sum() + (HEAD + 12 * len(ids)) * len(data) < 1 << 31 else pa.large_binary()
    heads = _heads(ids, present, nulls, ends, large, kind)
    parts = [arrow_bytes(cell.data, sizes[:, k], kind) for k, cell in enumerate(cells)]
    return pc.binary_join_element_wise(heads, *parts, pa.scalar(b"", kind))


def _heads(ids: Ints, present: Flags, nulls: Flags, ends: Ints, large: Flags, kind: pa.DataType) -> pa.Array:
    if not large.any() or large.all():
        return _some_heads(ids, present, nulls, ends, bool(large.any()), kind)
    order = np.argsort(np.argsort(large, kind="stable"), kind="stable")
    groups = [
        _some_heads(ids, present[rows], nulls[rows], ends[rows], big, kind)
        for big, rows in ((False, ~large), (True, large))
    ]
    return pa.concat_arrays(groups).take(pa.array(order))


def _some_heads(ids: Ints, present: Flags, nulls: Flags, ends: Ints, large: bool, kind: pa.DataType) -> pa.Array:
    """Headers of one size of ids: all that could stand there side by side, then squeezed to what does."""
    rows, columns = present.shape
    id_type, end_type = ("<u4", "<u4") if large else ("<u1", "<u2")
    fixed = np.zeros((rows, HEAD), np.uint8)
    fixed[:, 0], fixed[:, 1] = VERSION, LARGE if large else 0
    fixed[:, 2:4] = _as_bytes(present.sum(axis=1)[:, None], "<u2")
    fixed[:, 4:6] = _as_bytes(nulls.sum(axis=1)[:, None], "<u2")
    names = _as_bytes(np.broadcast_to(ids, (rows, columns)), id_type)
    keep = [np.ones((rows, HEAD), np.bool_)]
    keep += [
        np.repeat(flags, np.dtype(t).itemsize, axis=1)
        for flags, t in ((present, id_type), (nulls, id_type), (present, end_type))
    ]
    packed = squeeze(np.hstack([fixed, names, names, _as_bytes(ends, end_type)]), np.hstack(keep))
    return arrow_bytes(packed.data, packed.sizes, kind)


def _as_bytes(values: NDArray[np.int64], kind: str) -> NDArray[np.uint8]:
    rows, columns = values.shape
    return np.ascontiguousarray(values).astype(kind).view(np.uint8).reshape(rows, columns * np.dtype(kind).itemsize)
