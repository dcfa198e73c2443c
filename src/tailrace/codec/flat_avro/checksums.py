"""Row checksums: the CRC-32 over a row's values that TiDB keeps, which a consumer works out again.

Columns are in the order of their ids, NULL is nothing, numbers are eight little-endian bytes, everything else is its
length in four bytes and its bytes; a TIMESTAMP is its text in UTC. The bytes of all rows are made by columns; only
zlib, which is faster than any kernel over columns, is asked row by row.
"""

from __future__ import annotations

import zlib
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.types import ColumnType
from tailrace.codec.flat_avro.schemas import Shape
from tailrace.codec.pieces import Places, Pool
from tailrace.errors import EncodeError

_SECONDS = 19  # `YYYY-MM-DD hh:mm:ss`


def row_checksums(shape: Shape, time_zone: str, images: pa.StructArray) -> pa.UInt32Array:
    """The checksum of each image; of an absent one, whatever comes of it."""
    arrays, pool = images.flatten(), Pool()
    begin = pool.add([b""])
    pieces: list[Places] = []
    for field, place in sorted(zip(shape.fields, shape.places, strict=True), key=lambda pair: pair[0].column.id):
        values, kind = arrays[place], field.column.type
        null = pc.is_null(values).to_numpy(zero_copy_only=False)
        for part in _parts(values, kind, time_zone):
            first = pool.add(part)
            pieces.append(np.where(null, begin, np.arange(first, first + len(part))).astype(np.int32))
    borders, data = pool.rows(np.stack(pieces, axis=1))
    view = memoryview(data)
    return pa.array([zlib.crc32(view[start:end]) for start, end in pairwise(borders.tolist())], pa.uint32())


def _parts(values: pa.Array, kind: ColumnType, time_zone: str) -> list[pa.BinaryArray]:
    if kind.name == "vector":
        raise EncodeError("a vector has no row checksum: TiDB sums bytes that a batch does not carry")
    if pa.types.is_floating(values.type):
        return [_eight(values.cast(pa.float64()).fill_null(0).to_numpy())]
    if not pa.types.is_string(values.type) and not pa.types.is_binary(values.type):
        wide = pa.uint64() if pa.types.is_uint64(values.type) else pa.int64()
        return [_eight(values.cast(wide).fill_null(0).to_numpy())]
    text = _in_utc(values, time_zone) if kind.name == "timestamp" and time_zone != "UTC" else values
    raw = text.cast(pa.binary())
    return [_fixed(pc.binary_length(raw).fill_null(0).to_numpy().astype("<u4"), 4), raw]


def _eight(numbers: np.ndarray) -> pa.BinaryArray:
    return _fixed(numbers, 8)


def _fixed(numbers: np.ndarray, size: int) -> pa.BinaryArray:
    raw = pa.py_buffer(np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)))
    return pa.Array.from_buffers(pa.binary(size), len(numbers), [None, raw]).cast(pa.binary())


def _in_utc(text: pa.StringArray, time_zone: str) -> pa.StringArray:
    """The text of the same moments in UTC; a time that comes twice in the zone is taken as the first one."""
    zero = pc.starts_with(text, "0000")
    seconds = pc.if_else(zero, None, pc.utf8_slice_codeunits(text, 0, _SECONDS)).cast(pa.timestamp("s"))
    moments = pc.assume_timezone(seconds, time_zone, ambiguous="earliest", nonexistent="earliest")
    shown = pc.strftime(moments.cast(pa.timestamp("s", "UTC")), format="%Y-%m-%d %H:%M:%S")
    return pc.if_else(zero, text, pc.binary_join_element_wise(shown, pc.utf8_slice_codeunits(text, _SECONDS), ""))
