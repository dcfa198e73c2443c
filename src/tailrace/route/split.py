"""Splitting of updates that change a key: such an update becomes the delete of the old row and the insert of the new.

The rule is TiCDC's: an update is split if any column of any unique index, or of the handle key, changed; all rows of a
transaction in which one was split are then ordered deletes, updates, inserts, so that two rows may exchange a value.
Other transactions keep their order. Commit order stays as it was, and no row is lost or written twice. An update
without an image of the row before it is left as it is, since there is nothing to delete.

`split_updates` takes each transaction as far as its batch holds it; `split_stream` sees a transaction whole, over any
number of batches, and keeps no more than the one that may still go on, and of that no more than `HELD_BYTES`: the
rows of a larger one that exchange keys over several batches are ordered batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import TableSchema

HELD_BYTES = 64 << 20

_RANK = np.zeros(3, np.int8)
_RANK[[DELETE, UPDATE, INSERT]] = (0, 1, 2)


def key_columns(table: TableSchema) -> tuple[str, ...]:
    """The columns whose change splits an update, in table order."""
    keys = set(table.handle_key)
    for index in table.indexes:
        if index.unique or index.primary:
            keys |= set(index.columns)
    return tuple(column.name for column in table.row_columns if column.name in keys)


def exchanges_keys(table: TableSchema) -> bool:
    """Whether an update of one row may take a key from another row of its transaction.

    Where the only key is the clustered one, a row that gets another key is a delete and an insert from the beginning.
    """
    clustered = set(table.handle_key) if table.pk_is_handle or table.common_handle else set()
    return bool(set(key_columns(table)) - clustered)


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
    whole = batch.before.is_valid().to_numpy(zero_copy_only=False) & batch.after.is_valid().to_numpy(
        zero_copy_only=False
    )
    split: NDArray[np.bool_] = changed & updates & whole
    return split


def split_stream(batches: Iterator[ChangeBatch]) -> Iterator[ChangeBatch]:
    """The batches, which are in commit order, with `split_updates` applied to whole transactions."""
    open_end: list[ChangeBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        if not exchanges_keys(batch.table):
            yield split_updates(batch)
            continue
        full = sum(part.nbytes for part in open_end) > HELD_BYTES
        if open_end and (full or not _goes_on(open_end[-1], batch)):
            yield from _joined(open_end)
            open_end = []
        begin = _last_transaction(batch)
        if begin and open_end:
            end = _first_end(batch)
            yield from _joined([*open_end, batch.slice(0, end)])
            open_end, batch, begin = [], batch.slice(end), begin - end
        if begin:
            yield split_updates(batch.slice(0, begin))
        open_end.append(batch.slice(begin))
    yield from _joined(open_end)


def _goes_on(before: ChangeBatch, after: ChangeBatch) -> bool:
    """Whether the first transaction of `after` may be the last one of `before`."""
    return before.table == after.table and _at(before, -1) == _at(after, 0)


def _at(batch: ChangeBatch, row: int) -> tuple[object, object]:
    return batch.commit_ts[row].as_py(), batch.start_ts[row].as_py()


def _last_transaction(batch: ChangeBatch) -> int:
    """The row at which the last transaction of the batch begins."""
    transaction = _transactions(batch)
    return int(np.searchsorted(transaction, transaction[-1]))


def _first_end(batch: ChangeBatch) -> int:
    """The row behind the first transaction of the batch."""
    return int(np.searchsorted(_transactions(batch), 1, side="right"))


def _joined(parts: list[ChangeBatch]) -> Iterator[ChangeBatch]:
    """One transaction: as one batch where it has to be put in order, else as the batches that it came in."""
    if len(parts) < 2 or not any(changed_keys(part).any() for part in parts):
        yield from map(split_updates, parts)
        return
    whole = pa.Table.from_batches([part.data for part in parts]).combine_chunks().to_batches()
    yield split_updates(ChangeBatch(parts[0].table, whole[0]))


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
