"""The frame: a change batch as the record batch of a view.

A column of the table holds the new value, in a deleted row the old one, so that a key is there for every change;
`_before` holds the old row where it is known. Only the columns that Spark asked for are made. Nobody loops over rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, ChangeBatch
from tailrace.change.schema import Column
from tailrace.pipeline.view.mapping import BEFORE, COMMIT_TS, OP, OWN, SNAPSHOT, START_TS
from tailrace.pipeline.view.origin import Traits
from tailrace.pipeline.view.typed import typed

# by op: insert, update, delete; TiCDC's letters
_LETTERS = pa.array(["I", "U", "D"])


@dataclass(frozen=True, slots=True)
class Frame:
    """`schema` is the Arrow form of the columns that are wanted; `zone` is that of TIMESTAMP texts."""

    schema: pa.Schema
    traits: Traits
    zone: str

    @property
    def wanted(self) -> frozenset[str]:
        """The table's columns that the frame needs."""
        before = self.schema.field(BEFORE).type if BEFORE in self.schema.names else ()
        names = {name for name in self.schema.names if name not in OWN}
        return frozenset(names | {field.name for field in before})

    def of(self, batch: ChangeBatch, snapshot: bool) -> pa.RecordBatch:
        columns = {column.name: column for column in batch.table.row_columns}
        deleted = pc.equal(batch.op, DELETE)
        if not pc.any(deleted).as_py():
            deleted = None
        arrays = [
            self._own(field, batch, columns, snapshot)
            if field.name in OWN
            else self._now(field, batch, columns.get(field.name), deleted)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _own(self, field: pa.Field, batch: ChangeBatch, columns: dict[str, Column], snapshot: bool) -> pa.Array:
        if field.name == OP:
            return _LETTERS.take(batch.op)
        if field.name == BEFORE:
            return self._before(field, batch, columns)
        if field.name == COMMIT_TS and self.traits.commit_ts:
            return batch.commit_ts
        if field.name == START_TS and self.traits.start_ts:
            return batch.start_ts
        if field.name == SNAPSHOT and self.traits.snapshot:
            return pa.array(np.full(batch.num_rows, snapshot))
        return pa.nulls(batch.num_rows, field.type)

    def _now(
        self, field: pa.Field, batch: ChangeBatch, column: Column | None, deleted: pa.BooleanArray | None
    ) -> pa.Array:
        if column is None:
            return pa.nulls(batch.num_rows, field.type)
        values = batch.after.field(column.name)
        if deleted is not None:
            values = pc.if_else(deleted, batch.before.field(column.name), values)
        return typed(values, column, field.type, self.zone)

    def _before(self, field: pa.Field, batch: ChangeBatch, columns: dict[str, Column]) -> pa.Array:
        if batch.before.null_count == batch.num_rows:
            return pa.nulls(batch.num_rows, field.type)
        absent, children = pc.is_null(batch.before), []
        for child in field.type:
            column = columns.get(child.name)
            if column is None:
                children.append(pa.nulls(batch.num_rows, child.type))
            else:
                # what lies under an absent row is nobody's value, and need not be one
                values = pc.if_else(absent, pa.scalar(None, column.type.arrow), batch.before.field(column.name))
                children.append(typed(values, column, child.type, self.zone))
        return pa.StructArray.from_arrays(children, fields=list(field.type), mask=absent)
