"""The form of a folder: what its files do not say themselves, and how a schema file becomes a step of its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tailrace.change import schema_file
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType
from tailrace.codec.base import FileDecoder
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonOptions
from tailrace.codec.csv.decode import CsvDecoder
from tailrace.codec.csv.options import CsvOptions
from tailrace.errors import DecodeError
from tailrace.testing.reader.history import Step
from tailrace.testing.reader.listing import Listing, SchemaPath


@dataclass(frozen=True, slots=True)
class TableHint:
    """What the files do not say of a table: a key other than the primary key, and which columns are virtual."""

    key: tuple[str, ...] = ()
    virtual: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FolderForm:
    """How a folder was written: as CSV, or as canal-json where its options are given. `ddl_at_checkpoint`: a DDL of
    exactly the checkpoint's ts is complete (TiCDC itself does not promise it). Hints are by `schema.table`."""

    csv: CsvOptions = field(default_factory=lambda: CsvOptions(include_commit_ts=True))
    dated: bool = True
    ddl_at_checkpoint: bool = True
    hints: Mapping[str, TableHint] = field(default_factory=dict)
    canal_json: CanalJsonOptions | None = None

    @property
    def timed(self) -> bool:
        """Whether each row has its commit ts."""
        return self.canal_json is not None or self.csv.include_commit_ts

    def decoder(self, version: Ts) -> FileDecoder:
        """What reads the files of a table version."""
        if self.canal_json is not None:
            return CanalJsonDecoder(self.canal_json)
        return CsvDecoder(self.csv, commit_ts=version)


def step_of(path: SchemaPath, found: Listing, form: FolderForm) -> Step:
    """What a schema file says. Raises DecodeError where it is not what its name says."""
    said = schema_file.parse(found.text(path.path).to_pybytes(), path.path)
    if said.version != path.version:
        raise DecodeError(
            f"the schema file is of version {said.version}, its name says {path.version}", position=path.path
        )
    said.check(path.checksum, path.path)
    name = (path.schema, path.table)
    hint = form.hints.get(".".join(name), TableHint())
    table = _readable(said.table(*name), form, hint) if path.table else None
    return Step(name, said.type, said.query, path.path, table, hint.key or (table.handle_key if table else ()))


def _readable(table: TableSchema, form: FolderForm, hint: TableHint) -> TableSchema:
    """The table as its rows are: without virtual columns; in CSV, members are text where the file does not list
    them."""
    columns = [column for column in table.columns if column.name not in hint.virtual]
    if form.canal_json is None:
        columns = [_as_text(column) for column in columns]
    return replace(table, columns=tuple(columns))


def _as_text(column: Column) -> Column:
    if column.type.name in {"enum", "set"} and not column.type.elems:
        return replace(column, type=ColumnType("varchar", charset="utf8mb4"))
    return column
