"""What progress will be after a cut: never back, and nothing that was not proven."""

from __future__ import annotations

from tailrace.pipeline.outcome import IndexHints, log_outcome, snapshot_outcome, without_table
from tailrace.progress.cut import Cut, Reached, Receipt
from tailrace.progress.position import Progress, RangeProgress, Stage
from tailrace.upstream.base import Frontier

SNAPSHOT = Cut("s", 1, 4, "snapshot", 0, 50)
LOG = Cut("s", 1, 9, "log", 50, 80)


def reading(range_id: int, table_id: int = 7) -> RangeProgress:
    return RangeProgress(
        range_id, table_id, stage=Stage.SNAPSHOT, init_snapshot_version=50, current_snapshot_version=50
    )


def reached(range_id: int, key: bytes, end: bool) -> Receipt:
    return Receipt(0, reached=(Reached(range_id, key, end),))


def test_a_snapshot_goes_on_after_the_last_key_that_was_reached() -> None:
    after = snapshot_outcome(Progress("s", 3, 0, (reading(1), reading(2))), SNAPSHOT, [reached(1, b"k", False)])
    assert [each.last_snapshot_key for each in after.ranges] == [b"k", b""]
    assert (after.cut, after.to_ts) == (4, 0)


def test_to_ts_is_set_only_when_the_last_range_has_reached_its_end() -> None:
    before = Progress("s", 3, 0, (reading(1), reading(2)))
    half = snapshot_outcome(before, SNAPSHOT, [reached(1, b"z", True)])
    assert (half.to_ts, half.ranges[0].stage, half.ranges[0].through_ts) == (0, Stage.LOG, 50)
    whole = snapshot_outcome(half, SNAPSHOT, [reached(2, b"z", True)])
    assert whole.to_ts == 50


def test_a_table_that_is_gone_leaves_the_ranges_of_the_others() -> None:
    left = without_table(Progress("s", 3, 0, (reading(1, 7), reading(2, 8))), 7)
    assert [each.range_id for each in left.ranges] == [2]


def test_ranges_without_changes_are_not_written_anew() -> None:
    quiet = RangeProgress(1, 7, stage=Stage.LOG, through_ts=50)
    busy = RangeProgress(2, 7, stage=Stage.LOG, through_ts=50)
    after = log_outcome(Progress("s", 8, 50, (quiet, busy)), LOG, IndexHints(), {2})
    assert after.ranges[0] is quiet
    assert (after.ranges[1].through_ts, after.to_ts, after.cut) == (80, 80, 9)


def test_an_index_is_used_only_once_everything_that_it_was_shown_with_is_delivered() -> None:
    hints = IndexHints()
    hints.note([Frontier(1, 70, (), 10), Frontier(1, 80, (), 20), Frontier(1, 90, (), 30)])
    assert hints.index(1, 69) == 0
    assert hints.index(1, 80) == 20
    assert hints.index(1, 89) == 0
    assert hints.index(1, 90) == 30


def test_an_index_never_falls() -> None:
    position = RangeProgress(1, 7, stage=Stage.LOG, last_log_index=40)
    hints = IndexHints()
    hints.note([Frontier(1, 60, (), 10)])
    after = log_outcome(Progress("s", 8, 50, (position,)), LOG, hints, {1})
    assert after.ranges[0].last_log_index == 40
