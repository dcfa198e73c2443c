"""Databases that trees are replayed into: made empty, given what was there before, and read back."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.change.statement import Statement, parse_statement
from tailrace.change.types import ColumnType
from tailrace.sink.mysql.sqlite.database import SqliteTarget
from tailrace.sink.mysql.sqlite.definitions import quoted, table_name
from tests.trees.tree import comparable


class Target(Protocol):
    uri: str
    state: Path

    def begin_anew(self) -> None:
        """Nothing is in it, and nothing is known of progress."""
        ...

    def prepare(self, statements: Sequence[str]) -> None: ...

    def tables(self) -> set[str]:
        """Names of tables and views as `table_name` makes them."""
        ...

    def rows(self, schema: str, name: str, columns: Sequence[str], types: Sequence[ColumnType]) -> Counter[Any]: ...


def open_target(uri: str, work: Path) -> Target:
    if uri.startswith("sqlite://"):
        return SqliteFile(work)
    raise SystemExit(f"--into is {uri}; it may be sqlite://")


class SqliteFile:
    def __init__(self, work: Path) -> None:
        self._file = work / "target.db"
        self.uri = f"sqlite:///{self._file}"
        self.state = Path(f"{self._file}-tailrace/progress.db")

    def begin_anew(self) -> None:
        for each in self._file.parent.glob("target.db*"):
            shutil.rmtree(each) if each.is_dir() else each.unlink()

    def prepare(self, statements: Sequence[str]) -> None:
        target = SqliteTarget(self._file, "before", ZoneInfo("UTC"))
        target.claim(0)
        schema = ""
        for text in statements:
            statement = parse_statement(text)
            if statement.kind == "use":
                schema = statement.tables[0].schema
            if statement.kind == "create table":
                table = table_of(statement, schema)
                event = DdlEvent(1, 1, 0, DdlType.CREATE_TABLE, text, table.schema, table.name, table)
                with target.transaction(0):
                    target.ddl([event])
        target.close()

    def tables(self) -> set[str]:
        with sqlite3.connect(self._file) as connection:
            query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            names = {row[0] for row in connection.execute(query)}
        return {name for name in names if not name.startswith(("_tailrace_", "sqlite_"))}

    def rows(self, schema: str, name: str, columns: Sequence[str], types: Sequence[ColumnType]) -> Counter[Any]:
        with sqlite3.connect(self._file) as connection:
            chosen = ", ".join(quoted(column) for column in columns)
            found = connection.execute(f"SELECT {chosen} FROM {quoted(table_name(schema, name))}").fetchall()
        return Counter(tuple(comparable(value, kind) for value, kind in zip(row, types, strict=True)) for row in found)


def table_of(statement: Statement, schema: str) -> TableSchema:
    """The schema of a CREATE TABLE's text."""
    [named] = statement.tables
    primary = {name for key in statement.keys if key.primary for name in key.columns}
    columns = tuple(
        Column(
            number,
            each.name,
            parse_type(each.type),
            each.nullable and each.name not in primary,
            each.name in primary,
            generated=each.generated,
        )
        for number, each in enumerate(statement.columns, 1)
    )
    return TableSchema(named.schema or schema, named.table, 1, 1, columns)
