"""Tables of the target: made, emptied, dropped, renamed, and given another shape, with their definitions."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tailrace.change.schema import Column
from tailrace.errors import SinkRefused
from tailrace.sink.mysql.sqlite.convert import converter
from tailrace.sink.mysql.sqlite.definitions import Definition, Definitions, quoted, table_name
from tailrace.sink.mysql.sqlite.values import declared, form

_NEW = "_tailrace_new"
_CONVERT = "_tailrace_convert"


class Tables:
    """Works through the target's connection, within its transactions."""

    def __init__(self, connection: sqlite3.Connection, definitions: Definitions) -> None:
        self._connection = connection
        self._definitions = definitions

    def create(self, definition: Definition) -> None:
        """Raises SinkRefused where the target has a table of this name that holds rows."""
        if self.exists(definition.table):
            if self._connection.execute(f"SELECT 1 FROM {quoted(definition.table)} LIMIT 1").fetchone():
                raise SinkRefused(
                    "the target has this table already, with rows in it; use an empty target, or leave the table out",
                    table=f"{definition.schema}.{definition.name}",
                )
            self._connection.execute(f"DROP TABLE {quoted(definition.table)}")
        self._make(definition.table, definition)
        self._make_keys(definition)
        self._definitions.put(definition)

    def exists(self, name: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
        return found.fetchone() is not None

    def drop(self, schema: str, name: str) -> None:
        known = self._definitions.get(schema, name)
        what = "VIEW" if known is not None and known.is_view else "TABLE"
        self._connection.execute(f"DROP {what} IF EXISTS {quoted(table_name(schema, name))}")
        self._definitions.remove(schema, name)

    def empty(self, definition: Definition, condition: str = "1") -> None:
        self._connection.execute(f"DELETE FROM {quoted(definition.table)} WHERE {condition}")

    def rename(self, pairs: Sequence[tuple[Definition, tuple[str, str]]]) -> None:
        """All at once: a table may take the name that another one leaves."""
        for number, (old, _) in enumerate(pairs):
            self._connection.execute(f"ALTER TABLE {quoted(old.table)} RENAME TO {quoted(f'{_NEW}_{number}')}")
            self._definitions.remove(old.schema, old.name)
        for number, (old, (schema, name)) in enumerate(pairs):
            self._connection.execute(
                f"ALTER TABLE {quoted(f'{_NEW}_{number}')} RENAME TO {quoted(table_name(schema, name))}"
            )
            self._definitions.put(replace(old, schema=schema, name=name))

    def reshape(
        self, old: Definition, new: Definition, sources: Mapping[str, str], fills: Mapping[str, object]
    ) -> None:
        """Give a table other columns. `sources` says which old column each new one comes from, `fills` the value of
        those that come from none."""
        if _shape(old) == _shape(new):
            if old.keys != new.keys:
                self._drop_keys(old)
                self._make_keys(new)
            self._definitions.put(new)
            return
        self._make(_NEW, new)
        kinds = {column.name.lower(): column for column in old.columns}
        values, given = [], []
        for number, column in enumerate(new.columns):
            source = kinds.get(sources.get(column.name, "").lower())
            if source is None:
                values.append("?")
                given.append(fills[column.name])
            elif form(source.type) == form(column.type):
                values.append(quoted(source.name))
            else:
                self._connection.create_function(f"{_CONVERT}_{number}", 1, converter(column.type, source.type))
                values.append(f"{_CONVERT}_{number}({quoted(source.name)})")
        self._connection.execute(
            f"INSERT INTO {quoted(_NEW)} SELECT {', '.join(values)} FROM {quoted(old.table)}", given
        )
        self._connection.execute(f"DROP TABLE {quoted(old.table)}")
        self._connection.execute(f"ALTER TABLE {quoted(_NEW)} RENAME TO {quoted(new.table)}")
        self._make_keys(new)
        self._definitions.put(new)

    def _make(self, name: str, definition: Definition) -> None:
        primary = next((key.columns for key in definition.keys if key.primary), ())
        columns = [_column(column) for column in definition.columns]
        if primary:
            columns.append(f"PRIMARY KEY ({', '.join(quoted(each) for each in primary)})")
        self._connection.execute(f"CREATE TABLE {quoted(name)} ({', '.join(columns)})")

    def _make_keys(self, definition: Definition) -> None:
        for key in definition.unique:
            columns = ", ".join(quoted(each) for each in key.columns)
            name = self._free(f"{definition.table}.{key.name}")
            self._connection.execute(f"CREATE UNIQUE INDEX {quoted(name)} ON {quoted(definition.table)} ({columns})")

    def _drop_keys(self, definition: Definition) -> None:
        query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
        for (name,) in self._connection.execute(query, (definition.table,)).fetchall():
            self._connection.execute(f"DROP INDEX {quoted(name)}")

    def _free(self, name: str) -> str:
        """Names of indexes are the whole database's: a renamed table keeps those that it was made with."""
        taken = {row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
        number, found = 1, name
        while found in taken:
            number, found = number + 1, f"{name}.{number}"
        return found


def _shape(definition: Definition) -> tuple[object, ...]:
    """What of a definition is in SQLite's CREATE TABLE."""
    primary = next((key.columns for key in definition.keys if key.primary), ())
    return (primary, *((column.name, form(column.type)) for column in definition.columns))


def _column(column: Column) -> str:
    return f"{quoted(column.name)} {declared(column.type)}".rstrip()
