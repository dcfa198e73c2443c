"""Small folders of TiCDC's layout, written by hand for the reader's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tailrace.change import schema_file
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType

ID = Column(1, "id", ColumnType("int", 11), nullable=False, pk=True)
NAME = Column(2, "name", ColumnType("varchar", 20))


def table(name: str, columns: Sequence[Column] = (ID, NAME), schema: str = "shop") -> TableSchema:
    return TableSchema(schema, name, 1, 100, tuple(columns))


@dataclass(frozen=True, slots=True)
class Folder:
    """Rows are lists of `(letter, commit ts, cells as CSV)`."""

    path: Path

    def shape(self, shape: TableSchema, version: int, type: int = DdlType.NONE, query: str = "") -> None:
        event = DdlEvent(version, version, 0, type, query, shape.schema, shape.name) if query else None
        text, checksum = schema_file.table_file(shape.at_version(version), event)
        self.put(f"{shape.schema}/{shape.name}/meta/schema_{version}_{checksum:010d}.json", text)

    def database(self, name: str, version: int, type: int, query: str) -> None:
        text, checksum = schema_file.database_file(DdlEvent(version, version, 0, type, query, name))
        self.put(f"{name}/meta/schema_{version}_{checksum:010d}.json", text)

    def rows(self, place: str, number: int, rows: Sequence[tuple[str, int, str]]) -> None:
        """`place` is `schema/table/version[/partition][/date]`."""
        schema, name = place.split("/")[:2]
        lines = [f'"{letter}","{name}","{schema}",{ts},{cells}\r\n' for letter, ts, cells in rows]
        self.put(f"{place}/CDC{number:020d}.csv", "".join(lines))

    def checkpoint(self, ts: int) -> None:
        self.put("metadata", f'{{"checkpoint-ts":{ts}}}')

    def put(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")
