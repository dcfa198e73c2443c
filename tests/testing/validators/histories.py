"""Small histories for the validators' tests: one table of numbers and notes, written as text."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.ddl import DdlType
from tailrace.change.schema import TableSchema
from tailrace.testing.conformance.items import SCHEMA, items_table
from tailrace.testing.reader.history import Step
from tailrace.testing.validators import Finding, Stream, Validator

TABLE = items_table("t", 7, 1)
STREAM = Stream(SCHEMA, "t")
# commit ts, letter, key, new note, old note; a `u` is an update whose old values nobody knows.
Row = tuple[int, str, int, str | None, str | None]


def changes(*rows: Row, table: TableSchema = TABLE) -> ChangeBatch:
    kinds = {"I": INSERT, "U": UPDATE, "u": UPDATE, "D": DELETE}
    after = [None if letter == "D" else _row(table, key, new) for _, letter, key, new, _ in rows]
    before = [None if letter in "Iu" else _row(table, key, old) for _, letter, key, _, old in rows]
    columns = [
        pa.array([kinds[letter] for _, letter, *_ in rows], pa.uint8()),
        pa.array([ts for ts, *_ in rows], pa.int64()),
        pa.array([ts - 1 for ts, *_ in rows], pa.int64()),
        pa.array(after, table.arrow_struct),
        pa.array(before, table.arrow_struct),
    ]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


def insert(ts: int, key: int, note: str = "a") -> Row:
    return (ts, "I", key, note, None)


def update(ts: int, key: int, old: str, new: str) -> Row:
    return (ts, "U", key, new, old)


def delete(ts: int, key: int, old: str) -> Row:
    return (ts, "D", key, None, old)


def step(type: DdlType, table: TableSchema = TABLE, query: str = "") -> Step:
    return Step((table.schema, table.name), type, query, f"{table.name} at {table.version}", table, table.handle_key)


def fed(validator: Validator, *batches: Sequence[Row]) -> list[Finding]:
    """What a validator finds in rows of the table that come batch by batch."""
    return [finding for rows in batches for finding in validator.rows(STREAM, [changes(*rows)])]


def _row(table: TableSchema, key: int, note: str | None) -> dict[str, object]:
    return {column.name: None for column in table.row_columns} | {"id": key, "note": note}
