"""Intervals against a model that says of every single key what it has."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tailrace.progress.interval import (
    Interval,
    Intervals,
    above,
    cut,
    filled,
    joined,
    missing,
    present,
    raised,
    spans,
)
from tailrace.progress.position import RangeProgress, Stage

LAST = 30
edges = st.lists(st.integers(1, LAST - 1), max_size=6, unique=True).map(sorted)
times = st.integers(0, 5)


def name(number: int) -> bytes:
    """The last one is the end of the key space."""
    return b"" if number == LAST else bytes([number])


@st.composite
def lists(draw: st.DrawFn) -> Intervals:
    """A list over all keys."""
    inner = draw(edges)
    bounds = [name(number) for number in [0, *inner, LAST]]
    return joined(Interval(low, high, draw(times)) for low, high in pairwise(bounds))


def model(intervals: Intervals) -> list[int | None]:
    """Through which ts each key is, None where the list says nothing of it."""
    found = []
    for number in range(LAST):
        through = [each.through for each in intervals if each.covers(bytes([number]))]
        assert len(through) < 2, "two intervals overlap"
        found.append(through[0] if through else None)
    return found


def check(intervals: Intervals) -> None:
    for left, right in pairwise(intervals):
        assert left.end and left.end <= right.start
        assert left.end < right.start or left.through != right.through
    assert all(not each.end or each.start < each.end for each in intervals)


@given(lists(), st.integers(0, LAST - 1), st.integers(1, LAST))
def test_a_cut_says_the_same_of_fewer_keys(intervals: Intervals, low: int, size: int) -> None:
    high = min(low + size, LAST)
    part = cut(intervals, name(low), name(high))
    check(part)
    whole = model(intervals)
    assert model(part) == [through if low <= at < high else None for at, through in enumerate(whole)]
    assert spans(part, name(low), name(high))
    assert spans(part, name(low), name(LAST)) == (high == LAST)


@given(lists(), edges)
def test_parts_joined_again_are_the_whole(intervals: Intervals, inner: list[int]) -> None:
    bounds = [name(number) for number in [0, *inner, LAST]]
    parts = [each for low, high in pairwise(bounds) for each in cut(intervals, low, high)]
    assert joined(reversed(parts)) == intervals


@given(lists(), times)
def test_raising_never_gives_rows_to_keys_that_have_none(intervals: Intervals, ts: int) -> None:
    after = raised(intervals, ts)
    check(after)
    assert model(after) == [through and max(through, ts) for through in model(intervals)]


@given(lists(), st.integers(0, LAST - 1), st.integers(1, LAST), st.integers(1, 9))
def test_filling_changes_only_keys_that_have_nothing(intervals: Intervals, low: int, size: int, version: int) -> None:
    high = min(low + size, LAST)
    after = filled(intervals, name(low), name(high), version)
    check(after)
    wanted = [version if not each and low <= at < high else each for at, each in enumerate(model(intervals))]
    assert model(after) == wanted


@given(lists())
def test_what_is_missing_and_what_is_present_is_everything(intervals: Intervals) -> None:
    first = missing(intervals)
    assert (first is None) == (0 not in model(intervals))
    assert first is None or model((first,)).count(0) > 0
    assert model(present(intervals)) == [each or None for each in model(intervals)]


@given(lists(), st.integers(1, 5))
def test_a_position_keeps_what_it_is_given(intervals: Intervals, version: int) -> None:
    position = RangeProgress(1, 7, current_snapshot_version=version).with_intervals(intervals)
    assert position.intervals == intervals
    assert (position.stage is Stage.SNAPSHOT) == (missing(intervals) is not None)
    assert RangeProgress.from_fields(position.to_fields()) == position


@given(st.binary(max_size=3), st.integers(1, 5), st.integers(0, 5))
def test_a_plain_snapshot_needs_no_list(key: bytes, version: int, through: int) -> None:
    position = RangeProgress(1, 7, current_snapshot_version=version, stage=Stage.SNAPSHOT, last_snapshot_key=key)
    again = position.with_intervals(position.intervals)
    assert again == position and not again.listed
    assert not key or [position.intervals[0].covers(each) for each in (key, above(key))] == [True, False]
