"""Definitions: what is known of each table in the target: columns, keys, partitions.

SQLite's own catalog does not know MySQL's types, nor partitions at all; a DROP PARTITION has to know which rows those
are. So each table's definition stands in a table of ours and changes in the same transaction as the table itself.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass, replace

from tailrace.change.parse import parse_type, type_text
from tailrace.change.schema import Column, TableSchema
from tailrace.change.statement import Key, Part, Partitioning
from tailrace.errors import SinkRefused

TABLE = "_tailrace_definition"

Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Definition:
    """A table as it stands in the target. `columns` are without virtual ones, which the target does not hold."""

    schema: str
    name: str
    columns: tuple[Column, ...]
    keys: tuple[Key, ...] = ()
    partitioning: Partitioning | None = None
    is_view: bool = False

    @property
    def table(self) -> str:
        return table_name(self.schema, self.name)

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies a row: the primary key, else the smallest unique key over NOT NULL columns."""
        primary = next((key.columns for key in self.keys if key.primary), ())
        if primary:
            return primary
        solid = {column.name.lower() for column in self.columns if not column.nullable}
        fits = [key for key in self.unique if solid.issuperset(each.lower() for each in key.columns)]
        return min(fits, key=lambda key: len(key.columns)).columns if fits else ()

    @property
    def unique(self) -> list[Key]:
        """The unique keys that are not the primary one, over columns that the target holds."""
        known = {column.name.lower() for column in self.columns}
        keys = [key for key in self.keys if key.unique and not key.primary and key.columns]
        return [key for key in keys if known.issuperset(each.lower() for each in key.columns)]


def table_name(schema: str, table: str) -> str:
    """SQLite has no schemas: the name holds both, and the first dot parts them."""
    return f"{schema.replace('%', '%25').replace('.', '%2E')}.{table}"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def of_schema(table: TableSchema) -> Definition:
    """What a table's schema says by itself."""
    keys = [Key(index.name, index.columns, index.unique, index.primary) for index in table.indexes]
    primary = tuple(column.name for column in table.columns if column.pk)
    if primary and not any(key.primary for key in keys):
        keys.append(Key("PRIMARY", primary, True, True))
    return Definition(table.schema, table.name, table.row_columns, tuple(keys))


class Definitions:
    """Read and written through the target's connection, within its transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[Name, Definition | None] = {}

    def get(self, schema: str, name: str) -> Definition | None:
        if (schema, name) not in self._known:
            query = f"SELECT definition FROM {TABLE} WHERE schema = ? AND name = ?"
            row = self._connection.execute(query, (schema, name)).fetchone()
            self._known[schema, name] = _read(row[0]) if row else None
        return self._known[schema, name]

    def wanted(self, schema: str, name: str) -> Definition:
        found = self.get(schema, name)
        if found is None:
            raise SinkRefused("the target has no such table", table=f"{schema}.{name}")
        return found

    def of(self, schema: str) -> list[Definition]:
        query = f"SELECT definition FROM {TABLE} WHERE schema = ? ORDER BY name"
        return [_read(row[0]) for row in self._connection.execute(query, (schema,)).fetchall()]

    def put(self, definition: Definition) -> None:
        query = f"INSERT OR REPLACE INTO {TABLE} (schema, name, definition) VALUES (?, ?, ?)"
        self._connection.execute(query, (definition.schema, definition.name, _written(definition)))
        self._known[definition.schema, definition.name] = definition

    def remove(self, schema: str, name: str) -> None:
        self._connection.execute(f"DELETE FROM {TABLE} WHERE schema = ? AND name = ?", (schema, name))
        self._known[schema, name] = None

    def forget(self) -> None:
        """After a transaction that was rolled back."""
        self._known.clear()


def _written(definition: Definition) -> str:
    columns = [
        {"name": each.name, "type": _type_text(each), "nullable": each.nullable, "pk": each.pk}
        for each in definition.columns
    ]
    fields = asdict(replace(definition, columns=()))
    return json.dumps(fields | {"columns": columns}, ensure_ascii=False)


def _type_text(column: Column) -> str:
    kind = column.type
    if kind.name == "unspecified":
        return "longtext"
    if kind.name in ("enum", "set") and not kind.elems:
        return "smallint unsigned" if kind.name == "enum" else "bigint unsigned"
    return type_text(kind)


def _read(text: str) -> Definition:
    said = json.loads(text)
    columns = tuple(
        Column(number, each["name"], parse_type(each["type"]), each["nullable"], each["pk"])
        for number, each in enumerate(said["columns"], 1)
    )
    keys = tuple(Key(each["name"], tuple(each["columns"]), each["unique"], each["primary"]) for each in said["keys"])
    parts = said["partitioning"]
    partitioning = Partitioning(**parts | {"parts": tuple(Part(**each) for each in parts["parts"])}) if parts else None
    return Definition(said["schema"], said["name"], columns, keys, partitioning, said["is_view"])
