"""What a table holds, as columns: changes are applied batch after batch, and the last change of a key stays.

A table with a key holds each key once. A table without one is a multiset: a delete or an update takes away one row
that is equal in all columns, so an update without its old values cannot be applied and is refused. Within one commit
ts deletes go before inserts, as a database that checks its keys at the end of a transaction means it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import UPDATE, ChangeBatch
from tailrace.change.schema import Column, TableSchema
from tailrace.errors import DecodeError

# How often an equal row is there; no column of a user's table may be mistaken for it.
_COUNT = "\0count"
_ORDER = "\0order"


@dataclass(frozen=True, slots=True)
class State:
    """A table's rows under one schema; without a key, a hidden last column counts equal rows."""

    table: TableSchema
    key: tuple[str, ...]
    rows: pa.Table

    @classmethod
    def empty(cls, table: TableSchema, key: tuple[str, ...]) -> State:
        return cls(table, key, _empty(table.arrow_struct, counted=not key))

    def apply(self, batches: Sequence[ChangeBatch], timed: bool = True) -> State:
        """The state after the changes of some batches, all of this state's schema; not `timed`: their commit ts says
        nothing, so they are applied as they came."""
        if not batches:
            return self
        changes = _steps(batches, bool(self.key), timed)
        rows = self._latest(changes) if self.key else self._counted(changes)
        return State(self.table, self.key, rows)

    def under(self, table: TableSchema, key: tuple[str, ...], renamed: dict[str, str]) -> State:
        """The same rows under the next version of the table: new columns have their default."""
        old = {renamed.get(name, name): self.rows.column(name) for name in self.rows.column_names}
        columns = [_column(column, old.get(column.name), self.rows.num_rows, table) for column in table.row_columns]
        names = [column.name for column in table.row_columns]
        if not key:
            columns.append(old.get(_COUNT, pa.array(np.ones(self.rows.num_rows, np.int64))))
            names.append(_COUNT)
        return State(table, key, pa.table(columns, names=names))

    def contents(self) -> pa.Table:
        """The rows, a row as often as it is there."""
        if self.key:
            return self.rows
        counts = self.rows.column(_COUNT).to_numpy()
        if len(counts) and counts.min() < 0:
            raise DecodeError("a row is taken away that is not there", table=self.table.full_name)
        return self.rows.drop_columns([_COUNT]).take(pa.array(np.repeat(np.arange(len(counts)), counts)))

    def _latest(self, changes: pa.Table) -> pa.Table:
        standing = self.rows.append_column(_COUNT, pa.array(np.ones(self.rows.num_rows, np.int64)))
        whole = pa.concat_tables([standing, changes])
        order = pa.array(np.arange(whole.num_rows))
        keyed = whole.select(list(self.key)).append_column(_ORDER, order)
        last = keyed.group_by(list(self.key), use_threads=False).aggregate([(_ORDER, "max")]).column(f"{_ORDER}_max")
        kept = whole.take(last)
        return kept.filter(pc.greater(kept.column(_COUNT), 0)).drop_columns([_COUNT]).combine_chunks()

    def _counted(self, changes: pa.Table) -> pa.Table:
        whole = pa.concat_tables([self.rows, changes])
        names = self.table.arrow_struct.names
        summed = whole.group_by(names, use_threads=False).aggregate([(_COUNT, "sum")])
        summed = summed.rename_columns([*names, _COUNT])
        return summed.filter(pc.not_equal(summed.column(_COUNT), 0)).combine_chunks()


def _steps(batches: Sequence[ChangeBatch], with_updates: bool, timed: bool) -> pa.Table:
    """Rows taken away (count -1) and put down (+1) in the order in which they are to be applied."""
    whole = pa.Table.from_batches([batch.data for batch in batches]).combine_chunks()
    op, after, before = (whole.column(name).combine_chunks() for name in ("op", "after", "before"))
    blind = pc.and_(pc.equal(op, UPDATE), pc.is_null(before))
    if not with_updates and pc.any(blind).as_py():
        raise DecodeError("an update without old values in a table without a key", table=batches[0].table.full_name)
    gone, there = pc.is_valid(before), pc.is_valid(after)
    old, new = pc.indices_nonzero(gone), pc.indices_nonzero(there)
    images = pa.concat_tables([_flat(before.filter(gone)), _flat(after.filter(there))])
    counts = np.concatenate([np.full(len(old), -1, np.int64), np.full(len(new), 1, np.int64)])
    place = np.concatenate([old.to_numpy(), new.to_numpy()])
    commits = whole.column("commit_ts").to_numpy()[place] if timed else place
    # By commit ts, deletes first; rows of one ts and kind as they came.
    order = pa.array(np.lexsort((place, counts, commits)))
    return images.append_column(_COUNT, pa.array(counts)).take(order)


def _flat(image: pa.StructArray) -> pa.Table:
    return pa.table(image.flatten(), names=image.type.names)


def _empty(image: pa.StructType, counted: bool) -> pa.Table:
    fields = [image.field(at) for at in range(image.num_fields)]
    return pa.schema([*fields, *([pa.field(_COUNT, pa.int64())] if counted else [])]).empty_table()


def _column(column: Column, old: pa.ChunkedArray | None, rows: int, table: TableSchema) -> pa.ChunkedArray:
    wanted = column.type.arrow
    if old is not None:
        try:
            return old.cast(wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as wrong:
            raise DecodeError(
                f"column {column.name} became {wanted}, which its old values do not fit ({wrong})",
                table=table.full_name,
            ) from wrong
    if not rows:
        return pa.chunked_array([pa.array([], wanted)])
    value = column.origin_default if column.origin_default is not None else column.default
    if value is None and not column.nullable:
        value = "" if pa.types.is_string(wanted) or pa.types.is_binary(wanted) else 0
    one = pa.nulls(1, wanted) if value is None else pa.array([value]).cast(wanted)
    return pa.chunked_array([one.take(pa.array(np.zeros(rows, np.int64)))])
