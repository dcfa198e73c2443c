"""Segments: how changes travel from the task that pulled them to the task that writes their route.

A segment is up to `SEGMENT_ROWS` changes, or about `SEGMENT_BYTES`, of one table and one route, as Arrow IPC with the
table's schema inside. The order of changes on a route is, for each table,

    commit ts, start ts, deletes before updates before inserts, handle key

which is a total order wherever it matters: rows that are equal in it are of a table without a key. A segment is sorted
by it, and `place` says where its first row stands, in columns and bytes that sort in Spark as they do here.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.route.components import component_routes, linkable
from tailrace.route.conflict import divisible, routes_of

SEGMENT_ROWS = 8_192
SEGMENT_BYTES = 8 << 20
_TABLE = b"tailrace.table"
_RANK = np.zeros(3, np.uint8)
_RANK[[DELETE, UPDATE, INSERT]] = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Segment:
    """`place`: commit ts, start ts, table id, and the rank and key of the first row as bytes that sort as they do."""

    route: int
    place: tuple[int, int, int, bytes]
    rows: int
    data: bytes


@dataclass(slots=True)
class _Parcel:
    """What a route has been given and that is not a segment yet."""

    parts: list[ChangeBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0

    def has_room(self, part: ChangeBatch) -> bool:
        """Whether it stays a segment with this part in it; an empty one takes any part."""
        fits = self.rows + part.num_rows <= SEGMENT_ROWS and self.bytes + part.nbytes <= SEGMENT_BYTES
        return not self.parts or (fits and self.parts[0].table == part.table)

    def add(self, part: ChangeBatch) -> None:
        self.parts.append(part)
        self.rows, self.bytes = self.rows + part.num_rows, self.bytes + part.nbytes


def cut_segments(batches: Iterator[ChangeBatch], routes: int, whole: bool = False) -> Iterator[Segment]:
    """All rows of the batches, each in exactly one segment of its route. `whole`: they are all changes of their table
    in the cut, so that those of a table with several unique keys can be divided too."""
    parcels: dict[int, _Parcel] = {}
    for route, part in _routed(batches, routes, whole):
        parcel = parcels.setdefault(route, _Parcel())
        for piece in _sized(part):
            if not parcel.has_room(piece):
                yield _segment(route, parcel)
                parcel = parcels[route] = _Parcel()
            parcel.add(piece)
    for route, parcel in parcels.items():
        if parcel.rows:
            yield _segment(route, parcel)


def _routed(batches: Iterator[ChangeBatch], routes: int, whole: bool) -> Iterator[tuple[int, ChangeBatch]]:
    linked: list[ChangeBatch] = []
    for batch in batches:
        if whole and routes > 1 and not divisible(batch.table) and linkable(batch.table):
            linked.append(batch)
        elif batch.num_rows:
            yield from parted(batch, routes_of(batch, routes))
    if linked and (together := joined(linked)).num_rows:
        yield from parted(together, component_routes(together, routes))


def parted(batch: ChangeBatch, found: NDArray[np.int64]) -> Iterator[tuple[int, ChangeBatch]]:
    """The rows of a batch by route, in their order; without a copy where one route has all of them."""
    counts = np.bincount(found)
    if counts[found[0]] == batch.num_rows:
        yield int(found[0]), batch
        return
    together = batch.take(pa.array(np.argsort(found, kind="stable")))
    ends = np.cumsum(counts)
    for route in np.flatnonzero(counts).tolist():
        yield route, together.slice(int(ends[route] - counts[route]), int(counts[route]))


def _sized(part: ChangeBatch) -> Iterator[ChangeBatch]:
    rows = min(SEGMENT_ROWS, max(1, SEGMENT_BYTES * part.num_rows // max(part.nbytes, 1)))
    for first in range(0, part.num_rows, rows):
        yield part.slice(first, rows)


def _segment(route: int, parcel: _Parcel) -> Segment:
    whole = in_order(joined(parcel.parts))
    sink = pa.BufferOutputStream()
    schema = whole.data.schema.with_metadata({_TABLE: pickle.dumps(whole.table, protocol=5)})
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(whole.data.replace_schema_metadata(schema.metadata))
    data: bytes = sink.getvalue().to_pybytes()
    return Segment(route, place_of(whole), whole.num_rows, data)


def opened(data: pa.Buffer | bytes) -> ChangeBatch:
    """The changes of a segment; nothing is copied."""
    with pa.ipc.open_stream(data) as stream:
        [batch] = list(stream)
    return ChangeBatch(_table(batch.schema.metadata[_TABLE]), batch.replace_schema_metadata(None))


@lru_cache(maxsize=1024)
def _table(pickled: bytes) -> TableSchema:
    table: TableSchema = pickle.loads(pickled)
    return table


def joined(parts: list[ChangeBatch]) -> ChangeBatch:
    if len(parts) == 1:
        return parts[0]
    return ChangeBatch(parts[0].table, pa.concat_batches([part.data for part in parts]))


def ranks(batch: ChangeBatch) -> NDArray[np.uint8]:
    """Deletes, updates, inserts: so that within a transaction a value is given up before it is taken."""
    found: NDArray[np.uint8] = _RANK[batch.op.to_numpy(zero_copy_only=False)]
    return found


def order_columns(batch: ChangeBatch) -> list[pa.Array]:
    """The columns that the order of a route compares, the most important first."""
    absent = batch.after.is_null()
    keys = [
        pc.if_else(absent, pc.struct_field(batch.before, name), pc.struct_field(batch.after, name))
        if absent.true_count
        else pc.struct_field(batch.after, name)
        for name in batch.table.handle_key
    ]
    return [batch.commit_ts, batch.start_ts, pa.array(ranks(batch)), *keys]


def in_order(batch: ChangeBatch) -> ChangeBatch:
    """The batch in the order of a route; the same object where it is so already."""
    columns = order_columns(batch)
    return batch if is_sorted(columns) else batch.take(sorting(columns))


def sorting(columns: list[pa.Array]) -> pa.Array:
    names = [str(number) for number in range(len(columns))]
    keys = [(name, "ascending") for name in names]
    return pc.sort_indices(pa.table(columns, names), sort_keys=keys)


def is_sorted(columns: list[pa.Array]) -> bool:
    """Whether rows ascend; as many columns are looked at as it takes to tell every row from the one before."""
    size = len(columns[0]) - 1
    equal = np.ones(max(size, 0), np.bool_)
    for column in columns:
        if not equal.any():
            return True
        before, after = column.slice(0, size), column.slice(1)
        if equal.any() and _some(pc.greater(before, after), equal):
            return False
        equal &= pc.fill_null(pc.equal(before, after), True).to_numpy(zero_copy_only=False)
    return True


def _some(falls: pa.BooleanArray, where: NDArray[np.bool_]) -> bool:
    return bool((pc.fill_null(falls, False).to_numpy(zero_copy_only=False) & where).any())


def place_of(batch: ChangeBatch) -> tuple[int, int, int, bytes]:
    """Where the first row stands."""
    commit, start, rank, *keys = (column[0].as_py() for column in order_columns(batch.slice(0, 1)))
    return commit, start, batch.table.table_id, bytes([rank]) + b"".join(map(_sortable, keys))


def _sortable(value: int | float | str | bytes | None) -> bytes:
    """Bytes that sort as the value does among others of its column."""
    if value is None:
        return b"\xff"
    if isinstance(value, int):
        return b"\x01" + (value + (1 << 64)).to_bytes(9, "big")
    if isinstance(value, float):
        bits = int.from_bytes(struct.pack(">d", value + 0.0), "big")
        return b"\x01" + (bits ^ (0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else 1 << 63)).to_bytes(8, "big")
    text = value.encode() if isinstance(value, str) else value
    return b"\x01" + text.replace(b"\0", b"\0\xff") + b"\0\0"
