"""Conflicts: which changes of a table have to stay on one route, because the order in which they are applied matters.

Guarantees: two changes of one cut that may touch the same value of any unique key get the same route, whoever computes
it and on whatever machine; a row's route depends on that row and its table alone, never on its neighbours or on where
its batch begins. Where the values of a row do not tell (a second unique key, a key that the target may compare in a
way of its own, no key), all changes of the table are on one route. Hashing goes over columns.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.types import ColumnType

Hashes = NDArray[np.uint64]

_BYTES_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse among the 64-bit numbers
_INVERSE = pow(_BYTES_BASE, -1, 1 << 64)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_BINARY_COLLATIONS = ("_bin", "binary")


def routes_of(batch: ChangeBatch, routes: int) -> NDArray[np.int64]:
    """The route of each row, from 0 to `routes - 1`. An update that changes a key must have been split before."""
    table = batch.table
    whole = mixed(np.full(1, table.table_id, np.uint64))
    if routes == 1 or not divisible(table):
        return np.full(batch.num_rows, int(whole[0] % np.uint64(routes)), np.int64)
    hashes = np.full(batch.num_rows, whole[0], np.uint64)
    absent = batch.after.is_null()
    for name in table.handle_key:
        after, before = pc.struct_field(batch.after, name), pc.struct_field(batch.before, name)
        hashes = mixed(hashes ^ column_hashes(pc.if_else(absent, before, after)))
    return (hashes % np.uint64(routes)).astype(np.int64)


def divisible(table: TableSchema) -> bool:
    """Whether the values of the handle key decide alone which rows of a table are in each other's way."""
    keys = unique_keys(table)
    return len({frozenset(key) for key in keys}) == 1 and comparable(table, keys[0])


def unique_keys(table: TableSchema) -> list[tuple[str, ...]]:
    """The handle key and every other unique key, once each."""
    found = [table.handle_key, *(index.columns for index in table.indexes if index.unique or index.primary)]
    return list(dict.fromkeys(key for key in found if key))


def comparable(table: TableSchema, key: tuple[str, ...]) -> bool:
    """Whether two values of a key are equal in the target just where their columns' bytes are, spaces at the end
    apart: not so for a prefix, for a column that no change carries, or for a collation of the target's own."""
    shortened = any(index.columns == key and any(each >= 0 for each in index.prefixes) for index in table.indexes)
    carried = {column.name: column.type for column in table.row_columns}
    return not shortened and carried.keys() >= set(key) and all(_plain(carried[name]) for name in key)


def _plain(kind: ColumnType) -> bool:
    if kind.name in ("float", "double", "json", "vector"):
        return False
    text = pa.types.is_string(kind.arrow) and bool(kind.charset)
    return not text or kind.collation.endswith(_BINARY_COLLATIONS)


def column_hashes(values: pa.Array) -> Hashes:
    """A 64-bit hash of each value; equal values of one type have equal ones."""
    if pa.types.is_integer(values.type):
        return mixed(pc.fill_null(values, 0).cast(pa.int64(), safe=False).to_numpy().view(np.uint64))
    if pa.types.is_string(values.type):
        values = pc.utf8_rtrim(pc.fill_null(values, ""), " ")
    return _text_hashes(pc.fill_null(values.cast(pa.binary()), b"").cast(pa.large_binary()))


def _text_hashes(values: pa.LargeBinaryArray) -> Hashes:
    """The bytes of each value as the digits of a number modulo 2^64, by one running sum over all of them."""
    offsets = np.frombuffer(values.buffers()[1], np.int64)[values.offset : values.offset + len(values) + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    data = values.buffers()[2]
    letters = np.frombuffer(data, np.uint8)[first:last] if data is not None else np.empty(0, np.uint8)
    size = 1 << max(10, (last - first).bit_length())
    sums = np.zeros(last - first + 1, np.uint64)
    np.cumsum((letters.astype(np.uint64) + np.uint64(1)) * _powers(_BYTES_BASE, size)[: last - first], out=sums[1:])
    bounds = offsets - first
    digits = (sums[bounds[1:]] - sums[bounds[:-1]]) * _powers(_INVERSE, size)[bounds[:-1]]
    return mixed(digits + np.diff(bounds).astype(np.uint64) * _MIX[1])


@lru_cache(maxsize=64)
def _powers(base: int, size: int) -> Hashes:
    powers = np.full(size, base, np.uint64)
    powers[0] = 1
    return np.cumprod(powers)


def mixed(hashes: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the argument (the finisher of SplitMix64)."""
    mixed = hashes + np.uint64(_BYTES_BASE)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX[0]
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX[1]
    return mixed ^ (mixed >> np.uint64(31))
