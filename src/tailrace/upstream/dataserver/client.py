"""The dataserver upstream: tables, routes and DDL from the master, snapshots and logs from the ranges' leaders.

Thread-safe. Every call has a deadline and is made once; errors arrive as the server raised them, and a server that
does not answer is UpstreamAway with its address. Schema versions are cached, since they never change.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import groupby
from time import monotonic

from tailrace.change.ddl import DdlEvent
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import ConfigError
from tailrace.proto import cdc_pb2, master_pb2
from tailrace.proto.base_pb2 import RangeEpoch
from tailrace.upstream.base import (
    Bucket,
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
from tailrace.upstream.dataserver.pages import log_batch, snapshot_batch
from tailrace.upstream.dataserver.schemas import event_of, table_of
from tailrace.upstream.dataserver.wire import CALL_SECONDS, CDC, MASTER, Wire, raised

SCHEME = "dataserver://"
# While several servers are asked, none is waited for longer than this after another has news.
SLICE_S = 0.25


def master_addresses(uri: str) -> tuple[str, ...]:
    """HOST:PORT of the masters that a URI names."""
    rest = uri.removeprefix(SCHEME).partition("?")[0].rstrip("/")
    addresses = tuple(address for address in rest.split(",") if address)
    if not uri.startswith(SCHEME) or not addresses or not all(":" in address for address in addresses):
        raise ConfigError(f"the upstream {uri} should be {SCHEME}HOST:PORT, the address of the store's master")
    return addresses


class DataServerUpstream:
    has_snapshot = True

    def __init__(self, spec: UpstreamSpec) -> None:
        self._master = master_addresses(spec.uri)[0]
        self._zone = spec.time_zone
        self._wire = Wire()
        self._mutex = threading.Lock()
        self._tables: dict[tuple[int, Ts, bool], TableSchema] = {}
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="frontier")

    def now(self) -> Ts:
        return int(self._wire.call(self._master, MASTER, "Tso", master_pb2.TsoRequest(count=1)).first)

    def tables(self, rules: TableRules, at: Ts) -> list[TableSchema]:
        found = self._wire.call(self._master, MASTER, "Tables", master_pb2.TablesRequest(at=at)).tables
        tables = (table_of(message) for message in found)
        return [table for table in tables if not table.is_view and rules.matches(table.schema, table.name)]

    def arrivals(self) -> int:
        return 0

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        return self._table(table_id, version, exact=True)

    def routes(self, table: TableSchema) -> list[Range]:
        request = master_pb2.RoutesRequest(table_id=table.table_id)
        return [range_of(route) for route in self._wire.call(self._master, MASTER, "Routes", request).routes]

    def closed_routes(self, table: TableSchema, since: Ts) -> list[Range]:
        request = master_pb2.RoutesRequest(table_id=table.table_id, closed_since=max(since, 1))
        return [range_of(route) for route in self._wire.call(self._master, MASTER, "Routes", request).routes]

    def route(self, range_id: int) -> Route:
        found = self._wire.call(self._master, MASTER, "Routes", master_pb2.RoutesRequest(range_id=range_id)).routes[0]
        return Route(range_of(found), tuple(found.heirs), found.last_ts)

    def register(self, range: Range, subscriber: str, at: Ts = 0) -> SnapshotVersion:
        request = cdc_pb2.CdcRegisterRequest(
            range_id=range.id, range_epoch=_epoch(range), subscriber_name=subscriber, at=at
        )
        answer = self._wire.call(range.leader, CDC, "CdcRegister", request)
        return SnapshotVersion(int(answer.init_snapshot_version), int(answer.log_index))

    def release(self, range: Range, subscriber: str, upto: Ts) -> None:
        request = cdc_pb2.CdcReleaseRequest(
            range_id=range.id, range_epoch=_epoch(range), subscriber_name=subscriber, upto=upto
        )
        self._wire.call(range.leader, CDC, "CdcRelease", request)

    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        by_leader = {
            leader: list(group)
            for leader, group in groupby(
                sorted(marks, key=lambda mark: mark.range.leader), key=lambda mark: mark.range.leader
            )
        }
        if len(by_leader) < 2:
            found = [front for leader, group in by_leader.items() for front in self._ask(leader, group, wait_s)]
        else:
            found = self._ask_all(by_leader, wait_s)
        by_range = {front.range_id: front for front in found}
        return [by_range[mark.range.id] for mark in marks]

    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        request = cdc_pb2.CdcPullSnapshotRequest(
            range_id=range.id,
            range_epoch=_epoch(range),
            current_snapshot_version=version,
            last_key=after_key,
            end_key=end_key,
            limit_rows=limit_rows,
            start_key=from_key,
            columnar=True,
        )
        answer = self._wire.call(range.leader, CDC, "CdcPullSnapshot", request)
        table = self._table(range.table_id, version, exact=False)
        batches = tuple(snapshot_batch(page, table, version, self._zone) for page in answer.pages)
        return SnapshotPage(batches, answer.last_key or after_key, answer.end)

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
        request = cdc_pb2.CdcPullLogRequest(
            range_id=range.id,
            range_epoch=_epoch(range),
            last_log_index=from_index,
            from_ts=from_ts,
            upto_ts=upto_ts,
            limit_bytes=limit_bytes,
            token=token,
            columnar=True,
        )
        answer = self._wire.call(range.leader, CDC, "CdcPullLog", request)
        batches = (
            log_batch(
                page, self.table_schema(range.table_id, page.schema_version), from_ts, upto_ts, self._zone, within
            )
            for page in answer.pages
        )
        return LogPage(tuple(batch for batch in batches if batch.num_rows), answer.next)

    def ddl(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        request = master_pb2.DdlLogRequest(after=after, upto=upto)
        return [event_of(message) for message in self._wire.call(self._master, MASTER, "DdlLog", request).events]

    def ddl_resolved(self) -> Ts:
        return int(self._wire.call(self._master, MASTER, "DdlResolved", master_pb2.DdlResolvedRequest()).ts)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._wire.close()

    def _table(self, table_id: int, version: Ts, exact: bool) -> TableSchema:
        known = self._tables.get((table_id, version, exact))
        if known is None:
            request = master_pb2.TableRequest(table_id=table_id, version=version, at=0 if exact else version)
            known = table_of(self._wire.call(self._master, MASTER, "Table", request).table)
            with self._mutex:
                self._tables[table_id, version, exact] = known
        return known

    def _ask(self, leader: str, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        request = cdc_pb2.CdcFrontierRequest(wait_s=wait_s)
        for mark in marks:
            request.marks.add(
                range_id=mark.range.id,
                range_epoch=_epoch(mark.range),
                from_index=mark.from_index,
                from_ts=mark.from_ts,
                closed=mark.closed,
            )
        answer = self._wire.call(leader, CDC, "CdcFrontier", request, wait_s + CALL_SECONDS)
        return [_frontier_of(message) for message in answer.frontiers]

    def _ask_all(self, by_leader: dict[str, list[Mark]], wait_s: float) -> list[Frontier]:
        """What several servers say. The first one that has news ends the wait; of the others what they said last."""
        limit = monotonic() + wait_s
        said = dict(self._answers(by_leader, 0.0))
        while not any(_news(found) for found in said.values()) and (left := limit - monotonic()) > 0:
            asked = {
                self._pool.submit(self._ask, leader, marks, min(left, SLICE_S)): leader
                for leader, marks in by_leader.items()
            }
            pending: set[Future[list[Frontier]]] = set(asked)
            while pending and not any(_news(found) for found in said.values()):
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                said |= {asked[future]: future.result() for future in done}
        return [front for found in said.values() for front in found]

    def _answers(self, by_leader: dict[str, list[Mark]], wait_s: float) -> list[tuple[str, list[Frontier]]]:
        asked = [(leader, self._pool.submit(self._ask, leader, marks, wait_s)) for leader, marks in by_leader.items()]
        return [(leader, future.result()) for leader, future in asked]


def _news(found: Sequence[Frontier]) -> bool:
    return any(front.buckets or front.heirs for front in found)


def _epoch(known: Range) -> RangeEpoch:
    return RangeEpoch(version=known.epoch.version, leader=known.epoch.leader)


def range_of(route: master_pb2.Route) -> Range:
    epoch = Epoch(route.range_epoch.version, route.range_epoch.leader)
    return Range(route.range_id, route.table_id, route.partition_id, route.start, route.end, epoch, route.leader)


def _frontier_of(message: cdc_pb2.Frontier) -> Frontier:
    if message.HasField("error"):
        raise raised(message.error)
    buckets = zip(message.bucket_ts, message.bucket_rows, message.bucket_bytes, strict=True)
    return Frontier(
        message.range_id,
        message.resolved_ts,
        tuple(Bucket(ts, rows, size) for ts, rows, size in buckets),
        message.next_index,
        tuple(message.heirs),
    )
