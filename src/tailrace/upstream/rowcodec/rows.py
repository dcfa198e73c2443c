"""Rows of a table to TiDB's row values (row format v2) and back, a column at a time.

What is stored follows TiDB. An integer primary key that is the handle is in the key only. A column of a common handle
is in the key, and in the value too where the key's form cannot restore it: a prefix of it, or text whose key form
depends on the collation. A NULL in a column without any default is left out. On the way back a column is taken from
the value, else from the key, else from `origin_default`, else it is NULL. TIMESTAMP is stored in UTC.

A row that does not fit its table is an error that names table, column and row. No value is cut or rounded.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.change.schema import Column, TableSchema
from tailrace.errors import DecodeError, EncodeError, SchemaMismatch
from tailrace.upstream.rowcodec import columns, commonhandles, frames, layout
from tailrace.upstream.rowcodec.blocks import Block, blocks
from tailrace.upstream.rowcodec.cells import BadCell, Cells, Flags, Packed, bytes_of, check, numbered
from tailrace.upstream.rowcodec.defaults import default_value
from tailrace.upstream.rowcodec.keycolumns import KeyColumns
from tailrace.upstream.rowcodec.keys import handle_column, key_cells
from tailrace.upstream.rowcodec.zones import Zone, zone_of

Refused = TypeVar("Refused", DecodeError, EncodeError, SchemaMismatch)
_NOT_NULL = "NULL in a column that is NOT NULL"


def encode_rows(table: TableSchema, image: pa.StructArray, *, zone: str = "UTC") -> pa.Array:
    """The values of rows; large_binary where they pass 2 GiB. `zone` is the zone of the image's TIMESTAMP columns."""
    if image.type != table.arrow_struct or image.null_count:
        what = "rows that are NULL" if image.type == table.arrow_struct else f"rows of {image.type}"
        raise SchemaMismatch(f"{what}, where rows of {table.arrow_struct} must be", table=table.full_name)
    stored = sorted(_stored(table), key=lambda column: column.id)
    shape = (len(image), len(stored))
    present, nulls = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    sizes = np.zeros(shape, np.int64)
    cells = []
    for k, column in enumerate(stored):
        values = image.field(column.name)
        present[:, k] = valid = values.is_valid().to_numpy(zero_copy_only=False)
        packed = _pack(table, column, values, valid, zone_of(zone))
        sizes[valid, k] = packed.sizes
        nulls[:, k] = ~valid & (column.default is not None or column.origin_default is not None)
        cells.append(packed)
    return frames.build(np.array([column.id for column in stored], np.int64), present, nulls, sizes, cells)


def decode_rows(table: TableSchema, keys: pa.Array, values: pa.Array, *, zone: str = "UTC") -> pa.StructArray:
    """The rows of record keys and their values, in the table's Arrow struct; TIMESTAMP columns in `zone`."""
    if len(keys) != len(values):
        raise DecodeError(f"{len(keys)} keys and {len(values)} values", table=table.full_name)
    if values.null_count:
        raise DecodeError("a row without a value", table=table.full_name)
    in_key = KeyColumns(table, key_cells(table, keys), zone_of(zone))
    data, offsets = bytes_of(values)
    rows = Cells(data, offsets[:-1], offsets[1:])
    try:
        parts = list(blocks(rows))
    except BadCell as bad:
        raise _refused(DecodeError, table, bad.index, bad.reason) from bad
    decoded = [_decoded(table, block, in_key) for block in parts]
    empty = [pa.array([], column.type.arrow) for column in table.row_columns]
    arrays = [pa.concat_arrays(chunks) for chunks in zip(*decoded, strict=True)] if decoded else empty
    image = pa.StructArray.from_arrays(arrays, fields=list(table.arrow_struct))
    order = np.concatenate([block.numbers for block in parts]) if parts else np.arange(0)
    return image if (order[1:] > order[:-1]).all() else image.take(pa.array(np.argsort(order)))


def _decoded(table: TableSchema, block: Block, in_key: KeyColumns) -> list[pa.Array]:
    """The columns of the rows of one block."""
    ordered = sorted(table.row_columns, key=lambda column: column.id)
    slots = {column.id: k for k, column in enumerate(ordered)}
    name = ""
    arrays = []
    try:
        found = layout.read(block, np.array([column.id for column in ordered], np.int64))
        for column in table.row_columns:
            name = column.name
            arrays.append(_column(table, column, found, slots[column.id], block.numbers, in_key))
    except BadCell as bad:
        raise _refused(DecodeError, table, int(block.numbers[bad.index]), bad.reason, name) from bad
    return arrays


def _stored(table: TableSchema) -> list[Column]:
    """The columns that values hold."""
    handle = handle_column(table)
    restored = commonhandles.restored(table) if table.common_handle else frozenset()
    in_key_only = restored | ({handle.name} if handle else frozenset())
    return [column for column in table.row_columns if column.name not in in_key_only]


def _pack(table: TableSchema, column: Column, values: pa.Array, valid: Flags, zone: Zone) -> Packed:
    rows = np.flatnonzero(valid)
    if len(rows) < len(values) and not column.nullable:
        raise _refused(SchemaMismatch, table, int(np.argmin(valid)), _NOT_NULL, column.name)
    try:
        return columns.pack(column.type, values.drop_null() if len(rows) < len(values) else values, zone)
    except BadCell as bad:
        raise _refused(EncodeError, table, int(rows[bad.index]), bad.reason, column.name) from bad


def _column(
    table: TableSchema, column: Column, found: layout.Layout, k: int, numbers: NDArray[np.intp], in_key: KeyColumns
) -> pa.Array:
    held, cells = found.cells(k)
    with numbered(held):
        dense = columns.unpack(column.type, cells, in_key.zone)
    if held is None:
        return dense
    absent = found.absent(k) if in_key.holds(column) or column.origin_default is not None else np.zeros(1, np.bool_)
    if not absent.any():
        _check_nulls(column, held)
        return columns.spread(dense, held)
    with numbered(absent):
        missing = in_key.column(column, numbers[absent])
    if missing is None:
        missing = default_value(table, column, in_key.zone, int(np.count_nonzero(absent)))
    if len(missing) == len(numbers):
        joined = missing
    else:
        order = np.empty(len(held), np.int64)
        order[held] = np.arange(len(dense))
        order[absent] = np.arange(len(dense), len(dense) + len(missing))
        joined = pa.concat_arrays([dense, missing]).take(pa.array(order, mask=~(held | absent)))
    _check_nulls(column, joined.is_valid().to_numpy(zero_copy_only=False))
    return joined


def _check_nulls(column: Column, valid: Flags) -> None:
    if not column.nullable:
        check(valid, _NOT_NULL)


def _refused(kind: type[Refused], table: TableSchema, row: int, reason: str, column: str = "") -> Refused:
    place = f"row {row}" + (f", column {column}" if column else "")
    return kind(f"{place}: {reason}", table=table.full_name, position=f"row {row}")
