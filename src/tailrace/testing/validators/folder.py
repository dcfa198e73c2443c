"""Watching a folder of TiCDC's layout as a reader who comes again and again, while it is being written.

Each `look` reads `metadata` first, lists the folder, and hands what is new up to that checkpoint to the validators:
first the schema files, then the rows of each version, file by file. Rows beyond the checkpoint wait for a later look.
So a row, a statement or a file that appears below a checkpoint of an earlier look is found, and so is whatever a
reader would stumble over. Readers only raise their checkpoint, and so does this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import MAX_TS, Ts
from tailrace.codec.base import FileDecoder
from tailrace.errors import TailraceError
from tailrace.testing.compare import compare
from tailrace.testing.reader import FolderForm
from tailrace.testing.reader.form import step_of
from tailrace.testing.reader.listing import DataFile, Listing, by_version, listing
from tailrace.testing.validators.base import Finding, Stream, Validator, Validators
from tailrace.testing.validators.files import FilesHold
from tailrace.testing.validators.images import ImagesMatch
from tailrace.testing.validators.order import NoRowBack, OrderPerKey, ResolvedHolds
from tailrace.testing.validators.prints import Fingerprint

LISTINGS = 5


class FolderWatch:
    """`watch.look()` now and then, `watch.differences(...)` when the source can be asked; `rows` counts all changes."""

    def __init__(
        self, folder: Path, form: FolderForm | None = None, more: Sequence[Validator] = (), expires: bool = False
    ) -> None:
        self._store, self._base = pyarrow.fs.LocalFileSystem(), str(folder)
        self._form = form or FolderForm()
        self._files = FilesHold(expires)
        self._images = ImagesMatch()
        self._rules = Validators([OrderPerKey(), NoRowBack(), ResolvedHolds(), self._images, *more])
        self._shapes: dict[tuple[str, str, Ts], TableSchema] = {}
        self._read: dict[str, int] = {}
        self._whole: set[str] = set()
        self.rows = 0
        self.checkpoint: Ts = 0

    def look(self) -> list[Finding]:
        """What is wrong with what is new; a folder that is not there yet holds nothing."""
        if not Path(self._base).exists():
            return []
        try:
            indexes = self._indexes()
            found = self._listing()
            if found.checkpoint == MAX_TS:
                return []
            wrong = self._files.look(found, indexes)
            if wrong:
                # A listing that runs beside a writer may miss a file and show the next one: only what stays is wrong.
                found = replace(self._listing(), checkpoint=found.checkpoint)
                wrong = self._files.look(found, indexes)
            wrong += self._new(found, max(found.checkpoint, self.checkpoint))
        except TailraceError as error:
            return [Finding("readable", str(error.position or self._base), str(error))]
        self.checkpoint = max(self.checkpoint, found.checkpoint)
        return wrong + self._rules.resolved(self.checkpoint)

    @property
    def tables(self) -> list[str]:
        """Their full names, as of the last look."""
        return sorted(self._images.tables)

    def differences(self, table: str, source: pa.Table) -> list[Finding]:
        """What differs between a table of the last look and the source's rows at `checkpoint`."""
        found = self._images.tables.get(table)
        if found is None:
            missing = [f"the table is not there, the source has {source.num_rows} rows"] if source.num_rows else []
            return [Finding("fingerprint", table, each) for each in missing]
        if found.schema.names == source.schema.names and Fingerprint.of(found) == Fingerprint.of(source):
            return []
        answer = compare(found, source, self._images.keys[table])
        return [] if answer.equal else [Finding("fingerprint", table, f"at {self.checkpoint}: {answer}")]

    def _listing(self) -> Listing:
        """Folders of staged files come and go while the folder is listed."""
        for _ in range(LISTINGS - 1):
            with suppress(FileNotFoundError):
                return listing(self._store, self._base, self._form.dated)
        return listing(self._store, self._base, self._form.dated)

    def _indexes(self) -> dict[str, str]:
        """What each data folder's index says, before anything is listed."""
        names: dict[str, str] = {}
        for path in Path(self._base).rglob("meta/CDC*.index"):
            if not any(part.startswith(".") for part in path.relative_to(self._base).parts):
                names[str(path.parent.parent)] = path.read_text().strip()
        return names

    def _new(self, found: Listing, upto: Ts) -> list[Finding]:
        wrong: list[Finding] = []
        schemas = by_version(path for path in found.schemas if path.path not in self._whole)
        files = by_version(file for file in found.files if file.path not in self._whole)
        for version in sorted(schemas.keys() | files.keys()):
            if version > upto:
                break
            steps = [step_of(path, found, self._form) for path in schemas.get(version, [])]
            self._whole |= {step.place for step in steps}
            fresh = [step for step in steps if (*step.name, version) not in self._shapes]
            self._shapes |= {(*step.name, version): step.table for step in fresh if step.table is not None}
            wrong += self._rules.shape(fresh, version)
            for (schema, table), group in groupby(files.get(version, []), lambda file: (file.schema, file.table)):
                shape = self._shapes.get((schema, table, version))
                if shape is None:
                    wrong.append(Finding("files", f"{schema}.{table}", f"no schema file of version {version}"))
                    continue
                for partition, part in groupby(group, lambda file: file.partition):
                    wrong += self._rows(Stream(schema, table, partition), shape, list(part), found, upto)
        return wrong

    def _rows(
        self, stream: Stream, shape: TableSchema, files: list[DataFile], found: Listing, upto: Ts
    ) -> list[Finding]:
        decoder = self._form.decoder(shape.version)
        batches = [batch for file in files for batch in self._unread(file, shape, decoder, found, upto)]
        self.rows += sum(batch.num_rows for batch in batches)
        return self._rules.rows(replace(stream, place=files[0].path), batches) if batches else []

    def _unread(
        self, file: DataFile, shape: TableSchema, decoder: FileDecoder, found: Listing, upto: Ts
    ) -> Iterator[ChangeBatch]:
        """The rows of a file that no look has had, up to a ts."""
        whole, past, seen = True, 0, self._read.get(file.path, 0)
        for batch in decoder.decode(found.text(file.path), shape, file.path) if file.size else ():
            commits = np.maximum.accumulate(batch.commit_ts.to_numpy())
            end = int(np.searchsorted(commits, upto, side="right"))
            begin = min(max(seen - past, 0), end)
            if end > begin:
                yield batch.slice(begin, end - begin)
            whole = whole and end == batch.num_rows
            past += batch.num_rows
            self._read[file.path] = max(self._read.get(file.path, 0), past - batch.num_rows + end)
            if not whole:
                return
        self._whole.add(file.path)
