"""Folders of TiCDC's layout for the tests of views, written with the product's own encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.change import schema_file
from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.codec.csv import CsvEncoder, CsvOptions

ID = Column(1, "id", ColumnType("bigint", 20), nullable=False, pk=True)
NAME = Column(2, "name", ColumnType("varchar", 200, charset="utf8mb4"))
TOTAL = Column(3, "total", ColumnType("decimal", 12, 2))
FORM = CsvOptions(include_commit_ts=True)
_OPS = {"I": INSERT, "U": UPDATE, "D": DELETE}

# op, commit ts, values of the row, and of the row before where it is known
Change = tuple[Any, ...]


def orders(version: int = 100, columns: Sequence[Column] = (ID, NAME)) -> TableSchema:
    return TableSchema("shop", "orders", 1, version, tuple(columns), pk_is_handle=True)


def changes(table: TableSchema, rows: Sequence[Change]) -> ChangeBatch:
    names = [column.name for column in table.row_columns]
    after: list[dict[str, Any] | None] = []
    before: list[dict[str, Any] | None] = []
    for op, _, values, *old in rows:
        image = dict(zip(names, values, strict=True))
        after.append(None if op == "D" else image)
        before.append(image if op == "D" else dict(zip(names, old[0], strict=True)) if old else None)
    stamps = pa.array([row[1] for row in rows], pa.int64())
    data = [pa.array([_OPS[row[0]] for row in rows], pa.uint8()), stamps, stamps]
    data += [pa.array(images, table.arrow_struct) for images in (after, before)]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(data, schema=batch_schema(table)))


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path
    form: CsvOptions = field(default_factory=lambda: FORM)

    def version(self, table: TableSchema, type: int = DdlType.NONE, query: str = "") -> TableSchema:
        event = DdlEvent(table.version, table.version, 0, type, query, table.schema, table.name) if query else None
        text, checksum = schema_file.table_file(table, event)
        self.put(f"{table.schema}/{table.name}/meta/schema_{table.version}_{checksum:010d}.json", text.encode())
        return table

    def rows(self, table: TableSchema, number: int, rows: Sequence[Change], level: str = "") -> Path:
        """A data file; `level` is what lies between version and file, as a date."""
        encoder = CsvEncoder(self.form)
        data = encoder.header(table) + encoder.encode(changes(table, rows)).to_pybytes()
        folder = "/".join(filter(None, (table.schema, table.name, str(table.version), level)))
        return self.put(f"{folder}/CDC{number:020d}.csv", data)

    def checkpoint(self, ts: int) -> None:
        self.put("metadata", f'{{"checkpoint-ts":{ts}}}'.encode())

    def put(self, name: str, data: bytes) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path
