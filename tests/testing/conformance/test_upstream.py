"""The suite for upstreams finds what it is there to find: each broken upstream fails the test of what it breaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow.compute as pc
import pytest

from tailrace.change.batch import UPDATE, ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import StaleRoute
from tailrace.testing.conformance.source import SourceReading
from tailrace.testing.conformance.succession import SuccessionConformance
from tailrace.testing.conformance.upstream import UpstreamConformance
from tailrace.upstream.base import Frontier, LogPage, Mark, SnapshotPage, Upstream, UpstreamSpec, Within
from tailrace.upstream.memory import MemoryUpstream
from tests.upstream.test_memory import MemorySource


class LosesTheLastChange(MemoryUpstream):
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
        page = super().pull_log(range, from_index, from_ts, upto_ts, limit_bytes, token, within)
        return replace(page, batches=tuple(batch.slice(0, batch.num_rows - 1) for batch in page.batches))


class TellsTwice(MemoryUpstream):
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
        page = super().pull_log(range, from_index, from_ts, upto_ts, limit_bytes, token, within)
        return replace(page, batches=page.batches * 2)


class ForgetsWhereASpanBegins(MemoryUpstream):
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
        return super().pull_log(range, from_index, 0, upto_ts, limit_bytes, token, within)


class PromisesTooMuch(MemoryUpstream):
    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        return [replace(each, resolved_ts=each.resolved_ts + 50) for each in super().frontier(marks, wait_s)]


class CountsWrongly(MemoryUpstream):
    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        return [replace(each, buckets=each.buckets[1:]) for each in super().frontier(marks, wait_s)]


class ReadsTheTableAsItIsNow(MemoryUpstream):
    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        return super().pull_snapshot(range, self.now(), after_key, end_key, limit_rows, from_key)


class IgnoresTheLimit(MemoryUpstream):
    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        return super().pull_snapshot(range, version, after_key, end_key, 1000, from_key)


class KnowsOnlyTheLastSchema(MemoryUpstream):
    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        return self._table(table_id).versions[-1]


class LeavesAGap(MemoryUpstream):
    def routes(self, table: TableSchema) -> list[Range]:
        routes = super().routes(table)
        return [routes[0], *routes[2:]]


class RepeatsDdl(MemoryUpstream):
    def ddl(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        return super().ddl(after - 1, upto)


class GivesTheNewValuesAsTheOld(MemoryUpstream):
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
        page = super().pull_log(range, from_index, from_ts, upto_ts, limit_bytes, token, within)
        return replace(page, batches=tuple(map(self.confused, page.batches)))

    def confused(self, batch: ChangeBatch) -> ChangeBatch:
        before = pc.if_else(pc.equal(batch.op, UPDATE), batch.after, batch.before)
        return ChangeBatch(batch.table, batch.data.set_column(4, "before", before))


class ForgetsClosedLogs(MemoryUpstream):
    def closed_routes(self, table: TableSchema, since: Ts) -> list[Range]:
        return []


class ReadsClosedRangesAsItself(MemoryUpstream):
    def routes(self, table: TableSchema) -> list[Range]:
        return [*super().routes(table), *self.closed_routes(table, 1)]


class KnowsNoHeirs(MemoryUpstream):
    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        return [replace(each, heirs=()) for each in super().frontier(marks, wait_s)]


class SpeaksForItsHeirs(MemoryUpstream):
    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        return [replace(each, resolved_ts=self.now()) for each in super().frontier(marks, wait_s)]


class PicksNothing(MemoryUpstream):
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
        return super().pull_log(range, from_index, from_ts, upto_ts, limit_bytes, token)


class IgnoresWhereToBegin(MemoryUpstream):
    def pull_snapshot(
        self, range: Range, version: Ts, after_key: bytes, end_key: bytes, limit_rows: int, from_key: bytes = b""
    ) -> SnapshotPage:
        return super().pull_snapshot(range, version, after_key, end_key, limit_rows)


BROKEN_RANGES = [
    (ForgetsClosedLogs, "test_each_change_is_in_one_log"),
    (ReadsClosedRangesAsItself, "test_heirs_hold_every_key_without_gaps"),
    (KnowsNoHeirs, "test_a_closed_range_names_its_heirs_once_and_knows_no_more_than_its_log"),
    (SpeaksForItsHeirs, "test_a_closed_range_names_its_heirs_once_and_knows_no_more_than_its_log"),
    (PicksNothing, "test_a_log_is_picked_by_keys_and_what_they_have"),
    (IgnoresWhereToBegin, "test_a_snapshot_goes_on_in_the_heirs"),
]

BROKEN = [
    (GivesTheNewValuesAsTheOld, "test_every_change_fits_the_one_before_it"),
    (TellsTwice, "test_every_change_fits_the_one_before_it"),
    (LosesTheLastChange, "test_the_log_is_complete_and_ordered"),
    (TellsTwice, "test_the_log_is_complete_and_ordered"),
    (ForgetsWhereASpanBegins, "test_a_span_of_the_log_holds_only_its_own_changes"),
    (PromisesTooMuch, "test_resolved_never_passes_a_row_that_appears_later"),
    (CountsWrongly, "test_buckets_say_what_the_log_holds"),
    (ReadsTheTableAsItIsNow, "test_a_snapshot_is_the_table_at_its_version"),
    (IgnoresTheLimit, "test_a_snapshot_is_the_table_at_its_version"),
    (KnowsOnlyTheLastSchema, "test_a_schema_is_found_by_its_version"),
    (LeavesAGap, "test_routes_are_in_key_order_without_gaps"),
    (RepeatsDdl, "test_ddl_events_come_in_order_and_completely"),
]


@pytest.mark.parametrize(("kind", "test"), BROKEN)
def test_a_broken_upstream_fails(kind: type[MemoryUpstream], test: str) -> None:
    fails(UpstreamConformance(), kind, test)


@pytest.mark.parametrize(("kind", "test"), BROKEN_RANGES)
def test_an_upstream_that_loses_its_ranges_fails(kind: type[MemoryUpstream], test: str) -> None:
    fails(SuccessionConformance(), kind, test)


def fails(suite: SourceReading, kind: type[MemoryUpstream], test: str) -> None:
    source = MemorySource()

    def upstream() -> Upstream:
        return kind(UpstreamSpec(source.uri))

    getattr(suite, test)(MemorySource())
    source.upstream = upstream  # type: ignore[method-assign]
    with pytest.raises((AssertionError, StaleRoute)):
        getattr(suite, test)(source)
