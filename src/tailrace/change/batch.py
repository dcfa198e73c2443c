"""Change batches: what flows, from the moment that bytes are read until the moment that bytes are written.

A `ChangeBatch` is a pair of a `TableSchema` and a `RecordBatch` with `op`, `commit_ts`, `start_ts`, `after` and
`before`. It guarantees that all rows are of that one schema version and in commit order, and that an absent image
is a null struct: an insert has no `before`, a delete no `after`. Nobody may loop over its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import SchemaMismatch

INSERT, UPDATE, DELETE = 0, 1, 2


def batch_schema(table: TableSchema) -> pa.Schema:
    """The Arrow schema of a table's change batches."""
    image = table.arrow_struct
    return pa.schema(
        [
            pa.field("op", pa.uint8()),
            pa.field("commit_ts", pa.int64()),
            pa.field("start_ts", pa.int64()),
            pa.field("after", image),
            pa.field("before", image),
        ]
    )


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    table: TableSchema
    data: pa.RecordBatch

    def __post_init__(self) -> None:
        want = batch_schema(self.table)
        if not self.data.schema.equals(want):
            raise SchemaMismatch(
                f"a change batch has the columns {_differences(self.data.schema, want)}",
                table=self.table.full_name,
                position=f"schema version {self.table.version}",
            )

    @property
    def num_rows(self) -> int:
        return int(self.data.num_rows)

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes)

    @property
    def op(self) -> pa.UInt8Array:
        return self.data.column(0)

    @property
    def commit_ts(self) -> pa.Int64Array:
        return self.data.column(1)

    @property
    def start_ts(self) -> pa.Int64Array:
        return self.data.column(2)

    @property
    def after(self) -> pa.StructArray:
        return self.data.column(3)

    @property
    def before(self) -> pa.StructArray:
        return self.data.column(4)

    def slice(self, offset: int, length: int | None = None) -> ChangeBatch:
        return ChangeBatch(self.table, self.data.slice(offset, length))

    def take(self, indices: pa.Array) -> ChangeBatch:
        return ChangeBatch(self.table, self.data.take(indices))


def inserts(table: TableSchema, after: pa.StructArray, commit_ts: Ts, start_ts: Ts = 0) -> ChangeBatch:
    """A batch of inserts of one commit ts, as a snapshot page is."""
    rows = len(after)
    columns = [
        pa.array(np.zeros(rows, np.uint8)),
        pa.array(np.full(rows, commit_ts, np.int64)),
        pa.array(np.full(rows, start_ts or commit_ts, np.int64)),
        after,
        pa.nulls(rows, table.arrow_struct),
    ]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


def _differences(got: pa.Schema, want: pa.Schema) -> str:
    wrong = [
        f"{field.name}: {got.field(field.name).type if field.name in got.names else 'missing'}, not {field.type}"
        for field in want
        if field.name not in got.names or got.field(field.name).type != field.type
    ]
    return "; ".join(wrong) or f"{got.names}, not {want.names}"
