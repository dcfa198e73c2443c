"""Rows: the changes of one page as columns of keys and encoded values, and the two forms in which a log holds them.

`ARROW` is an IPC stream, served as it is stored. `FLAT` is for a few rows, where Arrow's frame would weigh more than
they do; thousands of flat payloads are read as columns at once (`from_flat`). Both give back what was put in. Keys of
a page are strictly ascending. A null `value` is a deletion, a null `before` an insert.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.errors import DecodeError, SchemaMismatch

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
# Integer handles as uint64, any other keys as fixed-width byte strings; both sort as the keys do.
SortKeys = npt.NDArray[np.uint64] | npt.NDArray[np.bytes_]

FLAT_ROWS = 32
_ROW = struct.Struct("<BIii")
_HEAD = np.dtype([("op", "u1"), ("key", "<u4"), ("value", "<i4"), ("before", "<i4")])
_INTEGER_KEY = 19
_SCHEMA = pa.schema([("op", pa.uint8()), ("key", pa.binary()), ("value", pa.binary()), ("before", pa.binary())])


@dataclass(frozen=True, slots=True)
class Rows:
    op: Bytes
    key: pa.BinaryArray
    value: pa.BinaryArray
    before: pa.BinaryArray

    def __len__(self) -> int:
        return len(self.key)

    @property
    def nbytes(self) -> int:
        return int(self.key.nbytes + self.value.nbytes + self.before.nbytes)

    def take(self, order: Ints) -> Rows:
        wanted = pa.array(order)
        return Rows(self.op[order], self.key.take(wanted), self.value.take(wanted), self.before.take(wanted))

    def to_arrow(self, extra: dict[str, Ints] | None = None) -> pa.Buffer:
        """As an IPC stream, with more columns where they are given."""
        columns = [pa.array(self.op), self.key, self.value, self.before]
        names = [*_SCHEMA.names, *(extra or {})]
        columns += [pa.array(values) for values in (extra or {}).values()]
        return ipc_bytes(pa.RecordBatch.from_arrays(columns, names=names))

    def to_flat(self) -> bytes:
        """For a few rows: each a small head and its bytes."""
        parts: list[bytes] = []
        for op, key, value, before in zip(
            self.op.tolist(), self.key.to_pylist(), self.value.to_pylist(), self.before.to_pylist(), strict=True
        ):
            sizes = (-1 if value is None else len(value), -1 if before is None else len(before))
            parts += (_ROW.pack(op, len(key), *sizes), key, value or b"", before or b"")
        return b"".join(parts)


def ipc_bytes(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def ipc_batch(data: bytes | pa.Buffer, place: str) -> pa.RecordBatch:
    """The one batch of an IPC stream."""
    try:
        with pa.ipc.open_stream(data) as reader:
            return reader.read_next_batch()
    except (pa.ArrowInvalid, StopIteration, OSError) as error:
        raise DecodeError(f"a page is not an Arrow IPC stream of one batch: {error}", position=place) from error


def from_arrow(data: bytes | pa.Buffer, place: str) -> Rows:
    batch = ipc_batch(data, place)
    names = set(batch.schema.names)
    if not {"op", "key", "value"} <= names:
        raise SchemaMismatch(f"a page has the columns {sorted(names)}; it needs op, key and value", position=place)
    before = batch.column("before") if "before" in names else pa.nulls(batch.num_rows, pa.binary())
    op = batch.column("op").to_numpy()
    return Rows(op, batch.column("key"), batch.column("value"), before)


def from_flat(data: Bytes, starts: Ints, counts: Ints) -> Rows:
    """The rows of many flat payloads, in the order in which they lie in `data`; nothing is done per row.

    The j-th row of every payload is found in one step, so the steps are as many as the longest payload has rows. Heads,
    keys, values and befores are then the elements of a single binary column, from which `take` picks.
    """
    total = int(counts.sum())
    first = np.cumsum(counts) - counts
    edges = np.zeros(4 * total + 1, np.int64)
    heads = np.zeros(total, _HEAD)
    at = starts.astype(np.int64)
    for step in range(int(counts.max(initial=0))):
        live = np.flatnonzero(counts > step)
        row, begin = first[live] + step, at[live]
        head = data[begin[:, None] + np.arange(_ROW.size)].reshape(-1).view(_HEAD)
        key = begin + _ROW.size
        value = key + head["key"]
        before = value + np.maximum(head["value"], 0)
        end = before + np.maximum(head["before"], 0)
        heads[row] = head
        for part, place in enumerate((key, value, before, end)):
            edges[4 * row + 1 + part] = place
        at[live] = end
    pieces = pa.BinaryArray.from_buffers(
        pa.binary(), 4 * total, [None, pa.py_buffer(edges.astype(np.int32)), pa.py_buffer(data)]
    )
    rows = np.arange(total, dtype=np.int64) * 4
    return Rows(
        heads["op"].copy(),
        pieces.take(pa.array(rows + 1)),
        pieces.take(pa.array(rows + 2, mask=heads["value"] < 0)),
        pieces.take(pa.array(rows + 3, mask=heads["before"] < 0)),
    )


def sort_keys(key: pa.BinaryArray, common_handle: bool) -> SortKeys:
    """Keys of one physical table as an array that NumPy can sort and search.

    Encoded primary keys are prefix-free, so the zeros that fill up the shorter ones never make two equal.
    """
    rows = len(key)
    offsets = np.frombuffer(key.buffers()[1], np.int32, rows + 1, key.offset * 4).astype(np.int64)
    raw = key.buffers()[2]
    data = np.frombuffer(raw, np.uint8) if raw is not None else np.zeros(0, np.uint8)
    lengths = np.diff(offsets)
    if not common_handle:
        if rows and not (lengths == _INTEGER_KEY).all():
            raise SchemaMismatch(f"a key of an integer handle has {_INTEGER_KEY} bytes, not {sorted(set(lengths))}")
        flat = data[offsets[0] : offsets[-1]].reshape(rows, _INTEGER_KEY)[:, -8:]
        return np.ascontiguousarray(flat).view(">u8").reshape(rows).astype(np.uint64)
    width = max(int(lengths.max(initial=1)), 1)
    padded = np.zeros(rows * width, np.uint8)
    where = np.arange(offsets[0], offsets[-1]) + np.repeat(np.arange(rows) * width - offsets[:-1], lengths)
    padded[where] = data[offsets[0] : offsets[-1]]
    return cast(SortKeys, padded.view(f"S{width}"))


def ascending(keys: SortKeys) -> bool:
    """Strictly ascending: sorted, and none twice."""
    return bool(np.greater(keys[1:], keys[:-1]).all())


def positions(within: SortKeys, wanted: SortKeys) -> Ints:
    """Where each wanted key stands in a sorted array, -1 where it does not; the last one of equals."""
    at = np.searchsorted(within, wanted, side="right").astype(np.int64) - 1
    found = at >= 0
    found[found] = within[at[found]] == wanted[found]
    return np.where(found, at, -1)
