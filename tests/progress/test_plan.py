"""Plans: the difference of two progresses leads from the one to the other, and says no more than it must."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.errors import DecodeError
from tailrace.progress.interval import Interval
from tailrace.progress.plan import Difference, applied, difference, in_order
from tailrace.progress.position import Progress, RangeProgress, Stage

timestamps = st.integers(0, (1 << 63) - 1)
keys = st.binary(max_size=6)
listed = st.lists(st.builds(Interval, keys, keys, timestamps), max_size=3).map(tuple)
ranges = st.builds(
    RangeProgress,
    range_id=st.integers(1, 8),
    table_id=st.integers(1, 3),
    partition_id=st.integers(0, 2),
    start=keys,
    end=keys,
    stage=st.sampled_from(Stage),
    init_snapshot_version=timestamps,
    current_snapshot_version=timestamps,
    last_snapshot_key=keys,
    last_log_index=timestamps,
    through_ts=timestamps,
    listed=listed,
)
progresses = st.builds(
    Progress,
    subscription=st.just("orders"),
    cut=st.integers(0, 9),
    to_ts=timestamps,
    ranges=st.lists(ranges, max_size=6, unique_by=lambda each: each.range_id).map(tuple),
)


@settings(max_examples=100, deadline=None)
@given(progresses, progresses)
def test_a_difference_leads_from_one_to_the_other(base: Progress, after: Progress) -> None:
    step = Difference.from_json(difference(base, after).to_json())
    assert applied(base, step) == in_order(after)
    assert {each.range_id for each in step.changed} == {each.range_id for each in set(after.ranges) - set(base.ranges)}


@settings(max_examples=50, deadline=None)
@given(progresses)
def test_progress_read_back_is_equal_and_nothing_is_no_difference(progress: Progress) -> None:
    assert Progress.from_json(progress.to_json()) == progress
    step = difference(progress, progress)
    assert (step.changed, step.gone) == ((), ())


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"cut":1,"to_ts":2,"changed":[{}],"gone":[]}', '{"cut":"x"}'])
def test_a_text_that_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="saved plan"):
        Difference.from_json(text)


@pytest.mark.parametrize("text", ["", "null", "{}", '{"subscription":"s","cut":1,"to_ts":2,"ranges":[1]}'])
def test_a_text_that_is_no_progress_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="saved progress"):
        Progress.from_json(text)
