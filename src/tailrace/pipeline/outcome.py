"""Outcomes: what a subscription's progress will be once a cut is durable. Pure.

Invariant: an outcome never moves a range back, and says of a range only what the receipts or the cut's bounds prove.
It is computed before the sink commits and saved with the cut, so that whoever finishes the cut after a crash, finishes
it to exactly this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Reached, Receipt
from tailrace.progress.interval import above, filled, missing, raised
from tailrace.progress.position import Progress, RangeProgress, Stage
from tailrace.upstream.base import Frontier

HINTS = 64


class IndexHints:
    """Which log index each range may start from: pairs of (resolved ts, next index) as the upstream showed them.

    An index belongs to the resolved ts that came with it: it may only be used once everything up to that ts is
    delivered, and a cut of many ranges mostly ends a little before.
    """

    def __init__(self) -> None:
        self._shown: dict[int, deque[tuple[Ts, int]]] = {}

    def note(self, frontiers: Iterable[Frontier]) -> None:
        for frontier in frontiers:
            shown = self._shown.setdefault(frontier.range_id, deque(maxlen=HINTS))
            if not shown or frontier.next_index > shown[-1][1]:
                shown.append((frontier.resolved_ts, frontier.next_index))

    def index(self, range_id: int, through: Ts) -> int:
        """The highest index that is proven by a delivery through a ts; 0 where none is."""
        shown = self._shown.get(range_id, deque())
        found = 0
        while shown and shown[0][0] <= through:
            found = shown.popleft()[1]
        return found


def snapshot_outcome(before: Progress, cut: Cut, receipts: Sequence[Receipt]) -> Progress:
    """Ranges go on after the last key that they reached; one that reached its end goes on with its log.

    When the last one has, everything up to the snapshot's version is delivered.
    """
    reached = {each.range_id: each for receipt in receipts for each in receipt.reached}
    ranges = tuple(_read(position, reached.get(position.range_id)) for position in before.ranges)
    after = replace(before, cut=cut.number, to_ts=0, ranges=ranges)
    return after if after.reading else replace(after, to_ts=cut.to_ts)


def _read(position: RangeProgress, reached: Reached | None) -> RangeProgress:
    asked = missing(position.intervals)
    if reached is None or asked is None or not (reached.end or reached.last_key):
        return position
    end = asked.end if reached.end else above(reached.last_key)
    return position.with_intervals(filled(position.intervals, asked.start, end, position.current_snapshot_version))


def without_table(before: Progress, table_id: int) -> Progress:
    """A table that was dropped while its snapshot ran: its ranges end, the others go on."""
    left = tuple(position for position in before.ranges if position.table_id != table_id)
    return replace(before, ranges=left)


def log_outcome(before: Progress, cut: Cut, hints: IndexHints, touched: Collection[int]) -> Progress:
    """All ranges are delivered through the cut's end. Only those that had changes (`touched`: range ids) are
    written anew: for the others the subscription's own `to_ts` says it. While keys are missing that `to_ts` is 0, and
    each range says for itself through which ts it is, as far as it is."""

    def moved(position: RangeProgress) -> RangeProgress:
        if before.to_ts and position.range_id not in touched:
            return position
        index = max(position.last_log_index, hints.index(position.range_id, cut.to_ts))
        if position.stage is Stage.DRAINING:
            return replace(position, last_log_index=index, through_ts=cut.to_ts)
        return replace(position.with_intervals(raised(position.intervals, cut.to_ts)), last_log_index=index)

    after = replace(before, cut=cut.number, to_ts=0, ranges=tuple(moved(position) for position in before.ranges))
    return after if after.reading else replace(after, to_ts=cut.to_ts)
