"""Blocks: the cells of a data server's ranges in LMDB, some thousand to a block, under the first key of each.

The blocks of a range do not overlap, are in key order, and all versions of a key are in one block. A block is stored
with its newest ts and whether it is `simple`, so that most of a snapshot is served as it lies there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.change.tso import Ts
from tailrace.dataserver.cells import Cells, simple
from tailrace.dataserver.rows import ipc_batch, ipc_bytes, sort_keys

BLOCK_ROWS = 8192
# 64 bytes, so that the Arrow buffers behind it stay aligned as LMDB aligns the value.
_HEAD = struct.Struct("<QqII40x")
_NAMES = ["key", "ts", "value"]


@dataclass(frozen=True, slots=True)
class Block:
    """A view of a stored block, good for as long as its LMDB transaction is open."""

    first: bytes
    serial: int
    max_ts: Ts
    rows: int
    simple: bool
    data: memoryview

    def cells(self, common_handle: bool) -> Cells:
        return cells_of(pa.py_buffer(self.data), common_handle)


def cells_of(data: pa.Buffer, common_handle: bool) -> Cells:
    batch = ipc_batch(data, "a block of the store")
    key = batch.column("key")
    return Cells(sort_keys(key, common_handle), batch.column("ts").to_numpy(), key, batch.column("value"))


def encode(cells: Cells, serial: int) -> bytes:
    batch = pa.RecordBatch.from_arrays([cells.key, pa.array(cells.ts), cells.value], names=_NAMES)
    head = _HEAD.pack(serial, int(cells.ts.max()), len(cells), simple(cells))
    return b"".join((head, ipc_bytes(batch)))


def chunks(cells: Cells) -> Iterator[Cells]:
    """Cells cut to blocks, never between versions of one key."""
    low = 0
    while low < len(cells):
        high = min(low + BLOCK_ROWS, len(cells))
        if high < len(cells):
            high = int(np.searchsorted(cells.keys, cells.keys[high - 1], side="right"))
        yield cells.slice(low, high)
        low = high


class RangeBlocks:
    """One range's blocks within an open LMDB transaction (`txn`, with buffers)."""

    def __init__(self, txn: Any, range_id: int, table: Any = None) -> None:
        """`table` where the transaction's own is another one."""
        self._cursor = txn.cursor(table) if table is not None else txn.cursor()
        self._txn, self._table = txn, table
        self._prefix = range_id.to_bytes(8, "big")

    def firsts(self) -> list[bytes]:
        """The first keys of all blocks."""
        found: list[bytes] = []
        if not self._cursor.set_range(self._prefix):
            return found
        for name in self._cursor.iternext(keys=True, values=False):
            if bytes(name[:8]) != self._prefix:
                break
            found.append(bytes(name[8:]))
        return found

    def floor(self, key: bytes) -> Block | None:
        """The block that may hold `key`: the last one that begins at or below it."""
        name = self._prefix + key
        if not (self._cursor.set_range(name) and bytes(self._cursor.key()) == name) and not self._cursor.prev():
            # set_range found nothing above, so prev did not move from there: the last block of all is below.
            return None
        return self._here()

    def following(self, key: bytes) -> Block | None:
        """The first block that begins above `key`."""
        return self._here() if self._cursor.set_range(self._prefix + key + b"\0") else None

    def get(self, first: bytes) -> Block | None:
        return self._here() if self._cursor.set_key(self._prefix + first) else None

    def put(self, cells: Cells, serial: int) -> None:
        self._store(self._prefix + cells.key[0].as_py(), encode(cells, serial))

    def copy(self, first: bytes, range_id: int) -> None:
        """Give a block to another range, as it is."""
        if self._cursor.set_key(self._prefix + first):
            self._store(range_id.to_bytes(8, "big") + first, bytes(self._cursor.value()))

    def delete(self, first: bytes) -> None:
        self._txn.delete(self._prefix + first)

    def _store(self, name: bytes, data: bytes) -> None:
        if self._table is None:
            self._txn.put(name, data)
        else:
            self._txn.put(name, data, db=self._table)

    def _here(self) -> Block | None:
        name = bytes(self._cursor.key())
        if name[:8] != self._prefix:
            return None
        value = memoryview(self._cursor.value())
        serial, max_ts, rows, plain = _HEAD.unpack_from(value)
        return Block(name[8:], serial, max_ts, rows, bool(plain), value[_HEAD.size :])
