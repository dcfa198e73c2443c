"""Pages to change batches: encoded rows become the columns of the schema version that wrote them.

A page's rows outside of the asked span are dropped here. Nothing is done per row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch, batch_schema, inserts
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import DecodeError
from tailrace.proto.cdc_pb2 import Page
from tailrace.upstream.base import Within
from tailrace.upstream.rowcodec import decode_rows


def snapshot_batch(page: Page, table: TableSchema, version: Ts, zone: str) -> ChangeBatch:
    batch = _opened(page)
    return inserts(table, decode_rows(table, batch.column("key"), batch.column("value"), zone=zone), version)


def log_batch(
    page: Page, table: TableSchema, from_ts: Ts, upto_ts: Ts, zone: str, within: Sequence[Within] = ()
) -> ChangeBatch:
    """The changes of a page with `from_ts < commit_ts <= upto_ts`, and within some keys; may be none."""
    batch = _opened(page)
    commit_ts, start_ts = _times(page, batch, "commit_ts"), _times(page, batch, "start_ts")
    if len(commit_ts) and (commit_ts[0] <= from_ts or commit_ts[-1] > upto_ts):
        low, high = (int(np.searchsorted(commit_ts, ts, side="right")) for ts in (from_ts, upto_ts))
        batch, commit_ts, start_ts = batch.slice(low, high - low), commit_ts[low:high], start_ts[low:high]
    if within and len(commit_ts):
        inside = _inside(batch.column("key"), commit_ts, within)
        batch, commit_ts, start_ts = batch.filter(pa.array(inside)), commit_ts[inside], start_ts[inside]
    columns = [
        batch.column("op"),
        pa.array(commit_ts),
        pa.array(start_ts),
        images(table, batch.column("key"), batch.column("value"), zone),
        images(table, batch.column("key"), batch.column("before"), zone),
    ]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


def images(table: TableSchema, key: pa.BinaryArray, value: pa.BinaryArray, zone: str) -> pa.StructArray:
    """Rows, a null struct where there is no value."""
    if value.null_count == len(value):
        return pa.nulls(len(value), table.arrow_struct)
    if not value.null_count:
        return decode_rows(table, key, value, zone=zone)
    there = value.is_valid()
    rows = decode_rows(table, key.filter(there), value.filter(there), zone=zone)
    place = pc.subtract(pc.cumulative_sum(there.cast(pa.int64())), 1)
    return rows.take(pc.if_else(there, place, pa.scalar(None, pa.int64())))


def _inside(
    key: pa.BinaryArray, commit_ts: np.ndarray[tuple[int], np.dtype[np.int64]], within: Sequence[Within]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    found = np.zeros(len(key), np.bool_)
    for each in within:
        at = pc.greater_equal(key, pa.scalar(each.start, pa.binary()))
        if each.end:
            at = pc.and_(at, pc.less(key, pa.scalar(each.end, pa.binary())))
        found |= at.to_numpy(zero_copy_only=False) & (commit_ts > each.through)
    return found


def _opened(page: Page) -> pa.RecordBatch:
    try:
        with pa.ipc.open_stream(page.arrow) as reader:
            return reader.read_next_batch()
    except (pa.ArrowInvalid, StopIteration, OSError) as error:
        raise DecodeError(f"a page is not an Arrow IPC stream of one batch: {error}") from error


def _times(page: Page, batch: pa.RecordBatch, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if name in batch.schema.names:
        return np.asarray(batch.column(name).to_numpy(), np.int64)
    first = page.commit_ts if name == "commit_ts" else page.start_ts
    return first + page.step * np.arange(batch.num_rows, dtype=np.int64)
