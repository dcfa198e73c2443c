"""Where a cut may end: never beyond what is resolved, never past a DDL, and bounded in bytes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.pipeline.cuts import Bounds, bounds, merged_buckets
from tailrace.upstream.base import Bucket, Frontier


def frontier(range_id: int, *buckets: tuple[int, int], resolved: int = 1000) -> Frontier:
    return Frontier(range_id, resolved, tuple(Bucket(ts, 1, size) for ts, size in buckets), 0)


def ddl(ts: int, seq: int = 0) -> DdlEvent:
    return DdlEvent(ts, ts - 1, seq, DdlType.ADD_COLUMN, "ALTER", "shop", "orders")


def test_nothing_resolved_beyond_the_last_cut_is_no_cut() -> None:
    assert bounds([frontier(1, (5, 10))], [], resolved=7, from_ts=7, limit_bytes=100) is None


def test_a_cut_without_ddl_ends_at_what_is_resolved() -> None:
    found = bounds([frontier(1, (5, 10)), frontier(2, (6, 20))], [], resolved=9, from_ts=1, limit_bytes=100)
    assert found == Bounds(9, (), 2, 30)


def test_a_cut_ends_at_the_first_ddl_and_takes_all_events_of_its_ts() -> None:
    events = [ddl(6), ddl(6, seq=1), ddl(8)]
    found = bounds([frontier(1, (5, 10), (7, 10))], events, resolved=9, from_ts=1, limit_bytes=100)
    assert found == Bounds(6, tuple(events[:2]), 1, 10)


def test_a_bucket_that_reaches_past_the_end_does_not_pass_for_nothing() -> None:
    found = bounds([frontier(1, (50, 10))], [], resolved=9, from_ts=1, limit_bytes=100)
    assert found is not None
    assert (found.to_ts, found.rows > 0) == (9, True)


def test_a_cut_that_is_full_ends_before_the_ddl_and_leaves_it() -> None:
    found = bounds([frontier(1, (3, 90), (4, 90))], [ddl(6)], resolved=9, from_ts=1, limit_bytes=100)
    assert found == Bounds(3, (), 1, 90)


def test_a_transaction_larger_than_the_limit_goes_through_whole() -> None:
    found = bounds([frontier(1, (3, 900), (4, 1))], [], resolved=9, from_ts=1, limit_bytes=100)
    assert found == Bounds(3, (), 1, 900)


def test_buckets_of_one_ts_are_added_up_over_ranges() -> None:
    assert merged_buckets([frontier(1, (3, 5)), frontier(2, (2, 1), (3, 7))]) == [Bucket(2, 1, 1), Bucket(3, 2, 12)]


@given(
    st.lists(st.tuples(st.integers(2, 60), st.integers(1, 50)), max_size=20),
    st.lists(st.integers(2, 60), max_size=4),
    st.integers(1, 60),
    st.integers(1, 100),
)
def test_bounds_never_leave_resolved_and_never_cross_a_ddl(
    sizes: list[tuple[int, int]], ddls: list[int], resolved: int, limit: int
) -> None:
    buckets = sorted(dict(sizes).items())
    events = [ddl(ts) for ts in sorted(set(ddls)) if ts <= resolved]
    found = bounds([frontier(1, *[b for b in buckets if b[0] <= resolved])], events, resolved, 1, limit)
    if found is None:
        assert resolved <= 1
        return
    assert 1 < found.to_ts <= resolved
    assert all(event.commit_ts >= found.to_ts for event in events)
    assert found.bytes == sum(size for ts, size in buckets if ts <= found.to_ts)
    assert found.events == tuple(event for event in events if event.commit_ts == found.to_ts)
