"""Schema files of a prefix: which are there, which a commit needs, and which version's folder its rows go to.

As with TiCDC, a table version without a schema file of its own takes the folder of the largest version that has the
same checksum, so a version that changed nothing opens no new folder; where there is none, its schema file is written
with an empty query. Every folder with data has its schema file before the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import TableSchema
from tailrace.change.schema_file import database_file, table_file
from tailrace.change.tso import Ts
from tailrace.sink.storage.paths import database_folder, table_folder
from tailrace.sink.storage.settings import Settings
from tailrace.sink.storage.staging import StagedFile
from tailrace.store.filesystem import Store

_NAME = re.compile(r"schema_(\d+)_(\d{10})\.json", re.ASCII)

_MOST_VERSIONS = 100_000

Key = tuple[str, str, Ts]


@dataclass(frozen=True, slots=True)
class Needed:
    """The version whose folder each (schema, table, version) goes to, and the schema files that are missing."""

    versions: dict[Key, Ts]
    files: tuple[tuple[str, str], ...]


class SchemaFiles:
    """`table_schema` gives a table's schema by id and version."""

    def __init__(self, store: Store, settings: Settings, table_schema: Callable[[int, Ts], TableSchema]) -> None:
        self._store = store
        self._settings = settings
        self._table_schema = table_schema
        self._known: dict[Key, Ts] = {}

    def needed(self, files: Sequence[StagedFile]) -> Needed:
        """For the staged files of a cut; what is missing counts as there only after `settled`."""
        wanted = {(file.schema, file.table, file.version): file.table_id for file in files}
        new = sorted(key for key in wanted if key not in self._known)
        folders = sorted({table_folder(schema, table) for schema, table, _ in new})
        names = self._store.each(lambda folder: self._store.names(f"{folder}/meta"), folders)
        listed = dict(zip(folders, names, strict=True))
        versions = {key: self._known[key] for key in wanted if key in self._known}
        missing: list[tuple[str, str]] = []
        for schema, table, version in new:
            text, checksum = self._of_table(self._table_schema(wanted[schema, table, version], version), None)
            beside = listed[table_folder(schema, table)]
            found = effective_version(beside, version, checksum)
            if found is None:
                path = schema_path(schema, table, version, checksum)
                missing.append((path, text))
                beside.append(path.rpartition("/")[2])
            versions[schema, table, version] = version if found is None else found
        return Needed(versions, tuple(missing))

    def settled(self, needed: Needed) -> None:
        if len(self._known) > _MOST_VERSIONS:
            self._known.clear()
        self._known.update(needed.versions)

    def forget(self) -> None:
        self._known.clear()

    def of_event(self, event: DdlEvent) -> Iterator[tuple[str, bytes]]:
        """Paths and contents of the files of a DDL event."""
        if not event.table_name and event.table is None:
            text, checksum = database_file(event)
            yield schema_path(event.schema_name, "", event.commit_ts, checksum), text.encode()
            return
        table = event.table or TableSchema(event.schema_name, event.table_name, 0, event.commit_ts, ())
        text, checksum = self._of_table(table, event)
        yield schema_path(table.schema, table.name, event.commit_ts, checksum), text.encode()
        if event.type == DdlType.EXCHANGE_PARTITION and event.before is not None:
            # The plain table's file has no query: one statement must not be run twice.
            plain = event.before.at_version(event.commit_ts)
            text, checksum = self._of_table(plain, None)
            yield schema_path(plain.schema, plain.name, event.commit_ts, checksum), text.encode()

    def _of_table(self, table: TableSchema, event: DdlEvent | None) -> tuple[str, int]:
        return table_file(table, event, self._settings.schema_dialect, self._settings.output_column_id)


def schema_path(schema: str, table: str, version: Ts, checksum: int) -> str:
    """An empty table is the database itself."""
    folder = table_folder(schema, table) if table else database_folder(schema)
    return f"{folder}/meta/schema_{version}_{checksum:010d}.json"


def effective_version(names: Sequence[str], version: Ts, checksum: int) -> Ts | None:
    """The version whose folder is used, given the names in a table's `meta` folder; None: write a schema file."""
    found = [match for name in names if (match := _NAME.fullmatch(name)) is not None]
    same = {int(match[1]) for match in found if int(match[2]) == checksum}
    return version if version in same else max(same, default=None)
