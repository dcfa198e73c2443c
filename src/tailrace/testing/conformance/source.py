"""What a suite of upstreams is made of: the source that an author supplies, and reading it through its upstream.

Nothing here waits for ever: after `patience` seconds without an answer a test fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.testing.conformance.items import SCHEMA, Change, Notes, changes_of, state_after
from tailrace.upstream.base import Mark, Upstream, log_batches


class Source(Protocol):
    """What the suite makes happen: tables as `items.items_table` describes them, in the schema `SCHEMA`."""

    def upstream(self) -> Upstream:
        """A new client; the fixture closes what it gave."""
        ...

    def create(self, name: str, cuts: Sequence[int]) -> None:
        """A table whose ranges are divided at these keys, as far as the upstream can."""
        ...

    def write(self, name: str, notes: Notes) -> Ts:
        """One transaction; its commit ts."""
        ...

    def add_column(self, name: str, column: str) -> None:
        """`ALTER TABLE ... ADD COLUMN column BIGINT`."""
        ...

    def drop(self, name: str) -> None: ...

    def forget(self) -> bool:
        """Let go of all history that no subscriber pins; False where this upstream cannot be made to."""
        ...


class Everything:
    """The rules of a subscription that wants all of the suite's tables."""

    def matches(self, schema: str, table: str) -> bool:
        return schema == SCHEMA


class SourceReading:
    """Asks an upstream for tables, log and snapshot as a careful subscriber does."""

    patience: ClassVar[float] = 30.0

    def scenario(self, source: Source) -> list[Change]:
        """A table `t` of three ranges with a history; its changes in commit order."""
        source.create("t", [100, 200])
        written: list[Change] = []
        for step in range(12):
            keys = {step % 5, 100 + step % 7, 200 + step % 3, 150}
            notes: Notes = {key: None if (key + step) % 4 == 3 else f"{key} at {step}" for key in sorted(keys)}
            held = state_after(written)
            notes = {key: note for key, note in notes.items() if note is not None or key in held}
            ts = source.write("t", notes)
            written += [(ts, key, note) for key, note in notes.items()]
        return written

    def table(self, source: Source, name: str) -> TableSchema:
        upstream = source.upstream()
        return next(table for table in upstream.tables(Everything(), upstream.now()) if table.name == name)

    def routes(self, source: Source, name: str) -> list[Range]:
        return source.upstream().routes(self.table(source, name))

    def resolved(self, source: Source, name: str, ts: Ts) -> None:
        """Wait until all ranges of a table are resolved up to a ts."""
        upstream, marks = source.upstream(), [Mark(route, 0, 0) for route in self.routes(source, name)]
        self.until(
            lambda: min(frontier.resolved_ts for frontier in upstream.frontier(marks, 0.2)) >= ts,
            f"{name} is not resolved up to {ts}",
        )

    def log(self, upstream: Upstream, route: Range, after: Ts, upto: Ts, limit: int) -> list[Change]:
        marks = [Mark(route, 0, after)]
        self.until(lambda: upstream.frontier(marks, 0.2)[0].resolved_ts >= upto, f"range {route.id} is not resolved")
        return self.pull(upstream, route, after, upto, limit)

    def snapshot(self, source: Source, route: Range, version: Ts) -> list[tuple[int, str | None]]:
        """All rows of a range, three a page, each page by another client."""
        rows: list[tuple[int, str | None]] = []
        after, end = b"", False
        while not end:
            page = source.upstream().pull_snapshot(route, version, after, b"", 3)
            changes = changes_of(page.batches)
            assert len(changes) <= 3
            assert {ts for ts, _, _ in changes} <= {version}
            assert page.end or (changes and page.last_key > after)
            rows += [(number, note) for _, number, note in changes]
            after, end = page.last_key, page.end
        assert [number for number, _ in rows] == sorted({number for number, _ in rows})
        return rows

    def pull(self, upstream: Upstream, route: Range, after: Ts, upto: Ts, limit: int = 1 << 20) -> list[Change]:
        return changes_of(list(log_batches(upstream, route, 0, after, upto, limit)))

    def follow(self, source: Source, routes: Sequence[Range], upto: Callable[[], Ts]) -> list[Change]:
        """Everything that each resolved ts brings, step by step; `upto` gives the end once it is known, 0 before."""
        upstream, found, cursor = source.upstream(), list[Change](), 0
        deadline = time.monotonic() + self.patience
        while not 0 < upto() <= cursor:
            assert time.monotonic() < deadline, f"resolved stays at {cursor}"
            frontiers = upstream.frontier([Mark(route, 0, cursor) for route in routes], 0.05)
            reached = min(frontier.resolved_ts for frontier in frontiers)
            if reached > cursor:
                for route in routes:
                    found += self.pull(upstream, route, cursor, reached)
                cursor = reached
        return found

    def until(self, holds: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + self.patience
        while not holds():
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.01)
