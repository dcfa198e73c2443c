"""The master: timestamps, the catalog and DDL statements.

Guarantees for a DDL at ts D: every row of the table committed below D is of the version before, every row above of
the new one, because a commit ts is handed out under the same mutex as D and only for rows of the newest version. So
`ddl_resolved`, a timestamp taken under that mutex, is complete: no DDL at or below will appear any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Protocol

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import Partition, TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver import statements
from tailrace.dataserver.catalog import Catalog, Change, Placed
from tailrace.dataserver.oracle import Oracle
from tailrace.dataserver.placement import Placement, PlacementOrders
from tailrace.errors import AlreadyExists, ConfigError, Fenced, Locked, NotFound, TailraceError, UpstreamAway
from tailrace.observe.clock import wall_ms
from tailrace.observe.failpoints import reach
from tailrace.upstream.rowcodec import table_range

FIRST_TABLE_ID = 100


class MasterOrders(PlacementOrders, Protocol):
    """What is asked of data servers (`orders.Orders`)."""

    def make_range(self, address: str, wanted: Range, common_handle: bool) -> None: ...

    def drop_range(self, address: str, range_id: int, ts: Ts) -> None: ...


class Master:
    def __init__(
        self,
        catalog: Catalog,
        orders: MasterOrders,
        clock: Callable[[], int] = wall_ms,
    ) -> None:
        self.catalog = catalog
        self._orders = orders
        self._oracle = Oracle(catalog.number("tso"), lambda limit: catalog.save_number("tso", limit), clock)
        self._statement = threading.Lock()
        self.placement = Placement(catalog, orders, self._statement)
        self._publish = threading.Lock()
        self._incarnations: dict[int, str] = {}

    def take(self, count: int = 1, written: Sequence[tuple[int, Ts]] = ()) -> Ts:
        """Timestamps; with `written` they are for rows of these (table id, version) and need them to be newest."""
        if not written:
            return self._oracle.take(count)
        with self._publish:
            for table_id, version in written:
                newest = self.catalog.newest(table_id)
                if newest is None:
                    raise NotFound(f"the table {table_id} was dropped while it was written")
                if newest.version != version:
                    raise Locked(
                        f"the table {newest.full_name} is at version {newest.version}, the rows are of {version}; "
                        "begin a new transaction",
                        retry_after=0.01,
                    )
            return self._oracle.take(count)

    def check_server(self, server_id: int, incarnation: str) -> None:
        if self.catalog.is_shut_out(server_id):
            raise Fenced(f"ranges of data server {server_id} were taken over; it must be started again")
        if self._incarnations.setdefault(server_id, incarnation) != incarnation:
            raise Fenced(f"another process has registered as data server {server_id}; this one must stop")

    def register_server(self, server_id: int, address: str, incarnation: str, folder: str = "") -> int:
        """A data server's number; it is told again what was dropped, and what it leads, while it was away."""
        with self._statement:
            server_id = server_id or self.catalog.take_number("server")
            self._incarnations[server_id] = incarnation
            self.catalog.save_server(server_id, address, folder)
        return server_id

    def drops_of(self, server_id: int) -> list[tuple[int, Ts]]:
        return [(placed.range.id, ts) for placed, ts in self.catalog.dropped_ranges() if placed.server_id == server_id]

    def ddl_resolved(self) -> Ts:
        with self._publish:
            return self._oracle.take()

    def row_ids(self, table_id: int, count: int) -> int:
        return self.catalog.take_number(f"rowid/{table_id}", count)

    def execute(
        self,
        kind: int,
        query: str,
        schema: str,
        name: str,
        wish: TableSchema | None,
        new_name: tuple[str, str],
        splits: Sequence[bytes],
    ) -> DdlEvent:
        """Run a statement; the event that it became."""
        with self._statement:
            start_ts = self._oracle.take()
            event = DdlEvent(0, start_ts, 0, kind, query, schema, name)
            event, ranges = self._planned(event, wish, new_name, splits)
            self._tell_new(event, ranges)
            reach("store-ddl-planned")
            with self._publish:
                commit_ts = self._oracle.take()
                table = None if event.table is None else event.table.at_version(commit_ts)
                event = replace(event, commit_ts=commit_ts, table=table)
                gone = self._ranges_gone(event)
                self.catalog.apply(Change((event,), tuple(ranges)))
            reach("store-ddl-saved")
            self._tell_dropped(gone, commit_ts)
            return event

    def _planned(
        self, event: DdlEvent, wish: TableSchema | None, new_name: tuple[str, str], splits: Sequence[bytes]
    ) -> tuple[DdlEvent, list[Placed]]:
        kind = event.type
        if kind in (DdlType.CREATE_SCHEMA, DdlType.DROP_SCHEMA):
            self._check_schema(event.schema_name, exists=kind == DdlType.DROP_SCHEMA)
            return event, []
        if kind == DdlType.CREATE_TABLE and wish is not None:
            self._check_schema(event.schema_name, exists=True)
            self._check_no_table(event.schema_name, event.table_name)
            wish = replace(wish, schema=event.schema_name, name=event.table_name)
            table = self._numbered(statements.created(wish), with_columns=True)
            return replace(event, table=table), self._ranges(table, splits)
        before = self._table(event)
        if kind == DdlType.DROP_TABLE:
            return replace(event, before=before), []
        if kind == DdlType.TRUNCATE_TABLE:
            table = self._numbered(before, with_columns=True)
            cuts = [placed.range.start[11:] for placed in self.catalog.ranges(before.table_id)]
            return replace(event, before=before, table=table), self._ranges(table, sorted({cut for cut in cuts if cut}))
        if kind == DdlType.RENAME_TABLE:
            self._check_schema(new_name[0], exists=True)
            self._check_no_table(*new_name)
            return replace(event, before=before, table=replace(before, schema=new_name[0], name=new_name[1])), []
        if kind in statements.ALTERS and wish is not None:
            return replace(event, before=before, table=self._altered(before, wish)), []
        raise ConfigError(f"a DDL of type {kind} is not known here, or lacks its definition")

    def _altered(self, before: TableSchema, wish: TableSchema) -> TableSchema:
        if wish.version != before.version:
            # The wish is the whole table: carried out on another version, it would undo what came between.
            raise Locked(
                f"{before.full_name} is at version {before.version}, the statement is for {wish.version}: begin anew"
            )
        names = [f"column/{before.table_id}", f"index/{before.table_id}"]
        table = statements.altered(before, wish, *(self.catalog.number(name) for name in names))
        for name, ids in zip(names, ([c.id for c in table.columns], [i.id for i in table.indexes]), strict=True):
            self.catalog.save_number(name, max([self.catalog.number(name), *ids]))
        return table

    def _numbered(self, table: TableSchema, with_columns: bool) -> TableSchema:
        first = FIRST_TABLE_ID + self.catalog.take_number("table", 1 + len(table.partitions))
        parts = tuple(Partition(first + at, part.name) for at, part in enumerate(table.partitions, 1))
        if with_columns:
            self.catalog.save_number(f"column/{first}", max(column.id for column in table.columns))
            self.catalog.save_number(f"index/{first}", max((index.id for index in table.indexes), default=0))
        return replace(table, table_id=first, partitions=parts)

    def _ranges(self, table: TableSchema, splits: Sequence[bytes]) -> list[Placed]:
        servers = sorted(self.catalog.servers())
        if not servers:
            raise UpstreamAway("no data server has registered yet, so nobody can lead the table's ranges")
        found: list[Placed] = []
        for number, physical in enumerate([part.id for part in table.partitions] or [table.table_id]):
            start, end = table_range(physical)
            for at, (low, high) in enumerate(pairwise([start, *(start + cut for cut in sorted(splits)), end])):
                partition = physical if table.partitions else 0
                range_id = self.catalog.take_number("range")
                leader = servers[(table.table_id + number + at) % len(servers)]
                found.append(Placed(Range(range_id, table.table_id, partition, low, high, Epoch(), ""), leader))
        return found

    def _tell_new(self, event: DdlEvent, ranges: Sequence[Placed]) -> None:
        servers = self.catalog.servers()
        for placed in ranges:
            assert event.table is not None
            self._orders.make_range(servers[placed.server_id], placed.range, event.table.common_handle)

    def _ranges_gone(self, event: DdlEvent) -> list[Placed]:
        if event.type == DdlType.DROP_SCHEMA:
            tables = [table for table in self.catalog.tables(event.commit_ts) if table.schema == event.schema_name]
        else:
            gone = event.type in (DdlType.DROP_TABLE, DdlType.TRUNCATE_TABLE)
            tables = [event.before] if gone and event.before is not None else []
        return [placed for table in tables for placed in self.catalog.ranges(table.table_id)]

    def _tell_dropped(self, gone: Sequence[Placed], ts: Ts) -> None:
        servers = self.catalog.servers()
        for placed in gone:
            try:
                self._orders.drop_range(servers[placed.server_id], placed.range.id, ts)
            except TailraceError:
                # The statement is done; a server that is away is told when it registers again.
                continue

    def _check_schema(self, name: str, exists: bool) -> None:
        if exists and not self.catalog.has_schema(name):
            raise NotFound(f"there is no schema {name}")
        if not exists and self.catalog.has_schema(name):
            raise AlreadyExists(f"the schema {name} exists")

    def _check_no_table(self, schema: str, name: str) -> None:
        if self.catalog.find(schema, name) is not None:
            raise AlreadyExists(f"the table {schema}.{name} exists")

    def _table(self, event: DdlEvent) -> TableSchema:
        found = self.catalog.find(event.schema_name, event.table_name)
        if found is None:
            raise NotFound(f"there is no table {event.schema_name}.{event.table_name}")
        return found
