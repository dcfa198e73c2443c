"""Rows of a table to TiDB's row values (row format v2) and back, a column at a time.

What is stored follows TiDB. An integer primary key that is the handle is in the key only. A column of a common handle
is in the key, and in the value too where the key's form cannot restore it: a prefix of it, or text whose key form
depends on the collation. A NULL in a column without any default is left out. On the way back a column is taken from
the value, else from the key, else from `origin_default`, else it is NULL. TIMESTAMP is stored in UTC.

A row that does not fit its table is an error that names table, column and row. No value is cut or rounded.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.change.schema import Column, TableSchema
from tailrace.errors import DecodeError, EncodeError, SchemaMismatch
from tailrace.upstream.rowcodec import columns, commonhandles, frames, layout
from tailrace.upstream.rowcodec.cells import BadCell, Cells, Flags, Packed, bytes_of
from tailrace.upstream.rowcodec.defaults import default_value
from tailrace.upstream.rowcodec.keys import handle_column, integer_handles, key_cells
from tailrace.upstream.rowcodec.zones import Zone, zone_of


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
    """The rows of record keys and their values, in the table's Arrow struct. `zone` is the zone of TIMESTAMP columns."""
    if len(keys) != len(values):
        raise DecodeError(f"{len(keys)} keys and {len(values)} values", table=table.full_name)
    handles = key_cells(table, keys)
    if values.null_count:
        raise DecodeError("a row without a value", table=table.full_name)
    ordered = sorted(table.row_columns, key=lambda column: column.id)
    try:
        found = layout.read(*bytes_of(values), np.array([column.id for column in ordered], np.int64))
    except BadCell as bad:
        raise _refused(DecodeError, table, bad.index, bad.reason) from bad
    slots = {column.id: k for k, column in enumerate(ordered)}
    in_key = _KeyColumns(table, handles, zone_of(zone))
    arrays = [_column(table, column, found, slots[column.id], in_key) for column in table.row_columns]
    return pa.StructArray.from_arrays(arrays, fields=list(table.arrow_struct))


class _KeyColumns:
    """The columns that the rows' keys hold."""

    def __init__(self, table: TableSchema, handles: Cells, zone: Zone) -> None:
        self.table = table
        self.zone = zone
        self._handles = handles
        self._integer = handle_column(table)
        self._parts = self._split() if table.common_handle else {}
        self._partial = {column.name for column, prefix in _keys_of(table) if prefix >= 0}

    def column(self, column: Column, rows: Flags) -> pa.Array | None:
        """A column's values of some rows; None where keys do not hold it."""
        which = np.flatnonzero(rows)
        if self._integer is not None and column.name == self._integer.name:
            handles = integer_handles(self.table, self._handles.select(which))
            return columns.from_integers(column.type, handles.view(np.uint64) if column.type.unsigned else handles)
        if column.name in self._partial:
            raise BadCell(0, "the value does not hold it, and the key only a prefix of it")
        if column.name in self._parts:
            return commonhandles.unpack(column.type, self._parts[column.name].select(which), self.zone)
        return None

    def _split(self) -> dict[str, Cells]:
        try:
            return commonhandles.split(self.table, self._handles)
        except BadCell as bad:
            raise _refused(DecodeError, self.table, bad.index, bad.reason) from bad


def _keys_of(table: TableSchema) -> list[tuple[Column, int]]:
    return commonhandles.key_columns(table) if table.common_handle else []


def _stored(table: TableSchema) -> list[Column]:
    """The columns that values hold."""
    handle = handle_column(table)
    restored = commonhandles.restored(table) if table.common_handle else frozenset()
    in_key_only = restored | ({handle.name} if handle else frozenset())
    return [column for column in table.row_columns if column.name not in in_key_only]


def _pack(table: TableSchema, column: Column, values: pa.Array, valid: Flags, zone: Zone) -> Packed:
    rows = np.flatnonzero(valid)
    if len(rows) < len(values) and not column.nullable:
        row = int(np.argmin(valid))
        raise _refused(SchemaMismatch, table, row, "NULL in a column that is NOT NULL", column)
    try:
        return columns.pack(column.type, values.drop_null() if len(rows) < len(values) else values, zone)
    except BadCell as bad:
        raise _refused(EncodeError, table, int(rows[bad.index]), bad.reason, column) from bad


def _column(table: TableSchema, column: Column, found: layout.Layout, k: int, in_key: _KeyColumns) -> pa.Array:
    state = found.state[:, k]
    present = state == layout.PRESENT
    rows = np.flatnonzero(present)
    absent = state == layout.ABSENT
    try:
        dense = columns.unpack(column.type, found.cells(k, rows), in_key.zone)
    except BadCell as bad:
        raise _refused(DecodeError, table, int(rows[bad.index]), bad.reason, column) from bad
    if not absent.any():
        _check_nulls(table, column, ~present)
        return columns.spread(dense, present)
    try:
        missing = in_key.column(column, absent)
    except BadCell as bad:
        raise _refused(DecodeError, table, int(np.flatnonzero(absent)[bad.index]), bad.reason, column) from bad
    if missing is None:
        missing = default_value(table, column, in_key.zone, int(absent.sum()))
    order = np.empty(len(state), np.int64)
    order[present] = np.arange(len(rows))
    order[absent] = np.arange(len(rows), len(rows) + len(missing))
    joined = pa.concat_arrays([dense, missing]).take(pa.array(order, mask=state == layout.NULL))
    _check_nulls(table, column, joined.is_null().to_numpy(zero_copy_only=False))
    return joined


def _check_nulls(table: TableSchema, column: Column, null: Flags) -> None:
    if not column.nullable and null.any():
        raise _refused(DecodeError, table, int(np.argmax(null)), "NULL in a column that is NOT NULL", column)


def _refused(
    kind: type[DecodeError] | type[EncodeError] | type[SchemaMismatch],
    table: TableSchema,
    row: int,
    reason: str,
    column: Column | None = None,
) -> DecodeError | EncodeError | SchemaMismatch:
    place = f"row {row}" + (f", column {column.name}" if column else "")
    return kind(f"{place}: {reason}", table=table.full_name, position=f"row {row}")
