"""The storage sink: changes as files of TiCDC's layout in a folder or a bucket, exactly once.

How it is exactly-once: pieces only ever stage files under `.tailrace/`. `commit` gives the staged files of a cut
their numbers and saves that naming in the ledger, under the fence, before the first file moves. Before the naming is
saved, a repeat starts anew and nothing was visible; from then on nothing but that naming is carried out, by whoever
holds the seat. An owner that lost its seat fails at the ledger, or does what the naming says anyway.

On a worker only `writer` is called; what happens on the driver is in `driver`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import ConfigError, SinkRefused, TailraceError
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, SinkSpec
from tailrace.sink.storage.driver import Driver
from tailrace.sink.storage.owner import foreign_owner
from tailrace.sink.storage.settings import load_settings
from tailrace.sink.storage.writer import StorageWriter
from tailrace.store.opening import open_store

_PIECE_BYTES = 64 << 20
# Readers expect a `metadata` that is never older than two seconds while nothing happens.
_IDLE_SECONDS = 1.5


class StorageSink:
    """`file://`, `nfs://`, `s3://`, `gcs://`, `gs://`, `azblob://`, `azure://`."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._settings = load_settings(spec)
        self._store = open_store(self._settings.target)
        self._driver: Driver | None = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            delivery="exactly_once",
            ddl=True,
            cut_seconds=self._settings.flush_seconds,
            piece_bytes=_PIECE_BYTES,
            merged=True,
            idle_seconds=_IDLE_SECONDS,
            split_updates=not self._settings.raw_change_event,
            whole_transactions=self._settings.whole_transactions,
            joined_partitions=not self._settings.layout.partition_separator,
        )

    def verify(self) -> list[Problem]:
        """Looks at the target: it can be reached and written, and nobody else does."""
        try:
            other = foreign_owner(self._store, self._spec.subscription)
        except TailraceError as error:
            return [Problem("sink-uri", error.message)]
        if other is None:
            return []
        return [Problem("sink-uri", f"{self._store.place} is written by the subscription {other.subscription}")]

    def open(self, seat: Seat) -> None:
        self._driver = Driver(self._spec.subscription, self._settings, self._store, seat)

    def writer(self, piece: Piece) -> StorageWriter:
        settings = self._settings
        if piece.partition_id and piece.phase == "log" and not settings.layout.partition_separator:
            raise ConfigError(
                "sink.enable-partition-separator is false, so all partitions of a table share a folder and a piece "
                "has to hold all of them; this one holds one partition",
                subscription=piece.subscription,
                position=piece.name,
            )
        return StorageWriter(
            self._store, settings.layout, settings.encoder, piece, settings.file_size, settings.whole_transactions
        )

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        self._seated().commit(cut, receipts)

    def recover(self, cut: Cut, naming: str) -> None:
        self._seated().recover(cut, naming)

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        self._seated().ddl(events)

    def advance(self, to_ts: Ts) -> None:
        self._seated().advance(to_ts)

    def abort(self, cut: Cut) -> None:
        self._seated().abort(cut)

    def close(self) -> None:
        """Says in the owner file that this subscription writes no more, if it was opened."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _seated(self) -> Driver:
        if self._driver is None:
            raise SinkRefused(
                "the storage sink has no seat; open it on the driver first", subscription=self._spec.subscription
            )
        return self._driver
