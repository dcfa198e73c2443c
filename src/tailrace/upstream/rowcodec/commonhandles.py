"""Common handles: the columns of a clustered primary key, encoded one after the other so that they sort as the rows do.

Each column is a flag byte and then its memcomparable form: integers, floats, times and durations eight bytes, decimals
their binary form, strings groups of bytes. Text is encoded by its collation; a prefix index column by its prefix. A
handle shorter than nine bytes is filled with zeros, so that none can be an integer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.errors import EncodeError, SchemaMismatch
from tailrace.upstream.rowcodec import columns, decimals, memcomparable, numbers, times
from tailrace.upstream.rowcodec.cells import BadCell, Bytes, Cells, Packed, arrow_bytes, bytes_of, check, uniform
from tailrace.upstream.rowcodec.zones import Zone

BYTES, INT, UINT, FLOAT, DECIMAL, DURATION = 1, 3, 4, 5, 6, 7
SHORTEST = 9
_NO_PADDING = frozenset({"binary", "utf8mb4_0900_bin", "utf8mb4_0900_ai_ci"})
_BIN_COLLATIONS = frozenset({"", "binary", "ascii_bin", "latin1_bin", "utf8_bin", "utf8mb4_bin", "utf8mb4_0900_bin"})


def key_columns(table: TableSchema) -> list[tuple[Column, int]]:
    """The columns of the handle in order, each with its prefix length (-1: all of it)."""
    primary = next((index for index in table.indexes if index.primary), None)
    if primary is None:
        raise SchemaMismatch("a common handle without a primary index", table=table.full_name)
    named = {column.name: column for column in table.row_columns}
    prefixes = primary.prefixes or (-1,) * len(primary.columns)
    missing = [name for name in primary.columns if name not in named]
    if missing:
        raise SchemaMismatch(f"the primary key names {missing}, which rows do not have", table=table.full_name)
    return [(named[name], prefix) for name, prefix in zip(primary.columns, prefixes, strict=True)]


def restored(table: TableSchema) -> frozenset[str]:
    """The key columns that a key restores whole, so that values need not hold them."""
    return frozenset(column.name for column, prefix in key_columns(table) if prefix < 0 and _restores(column.type))


def encode(table: TableSchema, image: pa.StructArray, prefix: Bytes, zone: Zone) -> pa.Array:
    """The record keys of rows: `prefix`, then the handle."""
    parts, sizes = [], np.zeros(len(image), np.int64)
    for column, length in key_columns(table):
        values = image.field(column.name)
        if values.null_count:
            row = int(np.argmax(values.is_null().to_numpy(zero_copy_only=False)))
            raise SchemaMismatch(f"row {row}: the key column {column.name} is NULL", table=table.full_name)
        try:
            packed = _pack(column.type, _prefix_of(column.type, values, length), zone)
        except BadCell as bad:
            reason = f"row {bad.index}, column {column.name}: {bad.reason}"
            raise EncodeError(reason, table=table.full_name, position=f"row {bad.index}") from bad
        sizes += packed.sizes + 1
        flag = pa.scalar(bytes([_flag(column.type)]), pa.binary())
        parts += [flag, arrow_bytes(packed.data, packed.sizes, pa.binary())]
    filling = np.maximum(SHORTEST - sizes, 0)
    if filling.any():
        parts.append(arrow_bytes(np.zeros(int(filling.sum()), np.uint8), filling, pa.binary()))
    return pc.binary_join_element_wise(pa.scalar(prefix.tobytes(), pa.binary()), *parts, pa.scalar(b"", pa.binary()))


def split(table: TableSchema, handles: Cells) -> dict[str, Cells]:
    """Where each key column lies in handles, behind its flag."""
    found = {}
    place = handles.starts
    for column, _ in key_columns(table):
        check(place < handles.ends, f"a key that breaks off before {column.name}")
        flag = _flag(column.type)
        check(handles.data[place] == flag, _wrong_flag(handles.data[place], flag))
        ends = _end(flag, handles.data, place + 1, handles.ends)
        found[column.name] = Cells(handles.data, place + 1, ends)
        place = ends
    rest = handles.ends - place
    filling = Cells(handles.data, place, handles.ends)
    short = (rest == 0) | ((handles.sizes == SHORTEST) & (rest < SHORTEST))
    check(short, lambda i: f"a key with {rest[i]} bytes behind its last column")
    if rest.any():
        rows = np.flatnonzero(rest)
        zero = np.array([not filling.data[filling.starts[row] : filling.ends[row]].any() for row in rows])
        if not zero.all():
            raise BadCell(int(rows[np.argmin(zero)]), "a short key that is not filled with zeros")
    return found


def unpack(kind: ColumnType, cells: Cells, zone: Zone) -> pa.Array:
    """The values of a key column; only for a column that is not in the value."""
    if kind.is_text or kind.is_binary:
        return columns.strings(kind, memcomparable.unpack(cells).cells())
    if kind.name == "decimal":
        return columns.unpack(kind, cells, zone)
    bits = cells.matrix(8, "a key column").view(">u8").ravel().astype(np.uint64)
    if kind.name in ("float", "double"):
        return columns.from_floats(kind, numbers.unsortable(bits))
    if kind.name in ("date", "datetime", "timestamp"):
        return columns.from_packed_times(kind, bits, zone)
    if kind.name == "time":
        return columns.from_nanoseconds(kind, (bits ^ numbers.SIGN).view(np.int64))
    return columns.from_integers(kind, (bits ^ numbers.SIGN).view(np.int64) if _flag(kind) == INT else bits)


def _wrong_flag(flags: Bytes, flag: int) -> Callable[[int], str]:
    return lambda i: f"the key's flag is {flags[i]} and not {flag}"


def _pack(kind: ColumnType, values: pa.Array, zone: Zone) -> Packed:
    if kind.is_text or kind.is_binary:
        return memcomparable.pack(*bytes_of(_collated(kind, values)))
    if kind.name == "decimal":
        return columns.pack(kind, values, zone)
    if kind.name in ("float", "double"):
        return columns.pack(kind, values, zone)
    if kind.name in ("date", "datetime", "timestamp"):
        return uniform(numbers.big_endian(columns.packed_times(kind, values, zone)))
    if kind.name == "time":
        nanos = times.parse_times(*bytes_of(values), kind.fraction)
        return uniform(numbers.big_endian(nanos.view(np.uint64) ^ numbers.SIGN))
    plain = columns.integers(kind, values)
    bits = plain.view(np.uint64) ^ numbers.SIGN if plain.dtype == np.int64 else plain
    return uniform(numbers.big_endian(bits))


def _flag(kind: ColumnType) -> int:
    if kind.is_text or kind.is_binary:
        return BYTES
    if (kind.is_integer and not kind.unsigned) or kind.name == "year":
        return INT
    return {"float": FLOAT, "double": FLOAT, "decimal": DECIMAL, "time": DURATION}.get(kind.name, UINT)


def _end(flag: int, data: Bytes, starts: NDArray[np.int64], limits: NDArray[np.int64]) -> NDArray[np.int64]:
    if flag == BYTES:
        return memcomparable.group_ends(data, starts, limits)
    if flag == DECIMAL:
        check(starts + 2 <= limits, "a key that breaks off inside of a decimal")
        ends = starts + decimals.sizes_of(data[starts], data[starts + 1])
    else:
        ends = starts + 8
    check(ends <= limits, "a key that breaks off inside of a number")
    return ends


def _restores(kind: ColumnType) -> bool:
    """Whether a key gives a column back. New collations drop a VARCHAR's spaces at the end, and more where not _bin."""
    if not kind.is_text:
        return True
    return kind.collation == "utf8mb4_0900_bin" or (kind.name == "char" and kind.collation in _BIN_COLLATIONS)


def _prefix_of(kind: ColumnType, values: pa.Array, length: int) -> pa.Array:
    if length < 0:
        return values
    return pc.binary_slice(values, 0, length) if kind.is_binary else pc.utf8_slice_codeunits(values, 0, length)


def _collated(kind: ColumnType, values: pa.Array) -> pa.Array:
    """Text as its collation compares it."""
    if kind.is_binary or kind.collation in _NO_PADDING:
        return values
    return pc.utf8_rtrim(values, characters=" ")
