"""Territory: which tables and ranges a subscription has at a ts, and how that changes at a DDL.

Guarantees: all tables that match at the start are registered at one version; a table that is born later is registered
at the ts of the DDL that made it, so its log has no gap and needs no snapshot. Ranges that became others are followed
(`succession`); a table whose snapshot ended because it was dropped does not come back. A table that a rename brings
into the filter is a newcomer: its rows are read as of the rename. It never moves progress.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import ConfigError, NotFound, PositionLost, StaleRoute, TableGone
from tailrace.observe.failpoints import reach
from tailrace.pipeline.succession import delivered_through, followed, nothing_delivered, renewed, version_of
from tailrace.progress.plan import in_order
from tailrace.progress.position import Progress, RangeProgress, Stage
from tailrace.route.filter import TableFilter
from tailrace.upstream.base import Upstream

NOBODY: frozenset[int] = frozenset()
BIRTHS = frozenset({DdlType.CREATE_TABLE, DdlType.TRUNCATE_TABLE})

logger = logging.getLogger(__name__)


class Territory:
    def __init__(self, upstream: Upstream, subscription: str, rules: TableFilter) -> None:
        self._upstream = upstream
        self._subscription = subscription
        self._rules = rules
        self.tables: dict[int, TableSchema] = {}
        self.routes: dict[int, Range] = {}
        self._living: dict[int, list[Range]] = {}
        self._closed: dict[int, list[Range]] = {}
        self._ahead: set[int] = set()

    def settle(self, start: str) -> Progress:
        """The first progress of a new subscription: everything registered, nothing delivered."""
        at = int(start) if start.isdigit() else self._upstream.now()
        return self._settled(at, Stage.SNAPSHOT if start == "snapshot" else Stage.LOG)

    def _settled(self, at: Ts, stage: Stage) -> Progress:
        self._occupy(at, at)
        positions = tuple(self._born(table, at, stage) for table in self.tables.values())
        ranges = tuple(each for of_table in positions for each in of_table)
        return Progress(self._subscription, 0, 0 if stage is Stage.SNAPSHOT and ranges else at, ranges)

    def return_to(self, progress: Progress) -> Progress:
        """The tables and routes of a saved progress as they are now, and the positions of the ranges that there are
        now: those that were saved, or what they became."""
        at = progress.reached or version_of(progress)
        self._occupy(at, at)
        after = self._followed(progress, at, frozenset())
        left = sorted(progress.by_range().keys() - after.by_range().keys())
        self.release([self._drained(range_id) for range_id in left])
        return after

    def _drained(self, range_id: int) -> Range:
        """A range of which nothing is needed any more; one that is gone without heirs is not that."""
        try:
            route = self._upstream.route(range_id)
        except NotFound as error:
            raise StaleRoute(f"range {range_id} is gone, and was saved", subscription=self._subscription) from error
        if not route.heirs:
            raise StaleRoute(f"range {range_id} is not routed as it was saved", subscription=self._subscription)
        return route.range

    def joined(self, progress: Progress) -> Progress:
        """The progress with tables that arrived without a DDL: nothing of theirs is delivered, or below its ts."""
        at = progress.reached
        self._occupy(at, at)
        known = {position.table_id for position in progress.ranges}
        return self._followed(progress, at, frozenset(self.tables.keys() - known))

    def _was_ours(self, event: DdlEvent) -> bool:
        """Whether a renamed table matched by its old name too, seen or not (one without rows may not have been)."""
        old = event.before
        return old is not None and self._rules.matches(old.schema, old.name)

    def _unreadable(self, table: TableSchema, renames: Sequence[DdlEvent], at: Ts) -> ConfigError:
        befores = [event.before for event in renames if event.table and event.table.table_id == table.table_id]
        old = befores[0].full_name if befores and befores[0] else "its old name"
        return ConfigError(
            f"a rename brings {table.full_name} into the filter, and its rows cannot be read here: match {old} as "
            "well, or leave both out",
            subscription=self._subscription,
            table=table.full_name,
            position=str(at),
        )

    def keep(self, progress: Progress) -> None:
        """Only the ranges that a progress speaks of are held from now on."""
        kept = progress.by_range()
        self.routes = {range_id: route for range_id, route in self.routes.items() if range_id in kept}

    def renew(self, progress: Progress) -> Progress:
        """A snapshot's version is gone: everything that has nothing yet is read at a new one."""
        if not nothing_delivered(progress):
            return renewed(progress, self._upstream.now())
        return replace(self._settled(self._upstream.now(), Stage.SNAPSHOT), cut=progress.cut)

    def matches(self, event: DdlEvent) -> bool:
        """Whether a DDL is the subscription's: by any name that it touches, old or new."""
        return any(
            self._rules.matches(schema, table) if table else self._rules.matches_schema(schema)
            for schema, table in event.names
        )

    def after_ddl(self, progress: Progress, events: Sequence[DdlEvent], at: Ts) -> Progress:
        """The progress with the ranges of the tables as they are after the DDL events of one commit ts, `at`.

        A table that a rename brings into the filter has rows already: they are read as of `at`, like a snapshot's."""
        known, made = set(self.tables), _made(events)
        self._occupy(at, at)
        renames = [event for event in events if event.table and event.type == DdlType.RENAME_TABLE]
        ours = {event.table.table_id for event in renames if event.table and self._was_ours(event)}
        came = {event.table.table_id for event in renames if event.table} - known - made
        newcomers = frozenset(came - ours) & self.tables.keys()
        # One that matched before and was not seen had no rows.
        made |= came & ours
        if newcomers and not self._upstream.has_snapshot:
            raise self._unreadable(self.tables[min(newcomers)], renames, at)
        after = self._followed(progress, at, made, newcomers)
        return delivered_through(after, at) if newcomers else after

    def pin_births(self, after: Ts) -> None:
        """Tables that were made after a ts are pinned from their first moment, however long it takes to get there."""
        events = self._upstream.ddl(after, self._upstream.ddl_resolved())
        self.pin_ahead([event for event in events if self.matches(event)])

    def pin_ahead(self, events: Sequence[DdlEvent]) -> None:
        """Hold the history of tables that the log is going to bring.

        A subscription whose sink is away, or whose snapshot is long, may come to their CREATE long after it, when
        nobody else has held it."""
        for event in events:
            table = event.table
            came = event.type in BIRTHS or event.type == DdlType.RENAME_TABLE
            if table is None or not came or table.table_id in self._ahead | self.tables.keys():
                continue
            if not self._rules.matches(table.schema, table.name):
                continue
            self._ahead.add(table.table_id)
            try:
                for route in self._upstream.routes(table):
                    self._upstream.register(route, self._subscription, event.commit_ts)
            except (NotFound, TableGone, PositionLost) as error:
                # Whoever delivers the statement says what that means.
                logger.warning("%s cannot be held ahead: %s", table.full_name, error)

    def release(self, routes: Sequence[Range], upto: Ts = MAX_TS) -> None:
        """Let go of history; a range that is gone holds none."""
        if routes:
            reach("before-release")
        for route in routes:
            try:
                self._upstream.release(route, self._subscription, upto)
            except (NotFound, TableGone):
                logger.info("range %s is gone and pins nothing", route.id)
        if routes:
            reach("after-release")

    def leave(self, progress: Progress) -> None:
        """The subscription is cancelled: nothing is pinned for it any more."""
        at = progress.reached or version_of(progress)
        self._occupy(at, at)
        self.release(list(self.routes.values()))

    def _occupy(self, at: Ts, since: Ts) -> None:
        """The tables at a ts with their ranges: those led now, and closed ones whose log holds more than `since`."""
        self.tables = {table.table_id: table for table in self._upstream.tables(self._rules, at)}
        self._living, self._closed = {}, {}
        for table in self.tables.values():
            try:
                living = self._upstream.routes(table)
                closed = self._upstream.closed_routes(table, since)
            except (NotFound, TableGone):
                logger.warning("table %s was dropped before it could be read", table.full_name)
                continue
            self._living[table.table_id] = living
            ids = {route.id for route in living}
            self._closed[table.table_id] = [route for route in closed if route.id not in ids]
        groups = [*self._closed.values(), *self._living.values()]
        self.routes = {route.id: route for group in groups for route in group}

    def _followed(
        self, progress: Progress, at: Ts, made: frozenset[int], newcomers: frozenset[int] = NOBODY
    ) -> Progress:
        """Positions for all ranges of the tables; only tables that are new at `at` have none to inherit."""
        ranges: list[RangeProgress] = []
        for table_id, living in self._living.items():
            mine = [position for position in progress.ranges if position.table_id == table_id]
            if not mine and table_id in made | newcomers:
                stage = Stage.LOG if table_id in made else Stage.SNAPSHOT
                ranges += self._born(self.tables[table_id], at, stage)
            for physical in {route.physical_id for route in living} if mine else ():
                ranges += self._of_physical(mine, physical, table_id, at)
        known = progress.by_range()
        for position in ranges:
            if position.range_id not in known and position.table_id not in made | newcomers:
                self._upstream.register(self.routes[position.range_id], self._subscription, at)
        after = in_order(replace(progress, ranges=tuple(ranges)))
        self.keep(after)
        return after

    def _of_physical(
        self, mine: Sequence[RangeProgress], physical: int, table_id: int, at: Ts
    ) -> Sequence[RangeProgress]:
        saved = [position for position in mine if position.physical_id == physical]
        living = [route for route in self._living[table_id] if route.physical_id == physical]
        if not saved:
            # A partition that was added.
            return [self._register(route, at, Stage.LOG) for route in living]
        closed = [route for route in self._closed[table_id] if route.physical_id == physical]
        return followed(saved, living, closed)

    def _born(self, table: TableSchema, at: Ts, stage: Stage) -> list[RangeProgress]:
        closed = [self._register(route, at, Stage.DRAINING) for route in self._closed.get(table.table_id, ())]
        return [*(self._register(route, at, stage) for route in self._living.get(table.table_id, ())), *closed]

    def _register(self, route: Range, at: Ts, stage: Stage) -> RangeProgress:
        version = self._upstream.register(route, self._subscription, at)
        return RangeProgress(
            range_id=route.id,
            table_id=route.table_id,
            partition_id=route.partition_id,
            start=route.start,
            end=route.end,
            stage=stage,
            init_snapshot_version=version.ts,
            current_snapshot_version=version.ts,
            last_log_index=version.log_index,
            through_ts=0 if stage is Stage.SNAPSHOT else version.ts,
        )


def _made(events: Sequence[DdlEvent]) -> frozenset[int]:
    """Tables that the same statement, or another of its commit ts, created."""
    return frozenset(event.table.table_id for event in events if event.table and event.type in BIRTHS)
