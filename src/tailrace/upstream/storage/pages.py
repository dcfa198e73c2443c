"""Pages of a table's log: its files decoded, cut to a span of time, without duplicates, in commit order.

A token says in which cluster to go on and after how many batches of it, so a page can be asked for again by anybody;
whoever asks in turn goes on where the last page ended, without decoding twice.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.tso import Ts
from tailrace.errors import DecodeError
from tailrace.store.filesystem import ReadableStore
from tailrace.upstream.base import LogPage
from tailrace.upstream.storage.duplicates import distinct
from tailrace.upstream.storage.settings import Settings
from tailrace.upstream.storage.table import Cluster, TableConsumer
from tailrace.upstream.storage.version import KnownFile

_OPEN = 64
_TOGETHER_BYTES = 64 << 20

Step = tuple[bytes, ChangeBatch]


class Pages:
    def __init__(self, store: ReadableStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[int, Ts, bytes], Iterator[Step]] = OrderedDict()

    def page(self, table: TableConsumer, after: Ts, upto: Ts, limit_bytes: int, token: bytes) -> LogPage:
        with self._lock:
            steps = self._open.pop((table.lineage.id, upto, token), None)
        steps = steps or self._steps(table, after, upto, token)
        batches: list[ChangeBatch] = []
        size = 0
        for following, batch in steps:
            batches.append(batch)
            size += batch.nbytes
            if size >= limit_bytes:
                with self._lock:
                    self._open[table.lineage.id, upto, following] = steps
                    if len(self._open) > _OPEN:
                        self._open.popitem(last=False)
                return LogPage(tuple(batches), following)
        return LogPage(tuple(batches), b"")

    def _steps(self, table: TableConsumer, after: Ts, upto: Ts, token: bytes) -> Iterator[Step]:
        """The batches, each with the token that goes on after it."""
        begin, skip = _read(token) if token else (after, 0)
        for cluster in table.clusters(begin, upto):
            for done, batch in enumerate(self._batches(table, cluster, upto), 1):
                if done > skip:
                    yield b"%d:%d" % (cluster.begin, done), batch
            skip = 0

    def _batches(self, table: TableConsumer, cluster: Cluster, upto: Ts) -> Iterator[ChangeBatch]:
        within = _within(cluster.begin, upto)
        if len(cluster.files) == 1 or (cluster.in_order and cluster.size > _TOGETHER_BYTES):
            yield from self._rising(table, cluster.files, within)
            return
        streams = []
        for _, files in groupby(cluster.files, lambda each: each.stream):
            decoded = [[within(batch) for batch in self._decoded(table, known)] for known in files]
            streams.append(distinct([[batch for batch in file if batch.num_rows] for file in decoded]))
        yield from _merged([batch for stream in streams for batch in stream])

    def _rising(
        self, table: TableConsumer, files: Sequence[KnownFile], within: Callable[[ChangeBatch], ChangeBatch]
    ) -> Iterator[ChangeBatch]:
        """Files that follow each other in time, as a stream that nobody has to hold: one transaction over many files.

        A file that begins with the rows with which that transaction began says it again; as many rows as were there
        are left out of it.
        """
        high, first, count = 0, None, 0
        for known in files:
            skipped = -1
            for batch in self._decoded(table, known):
                stamps = batch.commit_ts.to_numpy()
                if stamps[0] < high:
                    raise DecodeError(
                        "its rows go back in commit time, which no writer's file does", position=known.file.path
                    )
                if skipped < 0:
                    again = first is not None and stamps[0] == high and batch.data.slice(0, 1).equals(first)
                    skipped = count if again else 0
                same = int(np.searchsorted(stamps, high, side="right"))
                gone = min(skipped, same)
                skipped -= gone
                part = within(batch.slice(gone))
                if part.num_rows:
                    yield part
                if stamps[-1] > high:
                    high = int(stamps[-1])
                    begin = int(np.searchsorted(stamps, high, side="left"))
                    first, count = batch.data.slice(begin, 1), len(stamps) - begin
                else:
                    count += same - gone

    def _decoded(self, table: TableConsumer, known: KnownFile) -> Iterator[ChangeBatch]:
        file = known.file
        data = self._store.content(file.path)
        if data is None:
            raise DecodeError("it was listed and is gone; expired before it was consumed?", position=file.path)
        schema = table.lineage.versions.get(file.version)
        if schema is None:
            raise DecodeError("its table version has no schema file", position=file.path)
        batches = self._settings.decoder.decode(_ended(data, self._settings.terminator), schema, file.path)
        return _seen(batches, known, table) if self._settings.stamps else _placed(batches, known.first)


def _read(token: bytes) -> tuple[Ts, int]:
    begin, _, done = token.partition(b":")
    return int(begin), int(done)


def _within(after: Ts, upto: Ts) -> Callable[[ChangeBatch], ChangeBatch]:
    def cut(batch: ChangeBatch) -> ChangeBatch:
        stamps = batch.commit_ts.to_numpy()
        begin, end = (int(each) for each in np.searchsorted(stamps, [after, upto], side="right"))
        return batch if (begin, end) == (0, len(stamps)) else batch.slice(begin, end - begin)

    return cut


def _seen(batches: Iterator[ChangeBatch], known: KnownFile, table: TableConsumer) -> Iterator[ChangeBatch]:
    """A file that was mended after its ends were read may hold more than they said."""
    for batch in batches:
        last = int(batch.commit_ts[-1].as_py()) if batch.num_rows else 0
        if last > known.last:
            known.last = last
            table.changed()
        yield batch


def _placed(batches: Iterator[ChangeBatch], ts: Ts) -> Iterator[ChangeBatch]:
    """Rows without a commit ts: all of their file's place in time, each a transaction of its own."""
    row = 0
    for batch in batches:
        commit = pa.array(np.full(batch.num_rows, ts, np.int64))
        start = pa.array(np.arange(row, row + batch.num_rows, dtype=np.int64))
        columns = [batch.op, commit, start, batch.after, batch.before]
        yield ChangeBatch(batch.table, pa.RecordBatch.from_arrays(columns, schema=batch.data.schema))
        row += batch.num_rows


def _ended(data: pa.Buffer, terminator: bytes) -> pa.Buffer:
    """The last row of a file may lack its terminator, or the end of it; a row that was cut is found by the decoder."""
    tail = data.slice(max(0, data.size - len(terminator))).to_pybytes()
    if not data.size or not terminator or tail == terminator:
        return data
    begun = next(size for size in range(len(terminator) - 1, -1, -1) if tail.endswith(terminator[:size]))
    return pa.py_buffer(data.to_pybytes() + terminator[begun:])


def _merged(batches: list[ChangeBatch]) -> Iterator[ChangeBatch]:
    """By commit ts; rows of one commit ts keep their order. Batches of different columns stay apart."""
    batches.sort(key=lambda batch: int(batch.commit_ts[0].as_py()))
    for _, group in groupby(batches, lambda batch: batch.data.schema):
        alike = list(group)
        whole = pa.Table.from_batches([batch.data for batch in alike]).combine_chunks().to_batches()[0]
        stamps = whole.column(1).to_numpy()
        if (np.diff(stamps) < 0).any():
            whole = whole.take(pa.array(np.argsort(stamps, kind="stable")))
        yield ChangeBatch(alike[0].table, whole)
