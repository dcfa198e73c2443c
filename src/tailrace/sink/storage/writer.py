"""The writer of a piece: batches in, staged files out.

A file holds rows of one table version and one date. It ends where either changes, or at `file-size`; with
`transaction-atomicity = "table"` it does not end inside a transaction. Nothing that it writes has a name of the
layout, and it never writes an empty file. One `encode` and one write per batch, unless a file ends inside it.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import xxhash

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.base import FileEncoder
from tailrace.errors import TailraceError
from tailrace.observe.failpoints import reach
from tailrace.progress.cut import Piece
from tailrace.sink.base import Written
from tailrace.sink.storage.paths import Layout, table_folder
from tailrace.sink.storage.staging import StagedFile, staged_path, to_payload
from tailrace.store.filesystem import StagedOutput, Store


@dataclass(slots=True)
class _OpenFile:
    """The file that is being written. `last` is the transaction of its last row; `full`: it ends as soon as it may."""

    output: StagedOutput
    path: str
    table: TableSchema
    date: str
    date_ends: Ts | None
    first_ts: Ts
    digest: xxhash.xxh3_128
    last: tuple[Ts, Ts] = (0, 0)
    rows: int = 0
    bytes: int = 0
    full: bool = False

    def takes(self, table: TableSchema, ts: Ts) -> bool:
        return self.table == table and (self.date_ends is None or ts < self.date_ends)

    def write(self, data: memoryview) -> None:
        self.output.write(data)
        self.digest.update(data)
        self.bytes += len(data)


class StorageWriter:
    """`whole_transactions`: rows of one (commit ts, start ts) of a table stay in one file."""

    def __init__(
        self,
        store: Store,
        layout: Layout,
        encoder: FileEncoder,
        piece: Piece,
        file_size: int,
        whole_transactions: bool,
    ) -> None:
        self._store = store
        self._layout = layout
        self._encoder = encoder
        self._piece = piece
        self._file_size = file_size
        # All rows of a snapshot carry one commit ts, but they are no transaction.
        self._whole = whole_transactions and piece.phase == "log"
        self._attempt = uuid.uuid4().hex[:12]
        self._open: _OpenFile | None = None
        self._row_bytes = 0.0
        self._opened = 0
        self._files: list[StagedFile] = []

    def write(self, batch: ChangeBatch) -> None:
        while batch.num_rows:
            commits = batch.commit_ts.to_numpy()
            file = self._file_for(batch, commits)
            count = self._rows_for(file, batch, commits)
            part = batch if count == batch.num_rows else batch.slice(0, count)
            data = memoryview(self._encoder.encode(part))
            file.write(data)
            file.rows += count
            file.last = _transaction(part, count - 1)
            file.full = file.bytes >= self._file_size
            self._row_bytes = len(data) / count
            reach("stage-file")
            batch = batch.slice(count)
            if file.full and not self._whole:
                self._finish()

    def close(self) -> Written:
        self._finish()
        rows, size = sum(file.rows for file in self._files), sum(file.bytes for file in self._files)
        return Written(rows, size, to_payload(self._files))

    def discard(self) -> None:
        """The file that is open is closed first, because a bucket would keep its parts."""
        if self._open is not None:
            # What ended the piece, a full disk for example, may end this close as well; it is on its way already.
            with suppress(TailraceError):
                self._open.output.close()
            self._open = None
        for number in range(self._opened):
            self._store.remove(staged_path(self._piece, self._attempt, number))
        self._files.clear()

    def _file_for(self, batch: ChangeBatch, commits: npt.NDArray[np.int64]) -> _OpenFile:
        """The open file where it takes the first row, else a new one."""
        file, ts = self._open, int(commits[0])
        if file is not None:
            inside = not file.full or file.last == _transaction(batch, 0)
            if inside and file.takes(batch.table, ts):
                return file
            self._finish()
        table_folder(batch.table.schema, batch.table.name)  # a name that cannot stand in a path is refused here
        path = staged_path(self._piece, self._attempt, self._opened)
        self._open = file = _OpenFile(
            output=self._store.create(path),
            path=path,
            table=batch.table,
            date=self._layout.date_of(ts),
            date_ends=self._layout.date_ends(ts),
            first_ts=ts,
            digest=xxhash.xxh3_128(),
        )
        self._opened += 1
        header = self._encoder.header(batch.table)
        if header:
            file.write(memoryview(header))
        return file

    def _rows_for(self, file: _OpenFile, batch: ChangeBatch, commits: npt.NDArray[np.int64]) -> int:
        """How many rows from the start of the batch go into this file now; at least one."""
        limit = batch.num_rows
        if file.date_ends is not None and commits[-1] >= file.date_ends:
            limit = int(np.searchsorted(commits, file.date_ends))
        row_bytes = self._row_bytes or max(batch.nbytes / batch.num_rows, 1.0)
        room = max(int((self._file_size - file.bytes) / row_bytes), 0) + 1
        if file.full:
            room = 1
        if room >= limit:
            return limit
        return _end_of_transaction(batch, room, limit) if self._whole else room

    def _finish(self) -> None:
        if self._open is None:
            return
        file, self._open = self._open, None
        file.output.close()
        staged = StagedFile(
            path=file.path,
            table_id=file.table.table_id,
            schema=file.table.schema,
            table=file.table.name,
            version=file.table.version,
            partition_id=self._piece.partition_id,
            date=file.date,
            rows=file.rows,
            bytes=file.bytes,
            checksum=file.digest.hexdigest(),
            first_ts=file.first_ts,
            last_ts=file.last[0],
        )
        self._files.append(staged)


def _transaction(batch: ChangeBatch, row: int) -> tuple[Ts, Ts]:
    return int(batch.commit_ts[row].as_py()), int(batch.start_ts[row].as_py())


def _end_of_transaction(batch: ChangeBatch, count: int, limit: int) -> int:
    """The smallest number of rows >= count, up to the limit, that does not end inside a transaction."""
    commits, starts = batch.commit_ts.to_numpy()[:limit], batch.start_ts.to_numpy()[:limit]
    tail = (commits[count:] != commits[count - 1]) | (starts[count:] != starts[count - 1])
    return count + int(np.argmax(tail)) if tail.any() else limit
