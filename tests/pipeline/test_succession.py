"""Positions of ranges that became others: every key keeps what it has, and is followed in every log that has it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.ranges import Epoch, Range
from tailrace.errors import StaleRoute
from tailrace.pipeline.succession import (
    behind,
    delivered_through,
    drained_by,
    followed,
    newcomers_read,
    nothing_delivered,
    renewed,
    version_of,
    within,
    without,
)
from tailrace.progress.interval import Interval, cut, joined
from tailrace.progress.position import Progress, RangeProgress, Stage
from tailrace.upstream.base import Bucket, Frontier

LAST = 30
edges = st.lists(st.integers(1, LAST - 1), max_size=5, unique=True).map(sorted)


def name(number: int) -> bytes:
    return b"" if number == LAST else bytes([number])


def route(range_id: int, low: int, high: int, epoch: int = 1) -> Range:
    return Range(range_id, 7, 0, name(low), name(high), Epoch(1, epoch), "a")


def position(range_id: int, low: int, high: int, *parts: Interval, version: int = 5) -> RangeProgress:
    plain = RangeProgress(range_id, 7, 0, name(low), name(high), Stage.LOG, version, version, b"", 9, version)
    return plain.with_intervals(parts) if parts else plain


@st.composite
def positions(draw: st.DrawFn) -> list[RangeProgress]:
    """A table's ranges, each with any part of its keys delivered."""
    found = []
    for number, (low, high) in enumerate(pairwise([0, *draw(edges), LAST])):
        inner = sorted(draw(st.sets(st.integers(low + 1, high - 1), max_size=3))) if high - low > 1 else []
        parts = [Interval(name(a), name(b), draw(st.sampled_from([0, 5]))) for a, b in pairwise([low, *inner, high])]
        found.append(position(number + 1, low, high, *joined(parts)))
    return found


def whole(found: list[RangeProgress]) -> object:
    return joined(each for one in found if one.stage is not Stage.DRAINING for each in one.intervals)


@given(positions(), edges)
def test_whatever_ranges_become_every_key_keeps_what_it_has(saved: list[RangeProgress], inner: list[int]) -> None:
    known = {(each.start, each.end): each.range_id for each in saved}
    living = []
    for number, (low, high) in enumerate(pairwise([0, *inner, LAST])):
        range_id = known.get((name(low), name(high)), 100 + number)
        living.append(route(range_id, low, high, epoch=2))
    closed = [
        Range(each.range_id, 7, 0, each.start, each.end, Epoch(), "a")
        for each in saved
        if each.range_id not in {one.id for one in living}
    ]
    after = followed(saved, living, closed)
    assert whole(after) == whole(saved)
    assert {each.range_id for each in after} == {each.id for each in (*living, *closed)}
    for each in after:
        if each.stage is Stage.DRAINING:
            assert (each.init_snapshot_version, each.last_log_index) == (5, 9)
        elif each.range_id >= 100:
            assert (each.init_snapshot_version, each.last_log_index) == (5, 0)
        else:
            assert each in saved
    assert followed(after, living, closed) == after


def test_keys_that_nobody_had_are_asked_for_again() -> None:
    with pytest.raises(StaleRoute):
        followed([position(1, 0, 10)], [route(2, 0, 10), route(3, 10, 20)], [])


def test_a_closed_log_that_was_never_seen_is_read_too() -> None:
    after = followed([position(1, 0, LAST)], [route(3, 0, 9), route(4, 9, LAST)], [route(1, 0, LAST), route(2, 0, 20)])
    assert {(each.range_id, each.stage) for each in after} == {
        (3, Stage.LOG),
        (4, Stage.LOG),
        (1, Stage.DRAINING),
        (2, Stage.DRAINING),
    }


def test_a_closed_range_is_held_until_its_log_has_nothing_more() -> None:
    progress = Progress("s", 1, 50, (position(1, 0, LAST), replace(position(2, 0, LAST), stage=Stage.DRAINING)))
    some = [Frontier(1, 90, (), 1), Frontier(2, 40, (Bucket(55, 1, 1), Bucket(60, 1, 1)), 1)]
    assert drained_by(progress, some, 59) == frozenset()
    assert drained_by(progress, some, 60) == {2}
    assert [each.range_id for each in without(progress, {2}).ranges] == [1]


def test_only_what_is_delivered_of_a_table_in_parts_is_taken_from_its_logs() -> None:
    half = position(1, 0, 20, Interval(name(0), name(10), 5), Interval(name(10), name(20)))
    none = position(2, 20, LAST, Interval(name(20), name(LAST)))
    log = replace(position(3, 5, LAST), stage=Stage.DRAINING)
    other = replace(position(4, 0, LAST), table_id=8)
    found = within(Progress("s", 1, 0, (half, none, log, other)))
    assert found == {
        1: (Interval(name(0), name(10), 5),),
        2: None,
        3: cut(half.intervals[:1], name(5), name(LAST)),
    }


def test_a_new_version_is_for_what_is_missing_and_the_rest_has_to_catch_up() -> None:
    half = position(1, 0, 20, Interval(name(0), name(10), 5), Interval(name(10), name(20)))
    progress = Progress("s", 1, 0, (half, position(2, 20, LAST)))
    assert not behind(progress) and version_of(progress) == 5
    later = renewed(progress, 9)
    assert behind(later) and (version_of(later), later.reached) == (9, 5)
    assert [each.intervals for each in later.ranges] == [each.intervals for each in progress.ranges]
    level = delivered_through(later, 9)
    assert not behind(level) and level.reached == 9
    assert nothing_delivered(Progress("s", 1, 0, (position(1, 0, LAST, Interval(b"", b"")),)))
    assert not nothing_delivered(progress)


def test_newcomers_are_those_that_came_later_than_others() -> None:
    reading = position(1, 0, LAST, Interval(b"", b""), version=9)
    assert newcomers_read(Progress("s", 1, 0, (position(2, 0, LAST), reading)))
    assert not newcomers_read(Progress("s", 1, 0, (position(2, 0, LAST, version=9), reading)))
    assert not newcomers_read(Progress("s", 1, 0, (reading,)))
