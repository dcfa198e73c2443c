"""Staged pieces: the changes of a piece as Arrow files beside the target, until their cut is committed.

A file holds changes of one table version, in commit order. Names hold epoch, cut and piece, so attempts of different
owners never meet; what no naming holds is swept away.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.tso import Ts
from tailrace.errors import SinkAway, SinkRefused
from tailrace.progress.cut import Piece, Receipt
from tailrace.sink.base import Written


@dataclass(frozen=True, slots=True)
class Staged:
    """A staged file: its path below the stage, and whose changes it holds."""

    path: str
    table_id: int
    version: Ts
    rows: int


class Stage:
    """The folder of one subscription's staged files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def writer(self, piece: Piece) -> StageWriter:
        return StageWriter(self, cut_folder(piece.epoch, piece.cut), piece.number)

    def read(self, staged: Staged) -> list[pa.RecordBatch]:
        try:
            with pa.memory_map(str(self.folder / staged.path)) as file:
                batches: list[pa.RecordBatch] = pa.ipc.open_stream(file).read_all().to_batches()
                return batches
        except (OSError, pa.ArrowInvalid) as error:
            raise SinkRefused(
                f"a staged file is gone or broken ({error}); it belongs to a cut that was begun", position=staged.path
            ) from error

    def drop(self, folder: str) -> None:
        shutil.rmtree(self.folder / folder, ignore_errors=True)

    def sweep(self, kept: Sequence[Staged]) -> None:
        """Remove every cut's files, but for those of a naming."""
        wanted = {each.path.partition("/")[0] for each in kept}
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if folder.name not in wanted:
                shutil.rmtree(folder, ignore_errors=True)


class StageWriter:
    """Writes one attempt of a piece."""

    def __init__(self, stage: Stage, folder: str, piece: int) -> None:
        self._stage = stage
        self._folder = folder
        self._name = f"{piece:06d}-{uuid.uuid4().hex[:8]}"
        self._staged: list[Staged] = []
        self._open: tuple[ChangeBatch, pa.ipc.RecordBatchStreamWriter, pa.OSFile, Path] | None = None
        self._rows = 0
        self._bytes = 0

    def write(self, batch: ChangeBatch) -> None:
        try:
            if self._open is None or self._open[0].table != batch.table:
                self._finish()
                self._begin(batch)
            assert self._open is not None
            self._open[1].write_batch(batch.data)
        except OSError as error:
            raise SinkAway(f"the stage {self._stage.folder} cannot be written: {error}") from error
        self._rows += batch.num_rows

    def close(self) -> Written:
        self._finish()
        return Written(self._total, self._bytes, json.dumps([asdict(each) for each in self._staged]))

    def discard(self) -> None:
        self._finish()
        for each in self._staged:
            (self._stage.folder / each.path).unlink(missing_ok=True)

    @property
    def _total(self) -> int:
        return sum(each.rows for each in self._staged)

    def _begin(self, batch: ChangeBatch) -> None:
        path = self._stage.folder / self._folder / f"{self._name}-{len(self._staged)}.arrow"
        path.parent.mkdir(parents=True, exist_ok=True)
        file = pa.OSFile(str(path), "wb")
        self._open = (batch, pa.ipc.new_stream(file, batch.data.schema), file, path)
        self._rows = 0

    def _finish(self) -> None:
        if self._open is None:
            return
        batch, writer, file, path = self._open
        writer.close()
        self._bytes += file.tell()
        file.close()
        self._open = None
        relative = f"{self._folder}/{path.name}"
        self._staged.append(Staged(relative, batch.table.table_id, batch.table.version, self._rows))


def cut_folder(epoch: int, cut: int) -> str:
    return f"{epoch}-{cut}"


def staged_of(receipts: Sequence[Receipt]) -> list[Staged]:
    """The files in the order of their pieces; a piece that two attempts finished counts once."""
    pieces = {receipt.piece: receipt for receipt in reversed(receipts)}
    return [each for number in sorted(pieces) for each in from_json(pieces[number].payload)]


def from_json(text: str) -> Iterator[Staged]:
    for fields in json.loads(text) if text else ():
        yield Staged(**fields)


def to_json(staged: Sequence[Staged]) -> str:
    return json.dumps([asdict(each) for each in staged], separators=(",", ":"))
