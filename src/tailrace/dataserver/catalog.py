"""The catalog: what the master remembers, in LMDB. Tables by version, the DDL log, ranges, servers, counters.

Guarantees that a DDL is remembered as a whole or not at all (`Change` is written in one transaction), and that a
table's newest version and its state at any earlier ts can be asked for. It decides nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lmdb

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import NotFound
from tailrace.proto import schema_pb2 as pb
from tailrace.proto.master_pb2 import Route
from tailrace.upstream.dataserver.schemas import event_message, event_of

_EVENT = struct.Struct(">QQ")


@dataclass(frozen=True, slots=True)
class Placed:
    """A range and the server that leads it; `leader` of the range is that server's address as last known.

    With `heirs` the range became these: only its log is left, and `last_ts` is the commit ts of its last change."""

    range: Range
    server_id: int
    heirs: tuple[int, ...] = ()
    last_ts: Ts = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What one statement changes: its events, in order, say all about tables; the ranges are new ones."""

    events: tuple[DdlEvent, ...]
    ranges: tuple[Placed, ...] = ()


class Catalog:
    """Thread-safe for reading; the master's DDL mutex guards `apply`."""

    def __init__(self, folder: Path, fsync: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._env: Any = lmdb.open(str(folder), map_size=1 << 32, max_dbs=8, sync=fsync)
        self._numbers = self._env.open_db(b"numbers")
        self._events = self._env.open_db(b"events")
        self._ranges = self._env.open_db(b"ranges")
        self._servers = self._env.open_db(b"servers")
        self._tables: dict[int, list[TableSchema]] = {}
        self._dropped: dict[int, Ts] = {}
        self._schemas: dict[str, list[tuple[Ts, bool]]] = {}
        self._log: list[DdlEvent] = []
        self._placed: dict[int, Placed] = {}
        for event in self._saved_events():
            self._remember(event)
        for placed in self._saved_ranges():
            self._placed[placed.range.id] = placed

    def number(self, name: str) -> int:
        with self._env.begin(db=self._numbers) as txn:
            return int(txn.get(name.encode(), b"0"))

    def save_number(self, name: str, value: int) -> None:
        with self._env.begin(write=True, db=self._numbers) as txn:
            txn.put(name.encode(), b"%d" % value)

    def take_number(self, name: str, count: int = 1) -> int:
        """The first of `count` new numbers, from 1 on."""
        with self._env.begin(write=True, db=self._numbers) as txn:
            first = int(txn.get(name.encode(), b"0")) + 1
            txn.put(name.encode(), b"%d" % (first + count - 1))
            return first

    def apply(self, change: Change) -> None:
        """Remember a statement; returns when it is durable."""
        with self._env.begin(write=True) as txn:
            for event in change.events:
                name = _EVENT.pack(event.commit_ts, event.seq)
                txn.put(name, event_message(event).SerializeToString(), db=self._events)
            for placed in change.ranges:
                txn.put(b"%020d" % placed.range.id, _range_bytes(placed), db=self._ranges)
        for placed in change.ranges:
            self._placed[placed.range.id] = placed
        for event in change.events:
            self._remember(event)

    def place(self, changed: Sequence[Placed]) -> None:
        """Remember ranges as they are now, all or none; returns when that is durable."""
        with self._env.begin(write=True) as txn:
            for placed in changed:
                txn.put(b"%020d" % placed.range.id, _range_bytes(placed), db=self._ranges)
        self._placed |= {placed.range.id: placed for placed in changed}

    def tables(self, at: Ts) -> list[TableSchema]:
        """The tables that exist at `at`, by name."""
        found = (self.at(table_id, at) for table_id in list(self._tables))
        return sorted((table for table in found if table is not None), key=lambda table: table.full_name)

    def table(self, table_id: int, version: Ts) -> TableSchema:
        for table in self._tables.get(table_id, ()):
            if table.version == version:
                return table
        raise NotFound(f"there is no version {version} of the table {table_id}")

    def newest(self, table_id: int) -> TableSchema | None:
        """The newest version of a table that is not dropped."""
        return None if table_id in self._dropped or table_id not in self._tables else self._tables[table_id][-1]

    def find(self, schema: str, name: str) -> TableSchema | None:
        found = (self.newest(table_id) for table_id in list(self._tables))
        return next((table for table in found if table and (table.schema, table.name) == (schema, name)), None)

    def has_schema(self, name: str) -> bool:
        return bool(self._schemas.get(name, [(0, False)])[-1][1])

    def events(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        return [event for event in self._log if after < event.commit_ts <= upto]

    def ranges(self, table_id: int = 0) -> list[Placed]:
        """Of one table, in key order; of all, for 0. Not those that became others."""
        alive = [placed for placed in list(self._placed.values()) if not placed.heirs]
        found = [placed for placed in alive if table_id in (0, placed.range.table_id)]
        return sorted(found, key=lambda placed: (placed.range.start, placed.range.id))

    def closed(self, table_id: int, since: Ts) -> list[Placed]:
        """Ranges of a table that became others, and whose logs hold changes above `since`."""
        known = list(self._placed.values())
        found = [each for each in known if each.range.table_id == table_id and each.heirs and each.last_ts > since]
        return sorted(found, key=lambda placed: placed.range.id)

    def led_by(self, server_id: int) -> list[int]:
        """All ranges of a server, also those of which only the log is left."""
        return [each.range.id for each in list(self._placed.values()) if each.server_id == server_id]

    def range(self, range_id: int) -> Placed:
        if range_id not in self._placed:
            raise NotFound(f"there is no range {range_id}")
        return self._placed[range_id]

    def dropped_ranges(self) -> Iterator[tuple[Placed, Ts]]:
        for placed in list(self._placed.values()):
            if placed.range.table_id in self._dropped:
                yield placed, self._dropped[placed.range.table_id]

    def servers(self) -> dict[int, str]:
        """Addresses by server id."""
        with self._env.begin(db=self._servers) as txn:
            return {int(key): value.decode().partition("\n")[0] for key, value in txn.cursor()}

    def folder(self, server_id: int) -> str:
        """Where a server keeps its data, as it said when it registered."""
        with self._env.begin(db=self._servers) as txn:
            folder: str = txn.get(b"%020d" % server_id, b"").decode().partition("\n")[2]
        if not folder:
            raise NotFound(f"data server {server_id} has not said where its data lies; start it again")
        return folder

    def save_server(self, server_id: int, address: str, folder: str = "") -> None:
        """A server that registers is shut out no more."""
        with self._env.begin(write=True) as txn:
            txn.put(b"%020d" % server_id, f"{address}\n{folder}".encode(), db=self._servers)
            txn.put(b"shut out/%d" % server_id, b"0", db=self._numbers)

    def shut_out(self, server_id: int) -> None:
        self.save_number(f"shut out/{server_id}", 1)

    def is_shut_out(self, server_id: int) -> bool:
        return bool(self.number(f"shut out/{server_id}"))

    def close(self) -> None:
        self._env.close()

    def at(self, table_id: int, at: Ts) -> TableSchema | None:
        """The version of a table that is good at `at`; None where the table does not exist then."""
        if table_id not in self._tables or self._dropped.get(table_id, at + 1) <= at:
            return None
        return next((table for table in reversed(self._tables[table_id]) if table.version <= at), None)

    def _remember(self, event: DdlEvent) -> None:
        self._log.append(event)
        if event.type in (DdlType.CREATE_SCHEMA, DdlType.DROP_SCHEMA):
            states = self._schemas.setdefault(event.schema_name, [])
            states.append((event.commit_ts, event.type == DdlType.CREATE_SCHEMA))
        if event.type == DdlType.DROP_SCHEMA:
            for table in self.tables(event.commit_ts):
                if table.schema == event.schema_name:
                    self._dropped[table.table_id] = event.commit_ts
        if event.type == DdlType.DROP_TABLE and event.before is not None:
            self._dropped[event.before.table_id] = event.commit_ts
            return
        if event.table is not None:
            self._tables.setdefault(event.table.table_id, []).append(event.table)
            if event.before is not None and event.before.table_id != event.table.table_id:
                self._dropped[event.before.table_id] = event.commit_ts

    def _saved_events(self) -> Iterator[DdlEvent]:
        with self._env.begin(db=self._events) as txn:
            for value in txn.cursor().iternext(keys=False, values=True):
                yield event_of(pb.DdlEvent.FromString(value))

    def _saved_ranges(self) -> Iterator[Placed]:
        with self._env.begin(db=self._ranges) as txn:
            for value in txn.cursor().iternext(keys=False, values=True):
                yield _placed_of(Route.FromString(value))


def route_message(placed: Placed, address: str) -> Route:
    known = placed.range
    route = Route(
        range_id=known.id,
        table_id=known.table_id,
        partition_id=known.partition_id,
        start=known.start,
        end=known.end,
        leader=address,
        heirs=placed.heirs,
        last_ts=placed.last_ts,
    )
    route.range_epoch.version, route.range_epoch.leader = known.epoch.version, known.epoch.leader
    return route


def _range_bytes(placed: Placed) -> bytes:
    # A saved route names the leader by its number: the address may change.
    return route_message(placed, str(placed.server_id)).SerializeToString()


def _placed_of(route: Route) -> Placed:
    epoch = Epoch(route.range_epoch.version, route.range_epoch.leader)
    known = Range(route.range_id, route.table_id, route.partition_id, route.start, route.end, epoch, "")
    return Placed(known, int(route.leader), tuple(route.heirs), route.last_ts)
