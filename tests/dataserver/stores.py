"""What the store's tests share: a table, its rows, and a node with a clock that the test moves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.dataserver.meta import RangeMeta
from tailrace.dataserver.node import Node
from tailrace.dataserver.rows import Rows
from tailrace.dataserver.timestamps import Timestamps
from tailrace.upstream.rowcodec import table_range

TABLE_ID = 7
START, END = table_range(TABLE_ID)
VERSION = 1


def table(schema: str = "shop", name: str = "orders", common_handle: bool = False) -> TableSchema:
    columns = (
        Column(1, "id", ColumnType("bigint", 20), nullable=False, pk=True),
        Column(2, "note", ColumnType("varchar", 100, charset="utf8mb4", collation="utf8mb4_bin")),
    )
    return TableSchema(schema, name, 0, 0, columns, pk_is_handle=not common_handle, common_handle=common_handle)


def image(known: TableSchema, ids: Iterable[int], note: str = "n") -> pa.StructArray:
    wanted = list(ids)
    columns = [pa.array(wanted, pa.int64()), pa.array([f"{note}{each}" for each in wanted], pa.string())]
    columns += [pa.nulls(len(wanted), field.type) for field in list(known.arrow_struct)[2:]]
    return pa.StructArray.from_arrays(columns, fields=list(known.arrow_struct))


def key(handle: int) -> bytes:
    return START + (handle + (1 << 63)).to_bytes(8, "big")


def rows(op: int, handles: Sequence[int], value: str = "v") -> Rows:
    """Rows as a client sends them: sorted, without `before`."""
    values = [None if op == 2 else f"{value}{handle}".encode() for handle in handles]
    return Rows(
        np.full(len(handles), op, np.uint8),
        pa.array([key(handle) for handle in handles], pa.binary()),
        pa.array(values, pa.binary()),
        pa.nulls(len(handles), pa.binary()),
    )


class Clock:
    """A TSO in memory; `versions` are the newest schema versions, and `late` runs before a commit ts is given."""

    def __init__(self, first: int = 1000) -> None:
        self._next = itertools.count(first)
        self.last = first - 1

    def take(self, count: int = 1, written: Sequence[tuple[int, int]] = ()) -> int:
        taken = [next(self._next) for _ in range(count)]
        self.last = taken[-1]
        return taken[0]


def node(folder: Path, clock: Clock) -> Node:
    """A node with range 1, which is all of the table."""
    made = Node(folder, Timestamps(clock.take), fsync=False)
    made.clock.take()
    made.create(RangeMeta(1, TABLE_ID, TABLE_ID, START, END))
    return made
