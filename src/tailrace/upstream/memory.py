"""The in-memory upstream: a small database in this process, for unit tests of everything downstream of it.

`MemoryStore` holds tables with one integer key, transactions and DDL; `MemoryUpstream` reads it with all guarantees of
`upstream.base`. It works row by row, which nothing that moves real data may do.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema, inserts
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts, compose
from tailrace.errors import IteratorLost, NotFound, PositionLost, StaleRoute, TableGone
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

Row = Mapping[str, Any]
_Key = bytes
_stores: dict[str, MemoryStore] = {}


def key_of(physical_id: int, number: int) -> _Key:
    """Keys sort as their table and then their integer do."""
    return physical_id.to_bytes(8, "big") + (number + (1 << 63)).to_bytes(8, "big")


@dataclass(frozen=True, slots=True)
class _Change:
    key: _Key
    number: int
    commit_ts: Ts
    start_ts: Ts
    table: TableSchema
    after: Row | None
    before: Row | None
    range_id: int


@dataclass(frozen=True, slots=True)
class _Closed:
    """A range that became others at a ts: only its log is left."""

    range: Range
    heirs: tuple[int, ...]
    closed_ts: Ts


@dataclass(slots=True)
class _Table:
    versions: list[TableSchema]
    ranges: list[Range]
    changes: list[_Change] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)
    dropped: Ts = 0
    closed: dict[int, _Closed] = field(default_factory=dict)


class MemoryStore:
    """All methods are one transaction, or one statement, each; thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.tables: dict[int, _Table] = {}
        self.events: list[DdlEvent] = []
        self.lost: dict[int, Ts] = {}
        self.versions_from: Ts = 0
        self._last: Ts = compose(1_700_000_000_000)
        self._next_range = 1

    def tso(self) -> Ts:
        with self.lock:
            self._last += 1
            return self._last

    def create(self, table: TableSchema, cuts: Sequence[int] = (), query: str = "") -> TableSchema:
        """A table with ranges that are divided at the given keys."""
        with self.lock:
            ts = self.tso()
            made = table.at_version(ts)
            edges = [key_of(table.table_id, -(1 << 63)), *(key_of(table.table_id, each) for each in cuts)]
            ends = [*edges[1:], key_of(table.table_id + 1, -(1 << 63))]
            ranges = [self._range(table.table_id, *bounds) for bounds in zip(edges, ends, strict=True)]
            self.tables[table.table_id] = _Table([made], ranges)
            self._log_ddl(DdlType.CREATE_TABLE, ts, query or f"CREATE TABLE `{table.name}`", made, None)
            return made

    def alter(self, table: TableSchema, type: DdlType, query: str) -> TableSchema:
        """A new version of a table, by its id."""
        with self.lock:
            known, ts = self.tables[table.table_id], self.tso()
            before, made = known.versions[-1], table.at_version(ts)
            known.versions.append(made)
            self._log_ddl(type, ts, query, made, before)
            return made

    def drop(self, table_id: int) -> None:
        with self.lock:
            known, ts = self.tables[table_id], self.tso()
            known.dropped = ts
            gone = known.versions[-1]
            self._log_ddl(DdlType.DROP_TABLE, ts, f"DROP TABLE `{gone.name}`", gone, gone)

    def truncate(self, table_id: int, new_id: int) -> TableSchema:
        """The table with a new id and no rows, in one range."""
        with self.lock:
            ts = self.tso()
            known = self.tables[table_id]
            known.dropped, gone = ts, known.versions[-1]
            made = replace(gone, table_id=new_id).at_version(ts)
            bounds = key_of(new_id, -(1 << 63)), key_of(new_id + 1, -(1 << 63))
            self.tables[new_id] = _Table([made], [self._range(new_id, *bounds)])
            self._log_ddl(DdlType.TRUNCATE_TABLE, ts, f"TRUNCATE TABLE `{gone.name}`", made, gone)
            return made

    def split(self, table_id: int, number: int) -> list[Range]:
        """Divide the range that holds a key, which becomes the first of the right half."""
        with self.lock:
            key = key_of(table_id, number)
            parent = next(each for each in self.tables[table_id].ranges if each.covers(key) and each.start < key)
            return self._succeed([parent], [(parent.start, key), (key, parent.end)])

    def merge(self, left: Range, right: Range) -> Range:
        with self.lock:
            return self._succeed([left, right], [(left.start, right.end)])[0]

    def move(self, known: Range) -> Range:
        """Another leader: the old epoch is refused from now on."""
        with self.lock:
            table = self.tables[known.table_id]
            moved = replace(known, epoch=Epoch(known.epoch.version, known.epoch.leader + 1))
            table.ranges[table.ranges.index(known)] = moved
            return moved

    def _succeed(self, parents: Sequence[Range], bounds: Sequence[tuple[_Key, _Key]]) -> list[Range]:
        table, closed_ts = self.tables[parents[0].table_id], self.tso()
        made = [self._range(parents[0].table_id, *edge) for edge in bounds]
        for parent in parents:
            table.closed[parent.id] = _Closed(parent, tuple(each.id for each in made), closed_ts)
            table.ranges.remove(parent)
        table.ranges = sorted([*table.ranges, *made], key=lambda each: each.start)
        return made

    def write(self, changes: Mapping[int, Mapping[int, Row | None]]) -> Ts:
        """One transaction: per table id, per key, the row that is there afterwards, or None."""
        with self.lock:
            start, commit = self.tso(), self.tso()
            for table_id, rows in changes.items():
                table = self.tables[table_id]
                for number, after in rows.items():
                    before = table.rows.pop(number, None)
                    if after is not None:
                        table.rows[number] = after
                    key = key_of(table_id, number)
                    place = next(each.id for each in table.ranges if each.covers(key))
                    change = _Change(key, number, commit, start, table.versions[-1], after, before, place)
                    table.changes.append(change)
            return commit

    def _range(self, table_id: int, start: _Key, end: _Key) -> Range:
        self._next_range += 1
        return Range(self._next_range - 1, table_id, 0, start, end, Epoch(), "memory")

    def _log_ddl(self, type: DdlType, ts: Ts, query: str, table: TableSchema, before: TableSchema | None) -> None:
        self.events.append(DdlEvent(ts, ts - 1, 0, type, query, table.schema, table.name, table, before))


def memory_store(name: str) -> MemoryStore:
    """The store of a name, made when first asked for."""
    return _stores.setdefault(name, MemoryStore())


class MemoryUpstream:
    """`memory://NAME`."""

    has_snapshot = True

    def __init__(self, spec: UpstreamSpec) -> None:
        self._store = memory_store(spec.uri.partition("://")[2])

    def now(self) -> Ts:
        return self._store.tso()

    def tables(self, rules: TableRules, at: Ts) -> list[TableSchema]:
        with self._store.lock:
            alive = [self._version(each, at) for each in self._store.tables.values() if not 0 < each.dropped <= at]
        return [table for table in alive if table is not None and rules.matches(table.schema, table.name)]

    def arrivals(self) -> int:
        return 0

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        with self._store.lock:
            known = self._store.tables.get(table_id)
            for table in known.versions if known else ():
                if table.version == version:
                    return table
        raise NotFound(f"table {table_id} has no schema of version {version}")

    def routes(self, table: TableSchema) -> list[Range]:
        return list(self._table(table.table_id).ranges)

    def closed_routes(self, table: TableSchema, since: Ts) -> list[Range]:
        with self._store.lock:
            known = self._table(table.table_id)
            return [each.range for key, each in known.closed.items() if _last_ts(known, key) > since]

    def route(self, range_id: int) -> Route:
        with self._store.lock:
            for known in self._store.tables.values():
                if range_id in known.closed:
                    closed = known.closed[range_id]
                    return Route(closed.range, closed.heirs, _last_ts(known, range_id))
                for each in known.ranges:
                    if each.id == range_id:
                        return Route(each)
        raise NotFound(f"there is no range {range_id}")

    def register(self, range: Range, subscriber: str, at: Ts = 0) -> SnapshotVersion:
        return SnapshotVersion(at or self._store.tso(), 0)

    def release(self, range: Range, subscriber: str, upto: Ts) -> None:
        pass

    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        with self._store.lock:
            resolved = self._store.tso()
            return [self._frontier(mark, resolved) for mark in marks]

    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        with self._store.lock:
            known = self._led(range)
            if range.id in known.closed:
                raise StaleRoute(f"range {range.id} became {known.closed[range.id].heirs}", retry_after=0.01)
            if known.dropped:
                raise TableGone(f"table {range.table_id} was dropped")
            if version < self._store.versions_from:
                raise IteratorLost(f"row versions below {self._store.versions_from} are gone", retry_after=0.01)
            state: dict[_Key, Row | None] = {}
            for change in known.changes:
                if change.commit_ts <= version:
                    state[change.key] = change.after
            end = end_key or range.end
            alive = (key for key, row in state.items() if row is not None and range.covers(key))
            keys = sorted(key for key in alive if after_key < key < end and (after_key or from_key <= key))
            table = self._version(known, version)
        taken = keys[:limit_rows]
        if table is None or not taken:
            return SnapshotPage((), after_key, True)
        rows = pa.array([state[key] for key in taken], table.arrow_struct)
        return SnapshotPage((inserts(table, rows, version),), taken[-1], len(taken) == len(keys))

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
        with self._store.lock:
            known = self._led(range)
            lost = self._store.lost.get(range.id, 0)
            if from_ts < lost:
                raise PositionLost(f"the log of range {range.id} begins at {lost}", position=f"{from_ts}..{lost}")
            changes = [
                change
                for change in known.changes
                if change.range_id == range.id and from_ts < change.commit_ts <= upto_ts and _wanted(change, within)
            ]
        batches: list[ChangeBatch] = []
        for version in dict.fromkeys(change.table.version for change in changes):
            batches.append(_batch([change for change in changes if change.table.version == version]))
        return LogPage(tuple(batches), b"")

    def ddl(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        with self._store.lock:
            return [event for event in self._store.events if after < event.commit_ts <= upto]

    def ddl_resolved(self) -> Ts:
        return self._store.tso()

    def close(self) -> None:
        pass

    def _table(self, table_id: int) -> _Table:
        known = self._store.tables.get(table_id)
        if known is None:
            raise NotFound(f"there is no table {table_id}")
        return known

    def _led(self, range: Range) -> _Table:
        """The table of a range, which is asked for under the epoch that it has."""
        known = self._table(range.table_id)
        if range.id not in known.closed and range not in known.ranges:
            raise StaleRoute(f"range {range.id} is led elsewhere", retry_after=0.01)
        return known

    def _frontier(self, mark: Mark, resolved: Ts) -> Frontier:
        known = self._led(mark.range)
        found = [
            change.commit_ts
            for change in known.changes
            if change.range_id == mark.range.id and change.commit_ts > mark.from_ts
        ]
        buckets = tuple(Bucket(ts, found.count(ts), 100 * found.count(ts)) for ts in sorted(set(found)))
        closed = known.closed.get(mark.range.id)
        if closed is None:
            return Frontier(mark.range.id, resolved, buckets, 0)
        return Frontier(mark.range.id, closed.closed_ts, buckets, 0, () if mark.closed else closed.heirs)

    @staticmethod
    def _version(known: _Table, at: Ts) -> TableSchema | None:
        return next((table for table in reversed(known.versions) if table.version <= at), None)


def _last_ts(known: _Table, range_id: int) -> Ts:
    return max((change.commit_ts for change in known.changes if change.range_id == range_id), default=0)


def _wanted(change: _Change, within: Sequence[Within]) -> bool:
    found = (each for each in within if each.start <= change.key and (not each.end or change.key < each.end))
    return not within or any(change.commit_ts > each.through for each in found)


def _batch(changes: Sequence[_Change]) -> ChangeBatch:
    table = replace(changes[0].table)
    ops = [DELETE if each.after is None else INSERT if each.before is None else UPDATE for each in changes]
    columns = [
        pa.array(ops, pa.uint8()),
        pa.array([each.commit_ts for each in changes], pa.int64()),
        pa.array([each.start_ts for each in changes], pa.int64()),
        pa.array([each.after for each in changes], table.arrow_struct),
        pa.array([each.before for each in changes], table.arrow_struct),
    ]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))
