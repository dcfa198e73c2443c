"""Territory: which tables and ranges a subscription has at a ts, and how that changes at a DDL.

Guarantees: all tables that match at the start are registered at one version; a table that is born later is registered
at the ts of the DDL that made it, so its log has no gap and needs no snapshot. A table that comes into the filter by a
rename cannot be captured without a snapshot, and is refused as TiCDC refuses it. It never moves progress.
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
from tailrace.progress.position import Progress, RangeProgress, Stage
from tailrace.route.filter import TableFilter
from tailrace.upstream.base import Upstream

logger = logging.getLogger(__name__)

_CREATING = {DdlType.CREATE_TABLE, DdlType.TRUNCATE_TABLE}


class Territory:
    def __init__(self, upstream: Upstream, subscription: str, rules: TableFilter) -> None:
        self._upstream = upstream
        self._subscription = subscription
        self._rules = rules
        self.tables: dict[int, TableSchema] = {}
        self.routes: dict[int, Range] = {}
        self._ahead: set[int] = set()

    def settle(self, start: str) -> Progress:
        """The first progress of a new subscription: everything registered, nothing delivered."""
        at = int(start) if start.isdigit() else self._upstream.now()
        stage = Stage.SNAPSHOT if start == "snapshot" else Stage.LOG
        positions: list[RangeProgress] = []
        self._occupy(at)
        for route in self.routes.values():
            positions.append(self._register(route, at, stage))
        to_ts = 0 if stage is Stage.SNAPSHOT and positions else at
        return Progress(self._subscription, 0, to_ts, tuple(positions))

    def return_to(self, progress: Progress) -> None:
        """Find the tables and routes of a saved progress again."""
        versions = [position.init_snapshot_version for position in progress.ranges]
        self._occupy(progress.to_ts or max(versions, default=0))
        for position in progress.ranges:
            route = self.routes.get(position.range_id)
            if route is None or not position.describes(route):
                where = f"range {position.range_id} of table {position.table_id}"
                raise StaleRoute(f"{where} is not routed as it was saved", subscription=self._subscription)

    def matches(self, event: DdlEvent) -> bool:
        """Whether a DDL is the subscription's: by any name that it touches, old or new."""
        return any(
            self._rules.matches(schema, table) if table else self._rules.matches_schema(schema)
            for schema, table in event.names
        )

    def after_ddl(self, progress: Progress, events: Sequence[DdlEvent]) -> Progress:
        """The progress with the ranges of the tables as they are after the DDL events of one commit ts."""
        at, known = progress.to_ts, set(self.tables)
        self._occupy(at)
        for event in events:
            table = event.table
            if event.type == DdlType.RENAME_TABLE and table and not self._was_ours(event, known | _made(events)):
                old = event.before.full_name if event.before else "its old name"
                raise ConfigError(
                    f"a rename brings {table.full_name} into the filter: match {old} as well, or leave both out",
                    subscription=self._subscription,
                    table=table.full_name,
                    position=str(at),
                )
        return replace(progress, ranges=self._ranges(progress))

    def joined(self, progress: Progress) -> Progress:
        """The progress with ranges that arrived without a DDL: nothing of theirs is delivered, or below its ts."""
        self._occupy(progress.to_ts)
        return replace(progress, ranges=self._ranges(progress))

    def _ranges(self, progress: Progress) -> tuple[RangeProgress, ...]:
        positions, at = progress.by_range(), progress.to_ts
        routes = list(self.routes.values())
        return tuple(positions.get(route.id) or self._register(route, at, Stage.LOG) for route in routes)

    def _was_ours(self, event: DdlEvent, known: set[int]) -> bool:
        """Whether a renamed table matched by its old name too, seen or not (one without rows may not have been)."""
        old = event.before
        return (event.table is not None and event.table.table_id in known) or (
            old is not None and self._rules.matches(old.schema, old.name)
        )

    def pin_ahead(self, events: Sequence[DdlEvent]) -> None:
        """Hold the history of tables that the log is going to bring.

        A subscription whose sink is away may come to their CREATE long after it, when nobody else has held it."""
        for event in events:
            table = event.table
            if event.type not in _CREATING or table is None or table.table_id in self._ahead:
                continue
            self._ahead.add(table.table_id)
            try:
                for route in self._upstream.routes(table):
                    self._upstream.register(route, self._subscription, event.commit_ts)
            except (NotFound, TableGone, PositionLost) as error:
                # Whoever delivers the CREATE says what that means.
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
        versions = [position.init_snapshot_version for position in progress.ranges]
        self._occupy(progress.to_ts or max(versions, default=0))
        self.release(list(self.routes.values()))

    def _occupy(self, at: Ts) -> None:
        tables = {table.table_id: table for table in self._upstream.tables(self._rules, at)}
        routes: dict[int, Range] = {}
        for table in tables.values():
            try:
                routes |= {route.id: route for route in self._upstream.routes(table)}
            except (NotFound, TableGone):
                logger.warning("table %s was dropped before it could be read", table.full_name)
        self.tables, self.routes = tables, routes

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


def _made(events: Sequence[DdlEvent]) -> set[int]:
    """Tables that the same statement, or another of its commit ts, created."""
    return {event.table.table_id for event in events if event.table and event.type in _CREATING}
