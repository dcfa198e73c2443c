"""The one table shape that the suites use, and its rows: a whole number as key, and a note."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType

SCHEMA = "conformance"

# What a transaction does: the note of each key afterwards, None for a key that is gone.
Notes = Mapping[int, str | None]
# One change as the suites compare it: commit ts, key, note or None.
Change = tuple[Ts, int, str | None]

_ID = Column(1, "id", ColumnType("bigint", 20), nullable=False, pk=True)
_NOTE = Column(2, "note", ColumnType("varchar", 64, charset="utf8mb4", collation="utf8mb4_bin"))
_PRIMARY = Index(1, "PRIMARY", ("id",), unique=True, primary=True)


def items_table(name: str, table_id: int, version: Ts = 0, extra: Sequence[str] = ()) -> TableSchema:
    """`CREATE TABLE <name> (id BIGINT PRIMARY KEY, note VARCHAR(64), <extra> BIGINT ...)`."""
    added = [Column(3 + at, column, ColumnType("bigint", 20)) for at, column in enumerate(extra)]
    return TableSchema(SCHEMA, name, table_id, version, (_ID, _NOTE, *added), (_PRIMARY,), pk_is_handle=True)


def changes_of(batches: Sequence[ChangeBatch]) -> list[Change]:
    """The changes of batches in their order."""
    found: list[Change] = []
    for batch in batches:
        images = zip(batch.op.to_pylist(), batch.after.to_pylist(), batch.before.to_pylist(), strict=True)
        for ts, (op, after, before) in zip(batch.commit_ts.to_pylist(), images, strict=True):
            found.append((ts, before["id"], None) if op == DELETE else (ts, after["id"], after["note"]))
    return found


def batch_of(table: TableSchema, changes: Sequence[Change], before: Notes | None = None) -> ChangeBatch:
    """Changes as a batch; `before` is what the table held, and decides what is an insert and what an update."""
    held = dict(before or {})
    rows: list[tuple[int, Ts, object, object]] = []
    for ts, number, note in changes:
        old = _row(table, number, held.pop(number)) if number in held else None
        new = None if note is None else _row(table, number, note)
        rows.append((DELETE if new is None else UPDATE if old else INSERT, ts, new, old))
        if note is not None:
            held[number] = note
    image = table.arrow_struct
    columns = [
        pa.array([row[0] for row in rows], pa.uint8()),
        pa.array([row[1] for row in rows], pa.int64()),
        pa.array([row[1] - 1 for row in rows], pa.int64()),
        pa.array([row[2] for row in rows], image),
        pa.array([row[3] for row in rows], image),
    ]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


def state_after(changes: Sequence[Change], start: Notes | None = None) -> dict[int, str | None]:
    """What a table holds after changes in their order."""
    held = dict(start or {})
    for _, number, note in changes:
        held.pop(number, None)
        if note is not None:
            held[number] = note
    return held


def _row(table: TableSchema, number: int, note: str | None) -> dict[str, object]:
    return {column.name: number for column in table.row_columns} | {"note": note}
