"""What every upstream guarantees (`upstream.base`), as tests that its author inherits.

    class TestMine(UpstreamConformance):
        @pytest.fixture
        def source(self) -> Source: ...

Each test gets a new, empty source. The suite reads only through `Upstream`, and knows what should be there because it
wrote it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import ClassVar

import pytest

from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import NotFound, PositionLost
from tailrace.testing.conformance.items import SCHEMA, Change, changes_of, state_after
from tailrace.testing.conformance.source import Everything, Source, SourceReading
from tailrace.testing.validators import ImagesMatch, NoRowBack, OrderPerKey, Stream, Validators
from tailrace.upstream.base import Mark, log_batches


class UpstreamConformance(SourceReading):
    small_page: ClassVar[int] = 256

    @pytest.fixture
    def source(self) -> Source:
        raise NotImplementedError("an upstream's test gives its own source")

    # --- routes, tables, time

    def test_routes_are_in_key_order_without_gaps(self, source: Source) -> None:
        source.create("t", [100, 200])
        routes = source.upstream().routes(self.table(source, "t"))
        assert routes and all(route.leader for route in routes)
        assert len({route.id for route in routes}) == len(routes)
        for left, right in pairwise(routes):
            assert left.end == right.start
        assert all(not route.end or route.start < route.end for route in routes)

    def test_a_new_timestamp_is_above_every_commit_before_it(self, source: Source) -> None:
        source.create("t", [])
        upstream = source.upstream()
        seen = [upstream.now()]
        for number in range(5):
            seen += [source.write("t", {number: "x"}), upstream.now()]
        assert seen == sorted(set(seen))

    def test_tables_are_those_of_a_moment(self, source: Source) -> None:
        upstream = source.upstream()
        before = upstream.now()
        source.create("t", [])
        source.create("u", [])
        between = upstream.now()
        source.drop("t")
        after = upstream.now()
        names = {ts: {table.name for table in upstream.tables(Everything(), ts)} for ts in (before, between, after)}
        assert names == {before: set(), between: {"t", "u"}, after: {"u"}}

    def test_a_schema_is_found_by_its_version(self, source: Source) -> None:
        source.create("t", [])
        old = self.table(source, "t")
        source.add_column("t", "size")
        new = self.table(source, "t")
        upstream = source.upstream()
        assert new.version > old.version
        assert upstream.table_schema(old.table_id, old.version) == old
        assert [column.name for column in upstream.table_schema(new.table_id, new.version).columns] == [
            "id",
            "note",
            "size",
        ]
        with pytest.raises(NotFound):
            upstream.table_schema(old.table_id, 1)

    # --- the log

    def test_the_log_is_complete_and_ordered(self, source: Source) -> None:
        written = self.scenario(source)
        upstream = source.upstream()
        for limit in (self.small_page, 1 << 20):
            found = [self.log(upstream, route, 0, written[-1][0], limit) for route in self.routes(source, "t")]
            for changes in found:
                assert [ts for ts, _, _ in changes] == sorted(ts for ts, _, _ in changes)
            assert sorted(change for changes in found for change in changes) == sorted(written)

    def test_a_span_of_the_log_holds_only_its_own_changes(self, source: Source) -> None:
        written = self.scenario(source)
        times = sorted({ts for ts, _, _ in written})
        low, high = times[3], times[-4]
        upstream = source.upstream()
        self.resolved(source, "t", times[-1])
        found = [
            change
            for route in self.routes(source, "t")
            for change in changes_of(list(log_batches(upstream, route, 0, low, high, 1 << 20)))
        ]
        assert sorted(found) == sorted(change for change in written if low < change[0] <= high)

    def test_the_same_pull_gives_the_same_changes(self, source: Source) -> None:
        written = self.scenario(source)
        last = written[-1][0]
        first, second = source.upstream(), source.upstream()
        for route in self.routes(source, "t"):
            once = self.log(first, route, 0, last, self.small_page)
            source.write("t", {1: "later"})
            assert self.log(first, route, 0, last, self.small_page) == once
            assert self.log(second, route, 0, last, 1 << 20) == once

    def test_a_batch_holds_one_schema_version(self, source: Source) -> None:
        source.create("t", [])
        source.write("t", {1: "a"})
        source.add_column("t", "size")
        last = source.write("t", {2: "b"})
        table = self.table(source, "t")
        upstream = source.upstream()
        self.resolved(source, "t", last)
        batches = [
            batch for route in upstream.routes(table) for batch in log_batches(upstream, route, 0, 0, last, 1 << 20)
        ]
        assert [batch.table.columns[2:] != () for batch in batches] == [False, True]
        assert batches[1].table.version == table.version

    def test_resolved_never_passes_a_row_that_appears_later(self, source: Source) -> None:
        """While transactions run on several threads, what was pulled up to each resolved ts adds up to everything."""
        source.create("t", [100, 200])
        with ThreadPoolExecutor(3) as writers:
            jobs = [writers.submit(_write_some, source, worker) for worker in range(3)]
            found = self.follow(source, self.routes(source, "t"), lambda: _last_ts(jobs))
            written = [change for job in jobs for change in job.result()]
        assert sorted(found) == sorted(written)

    def test_every_change_fits_the_one_before_it(self, source: Source) -> None:
        """The validators, fed with what each range's log gives: order of keys and of time, old values as they were."""
        self.scenario(source)
        upstream = source.upstream()
        end = upstream.now()
        self.resolved(source, "t", end)
        for route in self.routes(source, "t"):
            rules = Validators([OrderPerKey(), NoRowBack(), ImagesMatch()])
            batches = list(log_batches(upstream, route, 0, 0, end, self.small_page))
            assert rules.rows(Stream(SCHEMA, "t", place=f"range {route.id}"), batches) == []

    def test_resolved_advances_while_nothing_happens(self, source: Source) -> None:
        source.create("t", [])
        source.write("t", {1: "a"})
        self.resolved(source, "t", source.upstream().now())

    def test_buckets_say_what_the_log_holds(self, source: Source) -> None:
        written = self.scenario(source)
        upstream = source.upstream()
        middle = sorted(ts for ts, _, _ in written)[len(written) // 2]
        self.resolved(source, "t", written[-1][0])
        rows = 0
        for frontier in upstream.frontier([Mark(route, 0, middle) for route in self.routes(source, "t")], 0):
            ends = [bucket.ts for bucket in frontier.buckets]
            assert ends == sorted(set(ends))
            assert all(middle < ts <= frontier.resolved_ts for ts in ends)
            rows += sum(bucket.rows for bucket in frontier.buckets)
        assert rows == len([change for change in written if change[0] > middle])

    def test_the_next_index_loses_nothing(self, source: Source) -> None:
        self.scenario(source)
        upstream = source.upstream()
        self.resolved(source, "t", upstream.now())
        marks = [Mark(route, 0, 0) for route in self.routes(source, "t")]
        frontiers = upstream.frontier(marks, 0)
        later = source.write("t", {5: "later", 150: "later", 250: "later"})
        self.resolved(source, "t", later)
        found = []
        for mark, frontier in zip(marks, frontiers, strict=True):
            assert frontier.range_id == mark.range.id
            batches = log_batches(upstream, mark.range, frontier.next_index, frontier.resolved_ts, later, 1 << 20)
            found += changes_of(list(batches))
        assert sorted(found) == [(later, 5, "later"), (later, 150, "later"), (later, 250, "later")]

    def test_ranges_can_be_pulled_at_once(self, source: Source) -> None:
        written = self.scenario(source)
        upstream, routes = source.upstream(), self.routes(source, "t")
        self.resolved(source, "t", written[-1][0])
        with ThreadPoolExecutor(8) as pool:
            pulls = [
                pool.submit(self.log, upstream, route, 0, written[-1][0], self.small_page)
                for _ in range(4)
                for route in routes
            ]
            found = sorted(change for pull in pulls for change in pull.result())
        assert found == sorted(written * 4)

    # --- the snapshot

    def test_a_snapshot_is_the_table_at_its_version(self, source: Source) -> None:
        written = self.scenario(source)
        upstream, routes = source.upstream(), self.routes(source, "t")
        version = max(upstream.register(route, "conformance").ts for route in routes)
        versions = {route.id: upstream.register(route, "second", version) for route in routes}
        source.write("t", {1: "after", max(state_after(written)): None, 199: "after"})
        found: dict[int, str | None] = {}
        for route in routes:
            assert versions[route.id].ts == version
            rows = self.snapshot(source, route, version)
            assert not found.keys() & dict(rows).keys()
            found |= dict(rows)
        assert found == state_after(sorted(written))

    def test_the_log_goes_on_where_the_snapshot_ends(self, source: Source) -> None:
        written = self.scenario(source)
        upstream, routes = source.upstream(), self.routes(source, "t")
        version = max(upstream.register(route, "first").ts for route in routes)
        starts = {route.id: upstream.register(route, "conformance", version) for route in routes}
        gone = max(state_after(written))
        later = source.write("t", {1: "after", gone: None, 199: "after"})
        written += [(later, 1, "after"), (later, gone, None), (later, 199, "after")]
        self.resolved(source, "t", later)
        state: dict[int, str | None] = {}
        for route in routes:
            state |= dict(self.snapshot(source, route, version))
            batches = log_batches(upstream, route, starts[route.id].log_index, version, later, 1 << 20)
            state = state_after(changes_of(list(batches)), state)
        assert state == state_after(sorted(written))

    # --- DDL

    def test_ddl_events_come_in_order_and_completely(self, source: Source) -> None:
        upstream = source.upstream()
        start = upstream.now()
        source.create("t", [])
        source.add_column("t", "size")
        source.create("u", [])
        source.drop("t")
        end = upstream.now()
        self.until(lambda: upstream.ddl_resolved() >= end, "the DDL log is not resolved")
        events = upstream.ddl(start, end)
        assert [event.order for event in events] == sorted({event.order for event in events})
        assert [event.table_name for event in events if event.schema_name == SCHEMA and event.table_name] == [
            *("t", "t", "u", "t")
        ]
        first, rest = events[0], events[1:]
        assert upstream.ddl(first.commit_ts, end) == [event for event in rest if event.commit_ts > first.commit_ts]
        assert upstream.ddl(start, first.commit_ts - 1) == []

    def test_who_is_behind_reads_a_table_after_its_end(self, source: Source) -> None:
        """A subscriber that lags meets the table's CREATE in the log when its DROP has long happened."""
        start = source.upstream().now()
        source.create("t", [100])
        ts = source.write("t", {1: "a", 150: "b"})
        table = self.table(source, "t")
        source.drop("t")
        upstream = source.upstream()
        born = min(event.commit_ts for event in upstream.ddl(start, upstream.now()) if event.table_name == "t")
        routes = upstream.routes(table)
        for route in routes:
            assert upstream.register(route, "conformance", born).ts == born
        found = [change for route in routes for change in self.log(upstream, route, born, upstream.now(), 1 << 20)]
        assert sorted(found) == [(ts, 1, "a"), (ts, 150, "b")]

    # --- pins

    def test_a_pinned_position_stays(self, source: Source) -> None:
        written = self.scenario(source)
        upstream, routes = source.upstream(), self.routes(source, "t")
        middle = sorted(ts for ts, _, _ in written)[len(written) // 2]
        self.resolved(source, "t", written[-1][0])
        for route in routes:
            upstream.register(route, "conformance", middle)
            upstream.register(route, "conformance", written[-1][0])
        source.forget()
        found = [change for route in routes for change in self.pull(upstream, route, middle, written[-1][0])]
        assert sorted(found) == sorted(change for change in written if change[0] > middle)

    def test_a_position_that_is_gone_is_an_error(self, source: Source) -> None:
        written = self.scenario(source)
        upstream, routes = source.upstream(), self.routes(source, "t")
        last = written[-1][0]
        self.resolved(source, "t", last)
        for route in routes:
            upstream.register(route, "conformance", 1)
            upstream.release(route, "conformance", MAX_TS)
        if not source.forget():
            pytest.skip("this upstream cannot be made to forget")
        for route in routes:
            with pytest.raises(PositionLost):
                self.pull(upstream, route, 1, last)


def _write_some(source: Source, worker: int) -> list[Change]:
    """Transactions over all ranges of `t`; each worker has keys of its own."""
    written: list[Change] = []
    for step in range(15):
        notes = {base + worker: f"{worker} at {step}" for base in (0, 100, 200)}
        ts = source.write("t", notes)
        written += [(ts, key, note) for key, note in notes.items()]
        # So that there is something to be resolved between two of them.
        time.sleep(0.005)
    return written


def _last_ts(jobs: Sequence[Future[list[Change]]]) -> Ts:
    """The last commit ts of all writers once they are done, 0 before."""
    return max(job.result()[-1][0] for job in jobs) if all(job.done() for job in jobs) else 0
