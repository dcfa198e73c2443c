"""Schema files as the storage upstream reads them, and what a table's queries add to what they say.

A schema file says neither which columns are virtual nor, in TiCDC's classic dialect, which members an ENUM has, nor
which unique keys there are. The queries of its table say it, so they are remembered from version to version
(`Remembered`). What nobody said is not guessed: an ENUM of unknown members is carried as its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tailrace.change import schema_file
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.schema_file import SchemaFile
from tailrace.change.statement import ColumnText, Key, Statement, parse_statement
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType
from tailrace.errors import DecodeError
from tailrace.upstream.storage.paths import Folder, SchemaPath

_MEMBERS = ("enum", "set")


@dataclass(frozen=True, slots=True)
class SchemaEntry:
    """A schema file with its place. `schema` and `table` are the table's name, `statement` what its query says."""

    folder: Folder
    schema: str
    table: str
    version: Ts
    path: str
    file: SchemaFile
    statement: Statement | None
    member_texts: bool = True

    @property
    def query(self) -> str:
        return self.file.query

    @property
    def type(self) -> int:
        return self.file.type


def entry_of(path: SchemaPath, data: bytes, member_texts: bool = True) -> SchemaEntry:
    """`member_texts`: rows hold the names of members of ENUM and SET. Raises DecodeError, naming the file, for what is
    broken in it or does not agree with its path."""
    said = schema_file.parse(data, path.path)
    if said.version != path.version:
        where = "its name" if path.checksum is not None else "its folder"
        raise DecodeError(
            f"the schema file is of version {said.version}, {where} says {path.version}", position=path.path
        )
    if path.checksum is not None:
        said.check(path.checksum, path.path)
    schema, table, folder = path.folder.schema, path.folder.table, path.folder
    if not table and said.name:
        # A folder that is a table id: what the path does not say is in the file.
        schema, table, folder = said.schema, said.name, Folder("", path.folder.schema)
    try:
        statement = parse_statement(said.query) if said.query else None
    except DecodeError as error:
        raise error.at(position=path.path) from None
    return SchemaEntry(folder, schema, table, path.version, path.path, said, statement, member_texts)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the queries of a table have said so far."""

    columns: Mapping[str, ColumnText] = field(default_factory=dict)
    keys: tuple[Key, ...] = ()

    def after(self, statement: Statement) -> Remembered:
        renamed = dict(statement.renamed_columns)
        columns = {renamed.get(name, name): said for name, said in self.columns.items()}
        columns |= {said.name: said for said in statement.columns}
        names = dict(statement.renamed_keys)
        gone = {name.lower() for name in statement.dropped_keys}
        keys = [replace(key, name=names.get(key.name, key.name)) for key in self.keys if key.name.lower() not in gone]
        keys = [replace(key, columns=tuple(renamed.get(name, name) for name in key.columns)) for key in keys]
        return Remembered(columns, (*keys, *(key for key in statement.keys if key.columns)))

    def table(self, entry: SchemaEntry, table_id: int) -> TableSchema:
        """The table of a schema file, with what was remembered of its columns."""
        plain = entry.file.table(entry.schema, entry.table, table_id)
        columns = tuple(self._column(column, entry.member_texts) for column in plain.columns)
        known = {column.name for column in columns}
        keys = [key for key in self.keys if key.unique and not key.primary and known.issuperset(key.columns)]
        indexes = tuple(Index(number, key.name, key.columns, unique=True) for number, key in enumerate(keys, 2))
        return replace(plain, columns=columns, indexes=indexes)

    def _column(self, column: Column, member_texts: bool) -> Column:
        said = self.columns.get(column.name)
        kind = column.type
        if kind.name in _MEMBERS and not kind.elems:
            members = parse_type(said.type).elems if said and said.type.lower().startswith(_MEMBERS) else ()
            unknown = ColumnType("varchar", charset="utf8mb4") if member_texts else kind
            kind = replace(kind, elems=members) if members else unknown
        return replace(column, type=kind, generated=said.generated if said else column.generated)
