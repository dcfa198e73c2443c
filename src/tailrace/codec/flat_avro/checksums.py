"""Row checksums: the CRC-32 over a row's values that TiDB keeps, which a consumer works out again.

Columns are in the order of their ids, NULL is nothing, numbers are eight little-endian bytes, everything else is its
length in four bytes and its bytes; a TIMESTAMP is its text in UTC. The bytes of all rows are made by columns; only
zlib, which is faster than any kernel over columns, is asked row by row.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.types import ColumnType
from tailrace.codec.flat_avro.schemas import Shape
from tailrace.codec.flat_avro.values import plain_numbers
from tailrace.codec.pieces import Places, Pool
from tailrace.errors import EncodeError

Numbers = npt.NDArray[np.integer[Any]]

_SECONDS = 19  # `YYYY-MM-DD hh:mm:ss`


def row_checksums(shape: Shape, time_zone: str, images: pa.StructArray) -> pa.UInt32Array:
    """The checksum of each image; of an absent one, whatever comes of it."""
    arrays, pool = images.flatten(), Pool()
    nothing = pool.add([b""])
    pairs = sorted(zip(shape.fields, shape.places, strict=True), key=lambda pair: pair[0].column.id)
    columns = [_summed(arrays[place], field.column.type, time_zone) for field, place in pairs]
    numbers = _added(pool, [_eight(values) for values in columns if not pa.types.is_binary(values.type)], 8)
    lengths = _added(pool, [_sizes(values) for values in columns if pa.types.is_binary(values.type)], 4)
    pieces: list[Places] = []
    for values in columns:
        parts = [next(numbers)] if not pa.types.is_binary(values.type) else [next(lengths), _every(pool, values)]
        if values.null_count:
            null = pc.is_null(values).to_numpy(zero_copy_only=False)
            parts = [np.where(null, nothing, part).astype(np.int32) for part in parts]
        pieces += parts
    borders, data = pool.rows(np.stack(pieces, axis=1))
    view = memoryview(data)
    return pa.array([zlib.crc32(view[start:end]) for start, end in pairwise(borders.tolist())], pa.uint32())


def _summed(values: pa.Array, kind: ColumnType, time_zone: str) -> pa.Array:
    """Numbers as they are, and everything else as the bytes that count."""
    if kind.name == "vector":
        raise EncodeError("a vector has no row checksum: TiDB sums bytes that a batch does not carry")
    if pa.types.is_string(values.type):
        text = _in_utc(values, time_zone) if kind.name == "timestamp" and time_zone != "UTC" else values
        return text.view(pa.binary())
    return values


def _eight(values: pa.Array) -> Numbers:
    numbers = plain_numbers(values)
    if pa.types.is_floating(values.type):
        return numbers.astype("<f8").view("<u8")
    return numbers.astype("<i8" if pa.types.is_signed_integer(values.type) else "<u8").view("<u8")


def _sizes(values: pa.BinaryArray) -> Numbers:
    return np.diff(np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1])


def _added(pool: Pool, columns: list[Numbers], size: int) -> Iterator[Places]:
    """Numbers of so many bytes, all columns as one array; the pieces of each in turn."""
    if not columns:
        return iter(())
    whole = np.concatenate(columns).astype(f"<u{size}", copy=False)
    fixed = pa.Array.from_buffers(pa.binary(size), len(whole), [None, pa.py_buffer(whole)])
    begin, rows = pool.add(fixed.cast(pa.binary())), len(columns[0])
    return iter(np.arange(begin, begin + len(whole), dtype=np.int32).reshape(-1, rows))


def _every(pool: Pool, values: pa.BinaryArray) -> Places:
    begin = pool.add(values)
    return np.arange(begin, begin + len(values), dtype=np.int32)


def _in_utc(text: pa.StringArray, time_zone: str) -> pa.StringArray:
    """The text of the same moments in UTC; a time that comes twice in the zone is taken as the first one."""
    zero = pc.starts_with(text, "0000")
    seconds = pc.if_else(zero, None, pc.utf8_slice_codeunits(text, 0, _SECONDS)).cast(pa.timestamp("s"))
    moments = pc.assume_timezone(seconds, time_zone, ambiguous="earliest", nonexistent="earliest")
    shown = pc.strftime(moments.cast(pa.timestamp("s", "UTC")), format="%Y-%m-%d %H:%M:%S")
    return pc.if_else(zero, text, pc.binary_join_element_wise(shown, pc.utf8_slice_codeunits(text, _SECONDS), ""))
