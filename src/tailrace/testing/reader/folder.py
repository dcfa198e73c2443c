"""Reading a whole folder: what every table holds at its checkpoint.

Versions are followed in order, first their schema files, then their rows, file by file. A row whose commit ts is
below one that was read before from the same table and partition is dropped and reported, as TiCDC's consumer drops
it; rows and schema files beyond the checkpoint count for nothing. This is not the product's way of reading: it shares
with it only the text of a cell and of a schema file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.fs

from tailrace.change import schema_file
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType
from tailrace.codec.base import FileDecoder
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonOptions
from tailrace.codec.csv.decode import CsvDecoder
from tailrace.codec.csv.options import CsvOptions
from tailrace.errors import DecodeError
from tailrace.testing.reader.history import Name, Names, Step
from tailrace.testing.reader.listing import DataFile, Listing, SchemaPath, gaps, listing


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


@dataclass(frozen=True, slots=True)
class Fallback:
    """Rows of a file that went back in time and were dropped."""

    path: str
    rows: int
    first_ts: Ts
    seen_ts: Ts


@dataclass(frozen=True, slots=True)
class Contents:
    """Tables by `schema.table`, their keys, how many changes counted, and what a writer of ours should never cause:
    rows that go back in time, and gaps in the numbers of files."""

    checkpoint: Ts
    changes: int
    tables: Mapping[str, pa.Table]
    keys: Mapping[str, tuple[str, ...]]
    fallbacks: tuple[Fallback, ...]
    gaps: tuple[str, ...]


def read_local(folder: Path, form: FolderForm | None = None) -> Contents:
    return read(pyarrow.fs.LocalFileSystem(), str(folder), form)


def read(store: pyarrow.fs.FileSystem, base: str, form: FolderForm | None = None) -> Contents:
    """What the tables below `base` hold at the checkpoint. Raises DecodeError with the file that is wrong."""
    form = form or FolderForm()
    return _Reading(form, listing(store, base, form.dated)).contents()


_Path = TypeVar("_Path", SchemaPath, DataFile)


class _Reading:
    def __init__(self, form: FolderForm, found: Listing) -> None:
        self._form = form
        self._found = found
        self._names = Names()
        self._shapes: dict[tuple[Name, Ts], Step] = {}
        self._high: dict[tuple[Name, int], Ts] = {}
        self._fallbacks: list[Fallback] = []
        self._changes = 0

    def contents(self) -> Contents:
        schemas = _by_version(self._found.schemas)
        files = _by_version(self._found.files)
        for version in sorted(schemas.keys() | files.keys()):
            if version > self._found.checkpoint:
                break
            self._names.follow([step for path in schemas.get(version, []) for step in self._step(path)])
            for name, group in groupby(files.get(version, []), lambda file: (file.schema, file.table)):
                self._rows(name, version, list(group))
        states = {f"{schema}.{table}": state for (schema, table), state in sorted(self._names.states.items())}
        return Contents(
            checkpoint=self._found.checkpoint,
            changes=self._changes,
            tables={name: state.contents() for name, state in states.items()},
            keys={name: state.key for name, state in states.items()},
            fallbacks=tuple(self._fallbacks),
            gaps=tuple(gaps(self._found.files)),
        )

    def _step(self, path: SchemaPath) -> Iterator[Step]:
        said = schema_file.parse(self._found.text(path.path).to_pybytes(), path.path)
        if said.version != path.version:
            raise DecodeError(
                f"the schema file is of version {said.version}, its name says {path.version}", position=path.path
            )
        said.check(path.checksum, path.path)
        name = (path.schema, path.table)
        table = self._readable(said.table(*name)) if path.table else None
        hint = self._form.hints.get(".".join(name), TableHint())
        step = Step(name, said.type, said.query, path.path, table, hint.key or (table.handle_key if table else ()))
        known = self._shapes.setdefault((name, path.version), step)
        late = said.query and path.version == self._found.checkpoint and not self._form.ddl_at_checkpoint
        if known is step and not late:
            yield step

    def _readable(self, table: TableSchema) -> TableSchema:
        """The table as its rows are: without virtual columns; in CSV, members are text where the file does not list
        them."""
        virtual = self._form.hints.get(table.full_name, TableHint()).virtual
        columns = [column for column in table.columns if column.name not in virtual]
        if self._form.canal_json is None:
            columns = [_as_text(column) for column in columns]
        return replace(table, columns=tuple(columns))

    def _rows(self, name: Name, version: Ts, files: list[DataFile]) -> None:
        step = self._shapes.get((name, version))
        if step is None or step.table is None:
            raise DecodeError(
                f"there is no schema file of version {version}", table=".".join(name), position=files[0].path
            )
        decoder = self._form.decoder(version)
        batches = [batch for file in files for batch in self._batches(name, step.table, file, decoder)]
        if batches:
            self._names.states[name] = self._names.states[name].apply(batches, self._form.timed)

    def _batches(self, name: Name, table: TableSchema, file: DataFile, decoder: FileDecoder) -> Iterator[ChangeBatch]:
        """The rows of a file that count: not back in time, not beyond the checkpoint."""
        if not file.size:
            return
        stream = (name, file.partition)
        for batch in decoder.decode(self._found.text(file.path), table, file.path):
            commits = batch.commit_ts.to_numpy()
            seen = self._high.get(stream, 0)
            begin = int(np.searchsorted(commits, seen, side="left"))
            if begin:
                self._fallbacks.append(Fallback(file.path, begin, int(commits[0]), seen))
            end = int(np.searchsorted(commits, self._found.checkpoint, side="right"))
            if end > begin:
                self._high[stream] = int(commits[end - 1])
                self._changes += end - begin
                yield batch.slice(begin, end - begin)


def _as_text(column: Column) -> Column:
    if column.type.name in {"enum", "set"} and not column.type.elems:
        return replace(column, type=ColumnType("varchar", charset="utf8mb4"))
    return column


def _by_version(paths: tuple[_Path, ...]) -> dict[Ts, list[_Path]]:
    return {version: list(group) for version, group in groupby(paths, lambda path: path.version)}
