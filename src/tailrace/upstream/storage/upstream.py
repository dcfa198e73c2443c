"""The storage upstream: a folder or bucket of TiCDC's layout, ours or TiCDC's, as ranges with a log.

A range is a table, through all its names, versions, partitions and dates: which of these there are is only known from
the listing, and what was written twice can only be told by looking at all of them. Its log is its files in commit
order, bounded by `metadata`'s checkpoint. There is no snapshot: what a table held before the changefeed is in no file.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence

from tailrace.change.ddl import DdlEvent
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import ConfigError, NotFound
from tailrace.store.opening import open_store
from tailrace.upstream.base import (
    Frontier,
    LogPage,
    Mark,
    Route,
    SnapshotPage,
    SnapshotVersion,
    TableRules,
    UpstreamSpec,
    Within,
)
from tailrace.upstream.storage.consumers import ConsumerManager
from tailrace.upstream.storage.pages import Pages
from tailrace.upstream.storage.reader import StorageReader
from tailrace.upstream.storage.settings import load_settings
from tailrace.upstream.storage.table import TableConsumer

_WAIT_SECONDS = 0.1


class StorageUpstream:
    """`file://`, `nfs://`, `s3://`, `gcs://`, `gs://`, `azblob://`, `azure://`."""

    has_snapshot = False

    def __init__(self, spec: UpstreamSpec) -> None:
        settings = load_settings(spec)
        self._store = open_store(settings.target)
        self._reader = StorageReader(self._store, settings.form)
        self.consumers = ConsumerManager(self._store, self._reader, settings.stamps, settings.member_texts)
        self._pages = Pages(self._store, settings)
        self._place = self._store.place

    @property
    def checkpoint(self) -> Ts:
        """The storage checkpoint as it was last seen; 0 where there is none."""
        return self.consumers.checkpoint

    def now(self) -> Ts:
        self.consumers.refresh()
        return max(1, self.consumers.checkpoint)

    def tables(self, rules: TableRules, at: Ts) -> list[TableSchema]:
        self.consumers.refresh()
        found = self.consumers.history.tables(at)
        return [table for table in found if rules.matches(table.schema, table.name)]

    def arrivals(self) -> int:
        return self.consumers.arrivals

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        found = self._table(table_id).lineage.versions.get(version)
        if found is None:
            raise NotFound(f"table {table_id} has no schema of version {version}")
        return found

    def routes(self, table: TableSchema) -> list[Range]:
        return [_range(table.table_id)]

    def closed_routes(self, table: TableSchema, since: Ts) -> list[Range]:
        """Files have no ranges that split or merge: a table is one run of them."""
        return []

    def route(self, range_id: int) -> Route:
        self._table(range_id)
        return Route(_range(range_id))

    def register(self, range: Range, subscriber: str, at: Ts = 0) -> SnapshotVersion:
        return SnapshotVersion(at or self.now(), 0)

    def release(self, range: Range, subscriber: str, upto: Ts) -> None:
        """Nothing is pinned: files stay until their writer's expiry."""

    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        deadline = time.monotonic() + wait_s
        seen = self.consumers.checkpoint
        while True:
            self.consumers.refresh()
            resolved = self.consumers.checkpoint
            found = [self._frontier(mark, resolved) for mark in marks]
            if resolved > seen or time.monotonic() >= deadline or any(each.buckets for each in found):
                return found
            time.sleep(_WAIT_SECONDS)

    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        raise ConfigError(
            "a storage upstream has no snapshot, only the changes in its files; start from a timestamp, such as 1"
        )

    def pull_log(
        self,
        range: Range,
        from_index: int,
        from_ts: Ts,
        upto_ts: Ts,
        limit_bytes: int,
        token: bytes,
        within: Sequence[Within] = (),
    ) -> LogPage:
        """Whole tables only: without snapshots there are no keys that have had less than others."""
        self.consumers.reach(upto_ts)
        return self._pages.page(self._table(range.table_id), from_ts, upto_ts, limit_bytes, token)

    def ddl(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        events = self.consumers.history.events
        begin = bisect_right(events, after, key=lambda event: event.commit_ts)
        return events[begin : bisect_right(events, upto, key=lambda event: event.commit_ts)]

    def ddl_resolved(self) -> Ts:
        self.consumers.refresh()
        return self.consumers.checkpoint

    def close(self) -> None:
        """Nothing stays open between calls."""

    def _frontier(self, mark: Mark, resolved: Ts) -> Frontier:
        table = self._table(mark.range.table_id)
        return Frontier(mark.range.id, resolved, table.buckets(mark.from_ts, resolved), 0)

    def _table(self, table_id: int) -> TableConsumer:
        found = self.consumers.tables.get(table_id)
        if found is None:
            self.consumers.refresh(at_once=True)
            found = self.consumers.tables.get(table_id)
        if found is None:
            raise NotFound(f"{self._place} has no table {table_id}")
        return found


def _range(table_id: int) -> Range:
    """The one range of a table: all of its files."""
    return Range(table_id, table_id, 0, b"", b"", Epoch(), "storage")
