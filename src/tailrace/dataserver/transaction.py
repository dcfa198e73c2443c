"""A client's transaction: rows buffered, prewritten range by range, committed through the primary.

Guarantees that its rows appear all or not at all, also when this process dies at any line: its fate is decided by
one record on the primary range. A transaction that lies in one page of one range is written in a single call.
Ranges that split, merge or move meanwhile are followed.
`commit` either returns the commit ts, or raises; after UpstreamAway the outcome may be unknown, as for any client.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.routing import Part, split
from tailrace.dataserver.rows import Rows
from tailrace.errors import Locked, NotFound, StaleRoute, TailraceError, UpstreamAway
from tailrace.proto import store_pb2
from tailrace.proto.base_pb2 import RangeEpoch
from tailrace.upstream.dataserver.wire import STORE, Wire

TTL_S = 5.0
# Pages that fit a cache: larger ones are slower on the wire and leave more memory behind.
PAGE_BYTES = 2 << 20
BUFFER_BYTES = 32 << 20
WRITERS = 4
RETRY_S = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """A table that a transaction writes: its schema version and its ranges."""

    table: TableSchema
    ranges: tuple[Range, ...]


class Transaction:
    def __init__(
        self,
        wire: Wire,
        start_ts: Ts,
        take: Callable[[list[tuple[int, Ts]]], Ts],
        routes: Callable[[Range], list[Range]],
    ) -> None:
        """`take([(table id, version)])` gives the commit ts of rows of these versions, `routes(range)` what became
        of a range: itself led elsewhere, or its heirs, the one that decides in its place first."""
        self.start_ts = start_ts
        self._wire, self._take, self._routes = wire, take, routes
        self._pending: dict[tuple[int, Ts], list[Part]] = {}
        self._bytes = 0
        self._mutex = threading.Lock()
        self._written: dict[int, Range] = {}
        self._versions: dict[int, Ts] = {}
        self._sequence = 0
        self._primary: Range | None = None
        self._locked = False
        self._over = threading.Event()

    def add(self, target: Target, physical_id: int, rows: Rows) -> None:
        """Buffer rows of one physical table; many rows are sent at once, so that memory stays bounded."""
        if self._over.is_set():
            raise Locked(f"the transaction {self.start_ts} is over; begin a new one")
        self._versions[target.table.table_id] = target.table.version
        ranges = [known for known in target.ranges if known.physical_id == physical_id]
        for part in split(rows, ranges, target.table):
            self._pending.setdefault((part.range.id, target.table.version), []).append(part)
        self._bytes += rows.nbytes
        if self._bytes >= BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        """Prewrite what is buffered."""
        parts = [part for parts in self._pending.values() for part in _joined(parts)]
        self._pending.clear()
        self._bytes = 0
        if parts and self._primary is None:
            # Alone and first, so that no page ever names a primary that has nothing of the transaction.
            self._primary = parts[0].range
            self._prewrite(parts.pop(0))
            threading.Thread(target=self._keep_alive, name="keep alive", daemon=True).start()
        if len(parts) < 2:
            for part in parts:
                self._prewrite(part)
            return
        with ThreadPoolExecutor(WRITERS) as pool:
            for done in [pool.submit(self._prewrite, part) for part in parts]:
                done.result()

    def commit(self) -> Ts:
        """Make the rows visible; returns their commit ts (0 for a transaction without rows)."""
        if not self._pending and self._primary is None:
            self._over.set()
            return 0
        try:
            only = self._only_part()
            if only is not None:
                return self._write(only)
            self.flush()
            commit_ts = self._take(list(self._versions.items()))
            primary = self._primary
            assert primary is not None
            self._finish(primary, commit_ts)
        except UpstreamAway:
            # The primary may have it: nobody may say that it failed.
            raise
        except TailraceError:
            self.rollback()
            raise
        finally:
            self._over.set()
        for known in list(self._written.values()):
            if known.id != primary.id:
                self._finish_secondary(known, commit_ts)
        return commit_ts

    def rollback(self) -> None:
        """End it without effect."""
        self._over.set()
        self._pending.clear()
        for known in self._written.values():
            request = store_pb2.RollbackRequest(range_id=known.id, range_epoch=_epoch(known), start_ts=self.start_ts)
            try:
                self._wire.call(known.leader, STORE, "Rollback", request)
            except (UpstreamAway, StaleRoute, Locked):
                # The server ends it itself when its time to live is over.
                continue

    def abandon(self) -> None:
        """Do what a client does that dies: nothing more, not even staying alive."""
        self._over.set()

    def _only_part(self) -> Part | None:
        if self._primary is not None or len(self._pending) != 1:
            return None
        joined = _joined(next(iter(self._pending.values())))
        return joined[0] if len(joined) == 1 else None

    def _write(self, part: Part) -> Ts:
        request = store_pb2.WriteRequest(
            range_id=part.range.id,
            range_epoch=_epoch(part.range),
            start_ts=self.start_ts,
            table_id=part.range.table_id,
            page=part.page(),
        )
        try:
            return int(patiently(lambda: self._wire.call(part.range.leader, STORE, "Write", request)).commit_ts)
        except StaleRoute:
            self._sent_anew(part)
        self.flush()
        return self.commit()

    def _sent_anew(self, part: Part) -> None:
        """Buffer what was the only part again, by the ranges that hold its keys now."""
        self._pending.clear()
        for known in self._routes(part.range):
            cut = part.within(known)
            if len(cut.rows):
                self._pending.setdefault((known.id, part.version), []).append(cut)

    def _prewrite(self, part: Part) -> None:
        primary = self._primary
        assert primary is not None
        with self._mutex:
            self._sequence += 1
            sequence = self._sequence
            self._written[part.range.id] = part.range
        request = store_pb2.PrewriteRequest(
            range_id=part.range.id,
            range_epoch=_epoch(part.range),
            start_ts=self.start_ts,
            sequence=sequence,
            primary_range=primary.id,
            ttl_ms=int(TTL_S * 1000),
            page=part.page(),
        )
        try:
            patiently(lambda: self._wire.call(part.range.leader, STORE, "Prewrite", request))
        except StaleRoute:
            cuts = [part.within(known) for known in self._routes(part.range)]
            cuts = [cut for cut in cuts if len(cut.rows)]
            if primary.id == part.range.id and not self._locked:
                self._primary = cuts[0].range
            for cut in cuts:
                self._prewrite(cut)
        self._locked = True

    def _finish(self, known: Range, commit_ts: Ts) -> None:
        """Commit in a range, or in what it became: a range that is closed still knows what it has decided."""
        request = store_pb2.CommitRequest(
            range_id=known.id, range_epoch=_epoch(known), start_ts=self.start_ts, commit_ts=commit_ts
        )
        try:
            patiently(lambda: self._wire.call(known.leader, STORE, "Commit", request), repeatable=True)
        except StaleRoute:
            self._finish(self._routes(known)[0], commit_ts)

    def _finish_secondary(self, known: Range, commit_ts: Ts) -> None:
        request = store_pb2.CommitRequest(
            range_id=known.id, range_epoch=_epoch(known), start_ts=self.start_ts, commit_ts=commit_ts
        )
        try:
            self._wire.call(known.leader, STORE, "Commit", request)
        except StaleRoute:
            for heir in self._routes(known):
                self._finish_secondary(heir, commit_ts)
        except (UpstreamAway, Locked):
            # It is committed; the server finds that out from the primary.
            return

    def _keep_alive(self) -> None:
        primary = self._primary
        assert primary is not None
        while not self._over.wait(TTL_S / 4):
            request = store_pb2.CheckTxnRequest(
                range_id=primary.id, start_ts=self.start_ts, extend_ms=int(TTL_S * 1000)
            )
            try:
                self._wire.call(primary.leader, STORE, "CheckTxn", request, TTL_S / 2)
            except StaleRoute:
                primary = self._heir(primary)
            except (UpstreamAway, NotFound, Locked):
                continue

    def _heir(self, known: Range) -> Range:
        try:
            return self._routes(known)[0]
        except TailraceError:
            return known


def _joined(parts: list[Part]) -> list[Part]:
    """Parts of one range and version as pages of a bounded number of rows, their keys ascending."""
    one = parts[0] if len(parts) == 1 else parts[0].joined(parts)
    rows = max(1, len(one.rows) * PAGE_BYTES // max(one.rows.nbytes, 1))
    return [one.slice(low, rows) for low in range(0, len(one.rows), rows)]


def patiently(call: Callable[[], Any], repeatable: bool = False) -> Any:
    """A call that may be repeated, while its server is away or a lock is in the way for a moment.

    StaleRoute comes out of it where the call can be made elsewhere: after an answer that was lost only if it is
    `repeatable` there, too."""
    limit = time.monotonic() + RETRY_S
    lost = False
    while True:
        try:
            return call()
        except StaleRoute as error:
            if lost and not repeatable:
                raise UpstreamAway(f"{error.message}; whether it was written before that is not known") from error
            raise
        except (UpstreamAway, Locked) as error:
            lost = lost or isinstance(error, UpstreamAway)
            final = isinstance(error, Locked) and "begin a new" in error.message
            if final or time.monotonic() > limit:
                raise
            time.sleep(min(error.retry_after, 0.1))


def _epoch(known: Range) -> RangeEpoch:
    return RangeEpoch(version=known.epoch.version, leader=known.epoch.leader)
