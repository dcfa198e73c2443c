"""A SQLite file as a target: its connection, its transactions, the marks and the rows.

Every transaction begins by taking the file's write lock and looking at the epoch, so an owner that was replaced writes
nothing. A transaction is durable when it ends (`synchronous = FULL`): progress is saved elsewhere, after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa

from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import Column, TableSchema
from tailrace.errors import Fenced, SinkAway, SinkRefused, TailraceError
from tailrace.sink.base import Problem
from tailrace.sink.mysql.coalesce import by_key, by_row
from tailrace.sink.mysql.sqlite import definitions
from tailrace.sink.mysql.sqlite.ddl import Ddl
from tailrace.sink.mysql.sqlite.definitions import Definition, Definitions, quoted
from tailrace.sink.mysql.sqlite.functions import register
from tailrace.sink.mysql.sqlite.values import rows
from tailrace.sink.mysql.target import Mark

_PROGRESS = "_tailrace_progress"
_BUSY_SECONDS = 10.0
# A column may have one of these names, and then means itself.
_ROWIDS = ("rowid", "_rowid_", "oid")
_REFUSED = ("readonly", "not a database", "unable to open", "malformed", "no such table", "constraint")


class SqliteTarget:
    """Opened when first needed, by the thread that commits."""

    def __init__(self, file: Path, subscription: str, zone: ZoneInfo) -> None:
        self._file = file
        self._subscription = subscription
        self._zone = zone
        self._opened: sqlite3.Connection | None = None
        self._definitions: Definitions | None = None
        self._ddl: Ddl | None = None

    @property
    def place(self) -> str:
        return f"SQLite file {self._file}"

    def verify(self) -> list[Problem]:
        try:
            self._connection.execute("SELECT 1")
        except TailraceError as error:
            return [Problem("sink-uri", error.message)]
        return []

    def claim(self, epoch: int) -> Mark:
        with self._typed():
            self._connection.execute("BEGIN IMMEDIATE")
            found = self._mark()
            if found.epoch > epoch:
                self._connection.execute("ROLLBACK")
                raise self._fenced(epoch, found.epoch)
            self.mark(Mark(epoch, found.cut, found.ddl_ts))
            self._connection.execute("COMMIT")
        return found

    @contextmanager
    def transaction(self, epoch: int) -> Iterator[Mark]:
        connection = self._connection
        with self._typed():
            connection.execute("BEGIN IMMEDIATE")
            try:
                found = self._mark()
                if found.epoch != epoch:
                    raise self._fenced(epoch, found.epoch)
                yield found
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._known.forget()
                raise

    def mark(self, mark: Mark) -> None:
        self._connection.execute(
            f"INSERT OR REPLACE INTO {_PROGRESS} (subscription, route, epoch, cut, ddl_ts) VALUES (?, 0, ?, ?, ?)",
            (self._subscription, mark.epoch, mark.cut, mark.ddl_ts),
        )

    def apply(self, table: TableSchema, batches: Sequence[pa.RecordBatch]) -> None:
        definition = self._statements.made(table)
        held = [column for column in table.row_columns if column.name in {each.name for each in definition.columns}]
        if len(held) != len(table.row_columns):
            lost = sorted({column.name for column in table.row_columns} - {column.name for column in held})
            raise SinkRefused(f"the target's table has no column {', '.join(lost)}", table=table.full_name)
        key = _key_of(definition, table)
        try:
            if key:
                self._apply_keyed(definition, table, batches, key)
            else:
                self._apply_counted(definition, table, batches)
        except sqlite3.IntegrityError as error:
            raise SinkRefused(f"a row does not fit the target's keys: {error}", table=table.full_name) from error

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        self._statements.run(events)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _apply_keyed(
        self, definition: Definition, table: TableSchema, batches: Sequence[pa.RecordBatch], key: Sequence[str]
    ) -> None:
        found = by_key(batches, key)
        columns = list(table.row_columns)
        keys = [column for name in key for column in columns if column.name == name]
        name = quoted(definition.table)
        where = " AND ".join(f"{quoted(each)} = ?" for each in key)
        self._connection.executemany(f"DELETE FROM {name} WHERE {where}", rows(found.deletes, keys))
        if definition.unique:
            # Rows may have exchanged a value of another unique key, so all of them leave before any comes.
            self._connection.executemany(f"DELETE FROM {name} WHERE {where}", rows(found.puts.select(key), keys))
        verb = "INSERT" if definition.unique else "INSERT OR REPLACE"
        self._connection.executemany(f"{verb} INTO {name} {_slots(columns)}", rows(found.puts, columns))

    def _apply_counted(self, definition: Definition, table: TableSchema, batches: Sequence[pa.RecordBatch]) -> None:
        found = by_row(batches, table.full_name)
        columns, name = list(table.row_columns), quoted(definition.table)
        same = " AND ".join(f"{quoted(column.name)} IS ?" for column in columns)
        taken = {column.name.lower() for column in columns}
        rowid = next(each for each in _ROWIDS if each not in taken)
        query = f"DELETE FROM {name} WHERE {rowid} IN (SELECT {rowid} FROM {name} WHERE {same} LIMIT ?)"
        gone = zip(rows(found.gone, columns), found.gone_times, strict=True)
        self._connection.executemany(query, [(*row, times) for row, times in gone])
        new = zip(rows(found.new, columns), found.new_times, strict=True)
        again = [row for row, times in new for _ in range(times)]
        self._connection.executemany(f"INSERT INTO {name} {_slots(columns)}", again)

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            with self._typed():
                self._opened = self._open()
        return self._opened

    @property
    def _known(self) -> Definitions:
        assert self._connection is not None and self._definitions is not None
        return self._definitions

    @property
    def _statements(self) -> Ddl:
        assert self._connection is not None and self._ddl is not None
        return self._ddl

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self._file, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=512
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # A view is not rewritten when a table of it is renamed, as in MySQL.
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {_PROGRESS} (subscription TEXT, route INTEGER, epoch INTEGER, cut INTEGER, "
            "ddl_ts INTEGER, PRIMARY KEY (subscription, route))"
        )
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {definitions.TABLE} (schema TEXT, name TEXT, definition TEXT, "
            "PRIMARY KEY (schema, name))"
        )
        register(connection, self._zone)
        self._definitions = Definitions(connection)
        self._ddl = Ddl(connection, self._definitions, self._zone)
        return connection

    def _mark(self) -> Mark:
        query = f"SELECT epoch, cut, ddl_ts FROM {_PROGRESS} WHERE subscription = ? AND route = 0"
        row = self._connection.execute(query, (self._subscription,)).fetchone()
        return Mark(*row) if row else Mark()

    def _fenced(self, epoch: int, newest: int) -> Fenced:
        return Fenced(f"epoch {epoch} is over, epoch {newest} owns {self.place} now", subscription=self._subscription)

    @contextmanager
    def _typed(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            said = str(error)
            if any(each in said for each in _REFUSED):
                raise SinkRefused(f"{self.place}: {said}", subscription=self._subscription) from error
            raise SinkAway(f"{self.place} is busy or full: {said}", subscription=self._subscription) from error
        except OSError as error:
            raise SinkRefused(f"{self.place} cannot be made: {error}", subscription=self._subscription) from error


def _key_of(definition: Definition, table: TableSchema) -> tuple[str, ...]:
    """The target's key, in the spelling of the rows; none where a column of it is not in them."""
    names = {column.name.lower(): column.name for column in table.row_columns}
    key = definition.key
    return tuple(names[each.lower()] for each in key) if all(each.lower() in names for each in key) else ()


def _slots(columns: Sequence[Column]) -> str:
    names = ", ".join(quoted(column.name) for column in columns)
    return f"({names}) VALUES ({', '.join('?' * len(columns))})"
