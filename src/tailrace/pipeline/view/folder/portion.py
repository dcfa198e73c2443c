"""Portions of a folder: parts of files, one after the other, and how a task reads them.

A part is cut at any byte; a row belongs to the part that it begins in. Rows outside of the span are dropped, and so
are rows below `floor`: an earlier file of the same stream reached further, so they were written again after a
restart of TiCDC, and its consumer drops them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.pipeline.view.folder.form import RowForm
from tailrace.pipeline.view.folder.index import Index
from tailrace.pipeline.view.folder.listing import DataFile
from tailrace.pipeline.view.folder.place import place_of


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of `file` that begin from `begin` on and before `end`, of one version of the table."""

    file: DataFile
    table: TableSchema
    begin: int
    end: int
    floor: Ts


@dataclass(frozen=True, slots=True)
class FilePortion:
    """`uri` and `toml` are how a worker opens the place again."""

    uri: str
    toml: str
    form: RowForm
    after: Ts
    upto: Ts
    parts: tuple[Part, ...]

    def __repr__(self) -> str:
        return f"FilePortion({', '.join(f'{part.file.path}[{part.begin}:{part.end}]' for part in self.parts)})"

    @property
    def tables(self) -> tuple[TableSchema, ...]:
        return tuple(dict.fromkeys(part.table for part in self.parts))

    @property
    def snapshot(self) -> bool:
        return False

    def read(self, wanted: frozenset[str]) -> Iterator[ChangeBatch]:
        for part in self.parts:
            yield from self._rows(part, wanted)

    def _rows(self, part: Part, wanted: frozenset[str]) -> Iterator[ChangeBatch]:
        place, table = place_of(self.uri, self.toml), part.table
        index = Index(place, self.form.heads(table.schema, table.name))
        begin, end = index.row_at(part.file, part.begin), index.row_at(part.file, part.end)
        if begin >= end:
            return
        lowest = max(self.after + 1, part.floor)
        for batch in self.form.decoder(table.version, wanted, not begin).decode(
            place.part(part.file.path, begin, end), table, f"{part.file.path} from byte {begin}"
        ):
            if not self.form.timed:
                yield batch
                continue
            commits = batch.commit_ts.to_numpy()
            first, last = np.searchsorted(commits, lowest, "left"), np.searchsorted(commits, self.upto, "right")
            if last > first:
                yield batch.slice(int(first), int(last - first))
