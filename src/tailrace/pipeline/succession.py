"""Succession: positions of ranges as they were saved, given to the ranges as they are now. Pure.

A range that split, merged or moved is followed without losing or doubling anything: what was delivered of a key is
said by the positions of the living ranges, whose intervals together cover a physical table (`progress.interval`); the
log of a closed range is read on beside its heirs' until it is drained, for the keys as the living ones say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import StaleRoute
from tailrace.progress.interval import Intervals, cut, joined, missing, present, raised, spans
from tailrace.progress.position import Progress, RangeProgress, Stage
from tailrace.upstream.base import Frontier


def followed(
    positions: Sequence[RangeProgress], living: Sequence[Range], closed: Sequence[Range]
) -> list[RangeProgress]:
    """The positions of one physical table's ranges: of those that are led now, and of closed ones whose log is needed.

    Raises StaleRoute where the ranges of now hold keys of which nothing was saved.
    """
    known = {each.range_id: each for each in positions}
    same = {route.id for route in living if (mine := known.get(route.id)) is not None and mine.describes(route)}
    gone = [position for position in _living(positions) if position.range_id not in same]
    whole = joined(each for position in gone for each in position.intervals)
    found = [_inherited(known, route, whole) for route in living]
    ids = {route.id for route in living}
    return found + [_drained_on(known, route) for route in closed if route.id not in ids]


def _inherited(known: Mapping[int, RangeProgress], route: Range, whole: Intervals) -> RangeProgress:
    mine = known.get(route.id)
    if mine is not None and mine.describes(route) and mine.stage is not Stage.DRAINING:
        return mine
    if not spans(whole, route.start, route.end):
        raise StaleRoute(f"range {route.id} of table {route.table_id} holds keys that no saved range has; ask again")
    like = [each for each in _living(known.values()) if each.physical_id == route.physical_id]
    fresh = RangeProgress(
        route.id,
        route.table_id,
        route.partition_id,
        route.start,
        route.end,
        init_snapshot_version=min(each.init_snapshot_version for each in like),
        current_snapshot_version=max(each.current_snapshot_version for each in like),
    )
    return fresh.with_intervals(cut(whole, route.start, route.end))


def _drained_on(known: Mapping[int, RangeProgress], route: Range) -> RangeProgress:
    mine = known.get(route.id)
    if mine is not None:
        return replace(mine, stage=Stage.DRAINING, last_snapshot_key=b"", listed=())
    like = [each for each in known.values() if each.physical_id == route.physical_id]
    version = min(each.init_snapshot_version for each in like)
    return RangeProgress(
        route.id, route.table_id, route.partition_id, route.start, route.end, Stage.DRAINING, version, version
    )


def drained_by(progress: Progress, frontiers: Iterable[Frontier], to_ts: Ts) -> frozenset[int]:
    """Closed ranges whose log holds nothing above a ts."""
    left = {each.range_id for each in frontiers if any(bucket.ts > to_ts for bucket in each.buckets)}
    closed = {each.range_id for each in progress.ranges if each.stage is Stage.DRAINING}
    return frozenset(closed - left)


def without(progress: Progress, drained: Collection[int]) -> Progress:
    """Closed ranges whose log is delivered to its end are gone."""
    return replace(progress, ranges=tuple(each for each in progress.ranges if each.range_id not in drained))


def within(progress: Progress) -> dict[int, Intervals | None]:
    """Of which keys each range's log is wanted, None for no key; ranges of tables that are whole are left out."""
    parted = {each.physical_id for each in progress.ranges if each.stage is Stage.SNAPSHOT or each.listed}
    found: dict[int, Intervals | None] = {}
    for physical in parted:
        group = [each for each in progress.ranges if each.physical_id == physical]
        whole = joined(each for position in _living(group) for each in position.intervals)
        for position in group:
            found[position.range_id] = present(cut(whole, position.start, position.end)) or None
    return found


def renewed(progress: Progress, version: Ts) -> Progress:
    """Everything that has nothing yet will be read at a new version; what was delivered stays as it is."""

    def moved(position: RangeProgress) -> RangeProgress:
        if position.stage is not Stage.SNAPSHOT:
            return position
        intervals = position.intervals
        return replace(position, current_snapshot_version=version, through_ts=0, listed=()).with_intervals(intervals)

    return replace(progress, ranges=tuple(map(moved, progress.ranges)))


def delivered_through(progress: Progress, ts: Ts) -> Progress:
    """What is delivered at all is so through a ts, as each range says for itself; the others are being read."""

    def moved(position: RangeProgress) -> RangeProgress:
        if position.stage is Stage.DRAINING:
            return position
        return position.with_intervals(raised(position.intervals, ts))

    return replace(progress, to_ts=0, ranges=tuple(map(moved, progress.ranges)))


def newcomers_read(progress: Progress) -> bool:
    """Whether the tables that are being read came later than others, whose changes should not wait for them."""
    reading = [each.init_snapshot_version for each in progress.ranges if each.stage is Stage.SNAPSHOT]
    others = [each.init_snapshot_version for each in progress.ranges if each.stage is Stage.LOG]
    return bool(reading and others) and min(reading) > min(others)


def version_of(progress: Progress) -> Ts:
    """The version at which the next rows of a snapshot are read; 0 where none are to be read."""
    reading = (each.current_snapshot_version for each in progress.ranges if each.stage is Stage.SNAPSHOT)
    return max(reading, default=0)


def behind(progress: Progress) -> bool:
    """Whether what was delivered has to catch up with a newer snapshot version before its rows may go out."""
    return progress.reading and 0 < progress.reached < version_of(progress)


def _living(positions: Iterable[RangeProgress]) -> list[RangeProgress]:
    return [each for each in positions if each.stage is not Stage.DRAINING]


def nothing_delivered(progress: Progress) -> bool:
    """Whether a snapshot has not delivered a single key."""
    return all(not present(each.intervals) and missing(each.intervals) for each in _living(progress.ranges))
