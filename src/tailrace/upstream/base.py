"""Upstreams: where changes come from. An upstream is anything with ranges (DESIGN section 3).

What every upstream guarantees:

* *Complete*: once `frontier` says that a range is resolved to R, no change of it with a commit ts <= R will appear
  any more, and `pull_log` up to R returns every one there is.
* *Ordered*: the batches of one `LogPage`, and of the pages that follow it by `next`, are in commit order
  (commit ts, then start ts); a batch holds one schema version.
* *Repeatable*: the same pull gives the same changes as long as the position is pinned. A position that is no longer
  held is `PositionLost`, with the interval that is missing; it is never silently read anew.
* *Succession*: a range may become others. Each change is in the log of exactly one range, the one that held its key
  then; `Frontier.heirs`, `closed_routes` and `route` lead from one to the next.
* *Thread-safe*: a task may pull several ranges at once through one `Upstream` object.

Calls raise `StaleRoute` (ask `routes` again), `UpstreamAway`, `IteratorLost` (all Transient), `PositionLost` or
`TableGone` (Terminal). `IteratorLost` says that a snapshot's version cannot be read any more, while the log above it
is there: a newer version can be read. Each call has a deadline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts


@dataclass(frozen=True, slots=True)
class UpstreamSpec:
    """How a worker opens the upstream again: a URI such as `dataserver://127.0.0.1:2379`. Equal specs share one.

    `config` is the TOML of the changefeed that wrote what is read, where the upstream is such a thing."""

    uri: str
    time_zone: str = "UTC"
    config: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotVersion:
    """The version at which a range's rows are read and the log index from which its later changes are found."""

    ts: Ts
    log_index: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """The changes of a range with `previous bucket's ts < commit_ts <= ts`: how many rows and bytes."""

    ts: Ts
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a subscriber stands in a range, as a question to `frontier`; `closed` says that it knows of the heirs,
    so that it is not told of them again."""

    range: Range
    from_index: int
    from_ts: Ts
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Frontier:
    """How far a range is resolved, what lies between the mark and that (ascending; empty: nothing), and the log
    index from which everything above `resolved_ts` can be found (saved as the next `from_index`).

    With `heirs` the range became these: its log is closed, and `buckets` are all that it holds. Of its keys' changes
    those that it does not hold are in the logs of the heirs, and above `resolved_ts`."""

    range_id: int
    resolved_ts: Ts
    buckets: tuple[Bucket, ...]
    next_index: int
    heirs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """A range as it is led now. With `heirs` it became these, and `last_ts` is the last commit ts of its log."""

    range: Range
    heirs: tuple[int, ...] = ()
    last_ts: Ts = 0


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """Rows of a range at a version, in key order, as inserts whose commit ts is the version."""

    batches: tuple[ChangeBatch, ...]
    last_key: bytes
    end: bool


@dataclass(frozen=True, slots=True)
class LogPage:
    """Changes of a range in commit order. `next` is a token to go on with, empty when the span is drained."""

    batches: tuple[ChangeBatch, ...]
    next: bytes


class Within(Protocol):
    """Keys from `start` on and below `end` (empty: no end), of which changes above `through` are wanted
    (`progress.interval.Interval` is one)."""

    @property
    def start(self) -> bytes: ...

    @property
    def end(self) -> bytes: ...

    @property
    def through(self) -> Ts: ...


class TableRules(Protocol):
    """Which tables a subscription wants (`route.filter.TableFilter` is one)."""

    def matches(self, schema: str, table: str) -> bool: ...


class Upstream(Protocol):
    @property
    def has_snapshot(self) -> bool:
        """Whether the rows of a moment can be read, or only changes."""
        ...

    def now(self) -> Ts:
        """A new timestamp of the TSO: above every commit ts handed out before."""
        ...

    def tables(self, rules: TableRules, at: Ts) -> list[TableSchema]:
        """The tables that exist at `at` and match, without views."""
        ...

    def arrivals(self) -> int:
        """A number that rises whenever `tables` or `routes` may have gained something that no DDL event announces.

        What arrives so has no change at or below any ts that was resolved before. Elsewhere 0."""
        ...

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        """A table's schema of exactly that version (cached; raises NotFound)."""
        ...

    def routes(self, table: TableSchema) -> list[Range]:
        """The table's ranges, in key order, gapless per physical table, with their leaders."""
        ...

    def closed_routes(self, table: TableSchema, since: Ts) -> list[Range]:
        """Ranges that became others, and whose logs hold changes above `since`: they are read beside `routes`. Asked
        after `routes`, and without a gap: a change above `since` is in the log of one of both, or of an heir."""
        ...

    def route(self, range_id: int) -> Route:
        """What became of a range; raises NotFound."""
        ...

    def register(self, range: Range, subscriber: str, at: Ts = 0) -> SnapshotVersion:
        """Pin a range's history for a subscriber from `at` on (0: from now on). Registering again moves nothing
        back: the earlier pin stays until `release`."""
        ...

    def release(self, range: Range, subscriber: str, upto: Ts) -> None:
        """Let go of history up to `upto`; MAX_TS removes the subscriber from the range."""
        ...

    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        """Where each range stands; one call a server. Waits up to `wait_s` for anything new above the marks."""
        ...

    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        """The next rows above `after_key` (empty: from `from_key` on, or from the range's start), at most `limit_rows`
        of them."""
        ...

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
        """Changes with `from_ts < commit_ts <= upto_ts`; `token` is the `next` of the page before, or empty. `within`
        (empty: everything) picks those whose key lies in one of the intervals, and whose commit ts is above its."""
        ...

    def ddl(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        """All DDL events with `after < commit_ts <= upto`, in order, unfiltered."""
        ...

    def ddl_resolved(self) -> Ts:
        """A ts up to which `ddl` is complete for good."""
        ...

    def close(self) -> None: ...


def log_batches(
    upstream: Upstream,
    range: Range,
    from_index: int,
    from_ts: Ts,
    upto_ts: Ts,
    limit_bytes: int,
    within: Sequence[Within] = (),
) -> Iterator[ChangeBatch]:
    """All batches of a span of the log, page after page."""
    token = b""
    while True:
        page = upstream.pull_log(range, from_index, from_ts, upto_ts, limit_bytes, token, within)
        yield from page.batches
        token = page.next
        if not token:
            return
