"""Record keys: `t`, the table's id, `_r`, and the row's handle, in bytes that sort as the rows do.

The handle is the integer primary key where `pk_is_handle`, the encoded columns of the primary key where
`common_handle`, and for every other table an integer that the store gave: `row_ids`, or the hidden column of the id -1.
An integer is eight bytes, big-endian, with the sign turned; an unsigned key keeps its bits. A key of another table is
never taken for a row.
"""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.change.schema import Column, TableSchema
from tailrace.errors import DecodeError, SchemaMismatch
from tailrace.upstream.rowcodec import commonhandles
from tailrace.upstream.rowcodec.cells import BadCell, Cells, arrow_bytes, bytes_of, check, gather
from tailrace.upstream.rowcodec.numbers import SIGN, big_endian
from tailrace.upstream.rowcodec.zones import zone_of

ROW_ID = -1
PREFIX = 11
INT_KEY = PREFIX + 8
_SEPARATOR = b"_r"


def table_range(physical_id: int) -> tuple[bytes, bytes]:
    """The first possible record key of a table or partition, and the first one behind them."""
    head = b"t" + struct.pack(">Q", (physical_id + (1 << 63)) % (1 << 64))
    return head + _SEPARATOR, head + bytes([_SEPARATOR[0], _SEPARATOR[1] + 1])


def handle_column(table: TableSchema) -> Column | None:
    """The column that is the integer handle: the primary key, or the hidden row id where a table carries it."""
    if not table.pk_is_handle:
        return next((column for column in table.row_columns if column.id == ROW_ID), None)
    found = [column for column in table.row_columns if column.name in table.handle_key and column.type.is_integer]
    if len(found) != 1:
        raise SchemaMismatch("pk_is_handle without one integer primary key", table=table.full_name)
    return found[0]


def encode_keys(
    table: TableSchema,
    image: pa.StructArray,
    physical_id: int,
    row_ids: NDArray[np.int64] | None = None,
    *,
    zone: str = "UTC",
) -> pa.Array:
    """The record keys of rows. Only a table whose primary key is no handle uses `row_ids`, and needs them.

    `zone` is the zone of TIMESTAMP columns of a common handle; the key holds UTC.
    """
    prefix = np.frombuffer(table_range(physical_id)[0], np.uint8)
    column = handle_column(table)
    if table.common_handle:
        return commonhandles.encode(table, image, prefix, zone_of(zone))
    if column is not None:
        values = image.field(column.name)
        if values.null_count:
            row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise SchemaMismatch(f"the handle {column.name} of row {row} is NULL", table=table.full_name)
        handles = values.to_numpy().astype(np.uint64 if column.type.unsigned else np.int64).view(np.uint64)
    elif row_ids is not None and len(row_ids) == len(image):
        handles = np.ascontiguousarray(row_ids, np.int64).view(np.uint64)
    else:
        raise SchemaMismatch("a table without a clustered primary key needs one row id a row", table=table.full_name)
    matrix = np.empty((len(image), INT_KEY), np.uint8)
    matrix[:, :PREFIX] = prefix
    matrix[:, PREFIX:] = big_endian(handles ^ SIGN)
    return arrow_bytes(matrix.reshape(-1), np.full(len(image), INT_KEY, np.int64), pa.binary())


def decode_handles(keys: pa.Array) -> NDArray[np.int64]:
    """The integer handles of record keys; those of an unsigned primary key have its bits."""
    cells = _record_cells(keys, "")
    try:
        return _integer_handles(cells)
    except BadCell as bad:
        raise DecodeError(f"row {bad.index}: {bad.reason}", position=f"row {bad.index}") from bad


def key_cells(table: TableSchema, keys: pa.Array) -> Cells:
    """Where the handles lie; every key must be of the table or of one of its partitions."""
    cells = _record_cells(keys, table.full_name)
    ids = gather(cells.data, cells.starts - PREFIX + 1, 8).view(">u8").ravel().astype(np.uint64) ^ SIGN
    own = np.array([table.table_id, *(part.id for part in table.partitions)], np.int64).view(np.uint64)
    good = np.isin(ids, own)
    if not good.all():
        row = int(np.argmin(good))
        found = int(ids.view(np.int64)[row])
        reason = f"row {row} has a key of the table {found}, not of {sorted(own.tolist())}"
        raise DecodeError(reason, table=table.full_name, position=f"row {row}")
    return cells


def integer_handles(table: TableSchema, cells: Cells) -> NDArray[np.int64]:
    """The integer handles of a table's keys."""
    try:
        return _integer_handles(cells)
    except BadCell as bad:
        raise DecodeError(f"row {bad.index}: {bad.reason}", table=table.full_name, position=f"row {bad.index}") from bad


def _integer_handles(cells: Cells) -> NDArray[np.int64]:
    bits = cells.matrix(8, "an integer handle").view(">u8").ravel().astype(np.uint64)
    return (bits ^ SIGN).view(np.int64)


def _record_cells(keys: pa.Array, table: str) -> Cells:
    data, offsets = bytes_of(keys)
    try:
        check(np.array([keys.null_count == 0]), "a key is NULL")
        starts, ends = offsets[:-1], offsets[1:]
        check(ends - starts > PREFIX, lambda i: f"a key of {ends[i] - starts[i]} bytes is no record key")
        heads = gather(data, starts, PREFIX)
        good = (heads[:, 0] == ord("t")) & (heads[:, 9] == _SEPARATOR[0]) & (heads[:, 10] == _SEPARATOR[1])
        check(good, lambda i: f"the key {bytes(heads[i]).hex()}... is no record key")
    except BadCell as bad:
        raise DecodeError(f"row {bad.index}: {bad.reason}", table=table, position=f"row {bad.index}") from bad
    return Cells(data, starts + PREFIX, ends)
