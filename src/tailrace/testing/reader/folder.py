"""Reading a whole folder: what every table holds at its checkpoint.

Versions are followed in order, first their schema files, then their rows, file by file. A row whose commit ts is
below one that was read before from the same table and partition is dropped and reported, as TiCDC's consumer drops
it; rows and schema files beyond the checkpoint count for nothing. This is not the product's way of reading: it shares
with it only the text of a cell and of a schema file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.base import FileDecoder
from tailrace.errors import DecodeError
from tailrace.testing.reader.form import FolderForm, step_of
from tailrace.testing.reader.history import Name, Names, Step
from tailrace.testing.reader.listing import DataFile, Listing, SchemaPath, by_version, gaps, listing


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
        schemas = by_version(self._found.schemas)
        files = by_version(self._found.files)
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
        step = step_of(path, self._found, self._form)
        known = self._shapes.setdefault((step.name, path.version), step)
        late = step.query and path.version == self._found.checkpoint and not self._form.ddl_at_checkpoint
        if known is step and not late:
            yield step

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
