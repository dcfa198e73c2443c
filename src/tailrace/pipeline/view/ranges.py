"""A running upstream as the origin of a view: snapshots and logs of a table's ranges.

Where changes are asked for from the beginning, a range gives its rows as of the span's end, for no upstream keeps its
log for ever; from a ts on it gives the log. A stream pins the history that it has not read. A batch read pins what it
reads for as long as it is planned; after that the upstream keeps it for some minutes, in which the read must begin.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tailrace import plugins
from tailrace.change.batch import ChangeBatch
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import MAX_TS, Ts
from tailrace.config import masked_uri
from tailrace.errors import ConfigError, NotFound, TableGone
from tailrace.pipeline.cuts import bounds
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import REWRITES, Limits, Portion, Span, Traits, Version
from tailrace.pipeline.worker import upstreams
from tailrace.upstream.base import Mark, Upstream, UpstreamSpec, log_batches

logger = logging.getLogger(__name__)

_PAGE_ROWS = 1 << 16
_PAGE_BYTES = 8 << 20
_CAUGHT_UP_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class RangePortion:
    """A range's rows as of `upto` where `after` is 0, else its changes above `after` and up to `upto`."""

    spec: UpstreamSpec
    range: Range
    log_index: int
    after: Ts
    upto: Ts
    tables: tuple[TableSchema, ...]

    @property
    def snapshot(self) -> bool:
        return not self.after

    def read(self, wanted: frozenset[str]) -> Iterator[ChangeBatch]:
        upstream = upstreams.get(self.spec)
        if self.after:
            yield from log_batches(upstream, self.range, self.log_index, self.after, self.upto, _PAGE_BYTES)
            return
        key, end = b"", False
        while not end:
            page = upstream.pull_snapshot(self.range, self.upto, key, b"", _PAGE_ROWS)
            yield from page.batches
            key, end = page.last_key, page.end


@dataclass(frozen=True, slots=True)
class _OneTable:
    """The rules that match one table."""

    schema: str
    table: str

    def matches(self, schema: str, table: str) -> bool:
        return (schema, table) == (self.schema, self.table)


class _AnyTable:
    """The rules that match every table."""

    def matches(self, schema: str, table: str) -> bool:
        return True


class RangeOrigin:
    def __init__(self, options: ViewOptions) -> None:
        if options.max_files:
            raise ConfigError("maxFilesPerTrigger is for folders; for a data server it is maxBytesPerTrigger")
        for name, given in (("config", options.config), ("virtualColumns", options.virtual)):
            if given:
                raise ConfigError(f"the option {name} is for folders; a data server knows its tables")
        self._options = options
        self._spec = UpstreamSpec(options.uri, options.time_zone)
        self._upstream = plugins.open_upstream(self._spec)
        self._name = options.subscriber or f"view-{uuid.uuid4().hex[:16]}"
        self._held: dict[int, tuple[Range, int]] = {}
        self._asked_at: Ts = 0

    def look(self) -> RangeSight:
        """The first look waits until what was committed before it is resolved."""
        upstream, options = self._upstream, self._options
        first = not self._asked_at
        self._asked_at = self._asked_at or upstream.now()
        limit = time.monotonic() + (_CAUGHT_UP_S if first else 0.0)
        while True:
            ddl_resolved = upstream.ddl_resolved()
            versions = self._versions(ddl_resolved)
            table = versions[-1].table
            routes = self._routes(table)
            marks = [Mark(route, 0, self._asked_at) for route in routes]
            resolved = min([ddl_resolved, *(front.resolved_ts for front in upstream.frontier(marks, 0.0))])
            if resolved >= self._asked_at or time.monotonic() >= limit:
                return RangeSight(self, upstream, routes, versions, resolved, options)
            time.sleep(_POLL_S)

    def hold(self, route: Range, at: Ts) -> int:
        """Pin a range's history above a ts, once; returns the index from which its log is found."""
        if route.id not in self._held:
            self._held[route.id] = (route, self._upstream.register(route, self._name, at).log_index)
        return self._held[route.id][1]

    def release(self, upto: Ts) -> None:
        for route, _ in self._held.values():
            self._let_go(route, upto)

    def close(self) -> None:
        """What a named subscriber has not read stays pinned, for when it comes again."""
        if not self._options.subscriber:
            self.release(MAX_TS)
        self._upstream.close()

    @property
    def spec(self) -> UpstreamSpec:
        return self._spec

    def _let_go(self, route: Range, upto: Ts) -> None:
        try:
            self._upstream.release(route, self._name, upto)
        except (NotFound, TableGone):
            logger.info("range %s is gone and pins nothing", route.id)

    def _routes(self, table: TableSchema) -> list[Range]:
        chosen = self._options.partitions
        return [route for route in self._upstream.routes(table) if not chosen or route.partition_id in chosen]

    def _versions(self, upto: Ts) -> tuple[Version, ...]:
        name = (self._options.schema, self._options.table)
        found: dict[Ts, Version] = {}
        for event in self._upstream.ddl(0, upto):
            table = event.table or event.before
            if table is None or name not in event.names:
                continue
            if (table.schema, table.name) == name:
                found[event.commit_ts] = Version(event.commit_ts, table, event.query, event.type in REWRITES)
        tables = self._upstream.tables(_OneTable(*name), upto)
        if not tables:
            raise NotFound(self._no_table(upto), table=self._options.full_name, position=masked_uri(self._spec.uri))
        if not found:
            found[tables[0].version] = Version(tables[0].version, tables[0])
        return tuple(found[ts] for ts in sorted(found))

    def _no_table(self, upto: Ts) -> str:
        there = sorted(table.full_name for table in self._upstream.tables(_AnyTable(), upto))
        return f"there is no table {self._options.full_name}; there is {', '.join(there[:20]) or 'none'}"


class RangeSight:
    """Answers about one look at the routes."""

    def __init__(
        self,
        origin: RangeOrigin,
        upstream: Upstream,
        routes: Sequence[Range],
        versions: tuple[Version, ...],
        resolved: Ts,
        options: ViewOptions,
    ) -> None:
        self._origin = origin
        self._upstream = upstream
        self._routes = routes
        self._versions = versions
        self._resolved = resolved
        self._options = options

    @property
    def resolved(self) -> Ts:
        return self._resolved

    @property
    def versions(self) -> tuple[Version, ...]:
        return self._versions

    @property
    def traits(self) -> Traits:
        return Traits()

    def check_kept(self, after: Ts) -> None:
        """Registering says PositionLost where the history above a ts is gone."""
        if after:
            for route in self._routes:
                self._origin.hold(route, after)

    def portions(self, span: Span, needed: Span) -> Sequence[Portion]:
        """One for each range."""
        if span.after:
            span = span.within(needed)
        if span.is_empty:
            return []
        tables = self._tables(span)
        return [
            RangePortion(
                self._origin.spec,
                route,
                self._origin.hold(route, span.after or span.upto),
                span.after,
                span.upto,
                tables,
            )
            for route in self._routes
        ]

    def edge(self, span: Span, limits: Limits) -> Ts:
        """A snapshot is taken whole; of the log as many transactions as the limit leaves, but one at least."""
        if not span.after:
            return span.upto
        marks = [Mark(route, self._origin.hold(route, span.after), span.after) for route in self._routes]
        fronts = self._upstream.frontier(marks, 0.0)
        if not any(bucket.ts <= span.upto for front in fronts for bucket in front.buckets):
            return span.after
        if not limits.bytes:
            return span.upto
        found = bounds(fronts, [], span.upto, span.after, limits.bytes)
        return found.to_ts if found else span.after

    def _tables(self, span: Span) -> tuple[TableSchema, ...]:
        """The versions of which the changes of a span may be; a snapshot is of the one at its end. No change has the
        commit ts of a DDL."""
        early = [version.table for version in self._versions if version.ts <= (span.after or span.upto)][-1:]
        late = [version.table for version in self._versions if span.after and span.after < version.ts < span.upto]
        return (*early, *late) or (self._versions[0].table,)
