"""Splitting of updates that change a key: such an update becomes the delete of the old row and the insert of the new.

The rule is TiCDC's: an update is split if any column of any unique index, or of the handle key, changed; all rows of a
transaction in which one was split are then ordered deletes, updates, inserts, so that two rows may exchange a value.
Other transactions keep their order. Commit order stays as it was, and no row is lost or written twice.

A transaction that goes on in a following batch is ordered batch by batch.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import TableSchema

_RANK = np.zeros(3, np.int8)
_RANK[[DELETE, UPDATE, INSERT]] = (0, 1, 2)


def key_columns(table: TableSchema) -> tuple[str, ...]:
    """The columns whose change splits an update, in table order."""
    keys = set(table.handle_key)
    for index in table.indexes:
        if index.unique or index.primary:
            keys |= set(index.columns)
    return tuple(column.name for column in table.row_columns if column.name in keys)


def changed_keys(batch: ChangeBatch) -> NDArray[np.bool_]:
    """For each row, whether it is an update that must be split."""
    updates = batch.op.to_numpy(zero_copy_only=False) == UPDATE
    changed = np.zeros(batch.num_rows, np.bool_)
    if not updates.any():
        return changed
    for name in key_columns(batch.table):
        before, after = pc.struct_field(batch.before, name), pc.struct_field(batch.after, name)
        equal = pc.or_kleene(pc.equal(before, after), pc.and_(pc.is_null(before), pc.is_null(after)))
        changed |= ~pc.fill_null(equal, False).to_numpy(zero_copy_only=False)
    split: NDArray[np.bool_] = changed & updates
    return split


def split_updates(batch: ChangeBatch) -> ChangeBatch:
    """The batch with its key-changing updates split; the same object where there is none."""
    split = changed_keys(batch)
    if not split.any():
        return batch
    rows, again = np.arange(batch.num_rows), np.flatnonzero(split)
    op = batch.op.to_numpy(zero_copy_only=False)
    source = np.concatenate([rows, again])
    ops = np.concatenate([np.where(split, DELETE, op), np.full(len(again), INSERT)]).astype(np.uint8)
    without_after = np.concatenate([split, np.zeros(len(again), np.bool_)])
    without_before = np.concatenate([np.zeros(batch.num_rows, np.bool_), np.ones(len(again), np.bool_)])
    transaction = _transactions(batch)
    sorts = np.isin(transaction, transaction[split])[source]
    order = np.lexsort((source, np.where(sorts, _RANK[ops], 0), transaction[source]))
    source, ops = source[order], ops[order]
    columns = [
        pa.array(ops),
        batch.commit_ts.take(pa.array(source)),
        batch.start_ts.take(pa.array(source)),
        batch.after.take(pa.array(source, mask=without_after[order])),
        batch.before.take(pa.array(source, mask=without_before[order])),
    ]
    return ChangeBatch(batch.table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(batch.table)))


def _transactions(batch: ChangeBatch) -> NDArray[np.int64]:
    """For each row, the number of its transaction within the batch."""
    commit, start = batch.commit_ts.to_numpy(), batch.start_ts.to_numpy()
    begins = np.ones(len(commit), np.bool_)
    begins[1:] = (commit[1:] != commit[:-1]) | (start[1:] != start[:-1])
    return np.cumsum(begins)
