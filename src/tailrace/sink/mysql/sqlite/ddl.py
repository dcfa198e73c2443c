"""DDL in SQLite: what a statement of MySQL does to the tables and rows of the target.

The statement's text says what happens; the event's schema says which columns there are afterwards. All events of one
commit ts are one statement: renames among them happen at once. What does not bear on rows (comments, plain indexes,
character sets, time to live) leaves the target as it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.statement import Key, Partitioning, PartitionStep, Statement, parse_statement
from tailrace.errors import SinkRefused
from tailrace.sink.mysql.sqlite import partitions
from tailrace.sink.mysql.sqlite.convert import default_of
from tailrace.sink.mysql.sqlite.definitions import Definition, Definitions, of_schema, quoted
from tailrace.sink.mysql.sqlite.tables import Tables
from tailrace.sink.mysql.sqlite.views import view_query

Name = tuple[str, str]


class Ddl:
    def __init__(self, connection: sqlite3.Connection, definitions: Definitions, zone: ZoneInfo) -> None:
        self._connection = connection
        self._definitions = definitions
        self._tables = Tables(connection, definitions)
        self._zone = zone

    def run(self, events: Sequence[DdlEvent]) -> None:
        said = [(event, parse_statement(event.query)) for event in events if event.query]
        self._rename([(event, statement) for event, statement in said if statement.renames])
        for event, statement in said:
            try:
                self._run(event, statement)
            except sqlite3.Error as error:
                raise SinkRefused(
                    f"the statement cannot be run in SQLite ({error}): {event.query}",
                    table=f"{event.schema_name}.{event.table_name}",
                ) from error

    def made(self, table: TableSchema) -> Definition:
        """The definition of a table that rows come for; made now, if no statement has."""
        known = self._definitions.get(table.schema, table.name)
        if known is None:
            known = of_schema(table)
            self._tables.create(known)
        return known

    def _run(self, event: DdlEvent, statement: Statement) -> None:
        schema, name = event.schema_name, event.table_name
        match statement.kind:
            case "create table" if event.table is not None:
                self._tables.create(self._created(event.table, statement))
            case "drop table" | "drop view":
                self._tables.drop(schema, name)
            case "truncate table":
                self._tables.empty(self._wanted(event))
            case "drop database":
                for known in self._definitions.of(schema):
                    self._tables.drop(schema, known.name)
            case "create view" if event.table is not None:
                self._view(event.table, statement)
            case "alter table" | "rename table" | "create index" | "drop index" if event.table is not None:
                self._alter(event, event.table, statement)

    def _created(self, table: TableSchema, statement: Statement) -> Definition:
        plain = of_schema(table)
        keys, partitioning = statement.keys or plain.keys, statement.partitioning
        if statement.like is not None:
            other = self._definitions.wanted(statement.like.schema or table.schema, statement.like.table)
            keys, partitioning = other.keys, other.partitioning
        return replace(plain, keys=_spelled(keys, plain), partitioning=partitioning)

    def _wanted(self, event: DdlEvent) -> Definition:
        """The table of an event, as it stands; made from what is known of it, if the target has none."""
        before = event.before if event.before is not None and event.before.name == event.table_name else None
        known = self._definitions.get(event.schema_name, event.table_name)
        if known is None and event.table is not None:
            return self.made(replace(before or event.table, schema=event.schema_name, name=event.table_name))
        return known or self._definitions.wanted(event.schema_name, event.table_name)

    def _alter(self, event: DdlEvent, table: TableSchema, statement: Statement) -> None:
        for step in statement.partition_steps:
            self._partition(self._wanted(event), step, event)
        old = self._wanted(event)
        partitioning: Partitioning | None = statement.partitioning or old.partitioning
        for step in statement.partition_steps:
            partitioning = partitions.after(partitioning, step)
        new = replace(old, columns=table.row_columns, partitioning=partitioning)
        new = replace(new, keys=_spelled(_keys_after(old, statement), new))
        renamed = {after: before for before, after in statement.renamed_columns}
        names = {column.name.lower() for column in old.columns}
        sources = {column.name: renamed.get(column.name, column.name) for column in new.columns}
        fills = {
            column.name: default_of(column, event.commit_ts, self._zone)
            for column in new.columns
            if sources[column.name].lower() not in names
        }
        self._tables.reshape(old, new, sources, fills)

    def _partition(self, definition: Definition, step: PartitionStep, event: DdlEvent) -> None:
        full_name = f"{definition.schema}.{definition.name}"
        if step.verb in ("drop", "truncate"):
            self._tables.empty(definition, partitions.condition(definition.partitioning, step.names, full_name))
        elif step.verb == "exchange" and step.table is not None:
            condition = partitions.condition(definition.partitioning, step.names, full_name)
            schema = step.table.schema or event.schema_name
            other = self._definitions.get(schema, step.table.table)
            if other is None:
                other = replace(definition, schema=schema, name=step.table.table, partitioning=None)
                self._tables.create(other)
            self._exchange(definition, other, condition)

    def _exchange(self, one: Definition, other: Definition, condition: str) -> None:
        columns = ", ".join(quoted(column.name) for column in one.columns)
        held, plain, parted = quoted("_tailrace_held"), quoted(other.table), quoted(one.table)
        self._connection.execute(f"CREATE TEMP TABLE {held} AS SELECT {columns} FROM {parted} WHERE {condition}")
        self._connection.execute(f"DELETE FROM {parted} WHERE {condition}")
        self._connection.execute(f"INSERT INTO {parted} ({columns}) SELECT {columns} FROM {plain}")
        self._connection.execute(f"DELETE FROM {plain}")
        self._connection.execute(f"INSERT INTO {plain} ({columns}) SELECT {columns} FROM {held}")
        self._connection.execute(f"DROP TABLE {held}")

    def _view(self, table: TableSchema, statement: Statement) -> None:
        self._tables.drop(table.schema, table.name)
        definition = replace(of_schema(table), is_view=True)
        query = view_query(statement.body, table.schema)
        self._connection.execute(f"CREATE VIEW {quoted(definition.table)} AS {query}")
        self._definitions.put(definition)

    def _rename(self, said: Sequence[tuple[DdlEvent, Statement]]) -> None:
        pairs: list[tuple[Definition, Name]] = []
        for event, statement in said:
            for old, new in self._names(event, statement):
                known = self._definitions.get(*old)
                if known is None and event.before is not None:
                    known = self.made(replace(event.before, schema=old[0], name=old[1]))
                pairs.append((known or self._definitions.wanted(*old), new))
        if pairs:
            self._tables.rename(pairs)

    def _names(self, event: DdlEvent, statement: Statement) -> list[tuple[Name, Name]]:
        """Old and new names: the event knows them better than a text that may leave the schema out."""
        if event.before is not None and len(statement.renames) == 1:
            return [((event.before.schema, event.before.name), (event.schema_name, event.table_name))]
        schema = event.schema_name
        return [
            ((old.schema or schema, old.table), (new.schema or schema, new.table)) for old, new in statement.renames
        ]


def _keys_after(old: Definition, statement: Statement) -> tuple[Key, ...]:
    gone = {name.lower() for name in statement.dropped_keys}
    names, columns = dict(statement.renamed_keys), dict(statement.renamed_columns)
    kept = [
        replace(key, name=names.get(key.name, key.name), columns=tuple(columns.get(each, each) for each in key.columns))
        for key in old.keys
        if key.name.lower() not in gone
    ]
    return (*kept, *statement.keys)


def _spelled(keys: Sequence[Key], definition: Definition) -> tuple[Key, ...]:
    """The keys with their columns as the table spells them; columns that are gone leave their keys."""
    names = {column.name.lower(): column.name for column in definition.columns}
    found = [
        replace(key, columns=tuple(names[each.lower()] for each in key.columns if each.lower() in names))
        for key in keys
    ]
    return tuple(key for key in found if key.columns)
