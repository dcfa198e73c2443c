"""What an upstream guarantees whose ranges split, merge and move, as tests that its author inherits beside the others.

The source can do more here: it makes ranges change. What the tests ask is what a subscriber relies on: each change is
in exactly one log, heirs are named, and a closed log says no more of its keys than it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Protocol

import pytest

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import StaleRoute
from tailrace.progress.interval import Interval
from tailrace.testing.conformance.items import Change, changes_of, state_after
from tailrace.testing.conformance.source import Source, SourceReading
from tailrace.upstream.base import Mark, Upstream, log_batches


class ChangingSource(Source, Protocol):
    def split(self, name: str, key: int) -> None:
        """The range that holds a key becomes two; the key is the first of the right one."""
        ...

    def merge(self, name: str) -> None:
        """The first two ranges of a table become one."""
        ...

    def move(self, name: str) -> None:
        """The first range of a table gets another leader."""
        ...


class SuccessionConformance(SourceReading):
    @pytest.fixture
    def source(self) -> ChangingSource:
        raise NotImplementedError("an upstream's test gives its own source")

    def logs(self, upstream: Upstream, source: ChangingSource, since: Ts) -> list[Range]:
        """Every range whose log may hold changes above a ts: the closed ones and those that are led."""
        table = self.table(source, "t")
        living = upstream.routes(table)
        return [*(each for each in upstream.closed_routes(table, since) if each not in living), *living]

    def test_heirs_hold_every_key_without_gaps(self, source: ChangingSource) -> None:
        before = state_after(self.scenario(source))
        for change in _changes(source):
            change()
            routes = self.routes(source, "t")
            assert all(left.end == right.start for left, right in pairwise(routes))
            version = source.upstream().now()
            rows = [row for route in routes for row in self.snapshot(source, route, version)]
            assert dict(rows) == before and len(rows) == len(before)

    def test_each_change_is_in_one_log(self, source: ChangingSource) -> None:
        written = self.scenario(source)
        for step, change in enumerate(_changes(source)):
            change()
            ts = source.write("t", dict.fromkeys((1, 60, 150, 250), f"step {step}"))
            written += [(ts, key, f"step {step}") for key in (1, 60, 150, 250)]
        upstream, last = source.upstream(), written[-1][0]
        self.resolved(source, "t", last)
        for since in (1, written[len(written) // 2][0], written[-4][0] - 1):
            found = [
                each for route in self.logs(upstream, source, since) for each in self.pull(upstream, route, since, last)
            ]
            assert sorted(found) == sorted(each for each in written if each[0] > since)
        assert upstream.closed_routes(self.table(source, "t"), last) == []

    def test_a_closed_range_names_its_heirs_once_and_knows_no_more_than_its_log(self, source: ChangingSource) -> None:
        written = self.scenario(source)
        upstream = source.upstream()
        parent = self.routes(source, "t")[0]
        source.split("t", 50)
        later = source.write("t", {1: "later", 60: "later"})
        heirs = tuple(route.id for route in self.routes(source, "t")[:2])
        told = upstream.frontier([Mark(parent, 0, 0)], 0.0)[0]
        assert told.heirs == heirs and told.resolved_ts < later
        assert sum(bucket.rows for bucket in told.buckets) == len([each for each in written if each[1] < 100])
        known = upstream.frontier([Mark(parent, 0, 0, closed=True)], 0.0)[0]
        assert (known.heirs, known.buckets) == ((), told.buckets)
        route = upstream.route(parent.id)
        assert (route.heirs, route.last_ts) == (heirs, told.buckets[-1].ts)
        assert [upstream.route(each).heirs for each in heirs] == [(), ()]
        with pytest.raises(StaleRoute):
            upstream.pull_snapshot(parent, upstream.now(), b"", b"", 10)

    def test_a_pinned_log_stays_when_its_range_became_others(self, source: ChangingSource) -> None:
        written = self.scenario(source)
        upstream = source.upstream()
        middle = sorted(ts for ts, _, _ in written)[len(written) // 2]
        for route in self.routes(source, "t"):
            upstream.register(route, "conformance", middle)
        for change in _changes(source):
            change()
        source.forget()
        found = [
            each
            for route in self.logs(upstream, source, middle)
            for each in self.pull(upstream, route, middle, written[-1][0])
        ]
        assert sorted(found) == sorted(each for each in written if each[0] > middle)

    def test_a_snapshot_goes_on_in_the_heirs(self, source: ChangingSource) -> None:
        before = state_after(self.scenario(source))
        upstream = source.upstream()
        parent = self.routes(source, "t")[0]
        version = upstream.register(parent, "conformance").ts
        for route in self.routes(source, "t")[1:]:
            upstream.register(route, "conformance", version)
        page = upstream.pull_snapshot(parent, version, b"", b"", 2)
        rows = changes_of(page.batches)
        source.write("t", dict.fromkeys(before, "later"))
        source.split("t", 3)
        source.move("t")
        at = page.last_key
        for route in self.routes(source, "t"):
            start = max(route.start, at + b"\0")
            if route.end and route.end <= start:
                continue
            rest = upstream.pull_snapshot(route, version, b"", b"", 1000, start)
            assert rest.end
            rows += changes_of(rest.batches)
        assert {number: note for _, number, note in rows} == before and len(rows) == len(before)

    def test_an_old_epoch_is_refused(self, source: ChangingSource) -> None:
        self.scenario(source)
        upstream = source.upstream()
        old = self.routes(source, "t")[0]
        source.move("t")
        new = self.routes(source, "t")[0]
        assert (new.id, new.start, new.end) == (old.id, old.start, old.end) and new.epoch > old.epoch
        for call in (
            lambda: upstream.frontier([Mark(old, 0, 0)], 0.0),
            lambda: upstream.pull_log(old, 0, 0, 1, 1000, b""),
            lambda: upstream.pull_snapshot(old, upstream.now(), b"", b"", 10),
        ):
            with pytest.raises(StaleRoute):
                call()
        upstream.frontier([Mark(new, 0, 0)], 0.0)

    def test_a_log_is_picked_by_keys_and_what_they_have(self, source: ChangingSource) -> None:
        written = self.scenario(source)
        upstream, last = source.upstream(), written[-1][0]
        parent = self.routes(source, "t")[0]
        self.resolved(source, "t", last)
        source.split("t", 2)
        middle = written[len(written) // 2][0]
        left, right = self.routes(source, "t")[:2]
        wanted = [Interval(left.start, left.end, 0), Interval(right.start, right.end, middle)]
        for some in (wanted, wanted[:1], wanted[1:]):
            found = changes_of(list(log_batches(upstream, parent, 0, 0, last, 256, some)))
            low = [each for each in written if each[1] < 2] if wanted[0] in some else []
            high = [each for each in written if 2 <= each[1] < 100 and each[0] > middle] if wanted[1] in some else []
            assert sorted(found) == sorted([*low, *high])

    def test_nothing_is_lost_while_ranges_change_under_writers(self, source: ChangingSource) -> None:
        source.create("t", [100, 200])
        upstream = source.upstream()
        start = upstream.now()
        with ThreadPoolExecutor(3) as pool:
            jobs = [pool.submit(_write_some, source, worker) for worker in range(2)]
            for change in _changes(source):
                change()
            written = [each for job in jobs for each in job.result()]
        last = max(each[0] for each in written)
        self.resolved(source, "t", last)
        logs = self.logs(upstream, source, start)
        found = [each for route in logs for each in self.pull(upstream, route, start, last)]
        assert sorted(found) == sorted(written)


def _changes(source: ChangingSource) -> Sequence[Callable[[], None]]:
    return (
        lambda: source.split("t", 50),
        lambda: source.merge("t"),
        lambda: source.split("t", 2),
        lambda: source.move("t"),
        lambda: source.merge("t"),
        lambda: source.merge("t"),
    )


def _write_some(source: Source, worker: int) -> list[Change]:
    written: list[Change] = []
    for step in range(12):
        notes = {base + worker: f"{worker} at {step}" for base in (0, 60, 100, 200)}
        ts = source.write("t", notes)
        written += [(ts, key, note) for key, note in notes.items()]
    return written
