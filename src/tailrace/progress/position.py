"""Positions: what a subscription remembers of each range, and of all of them.

`RangeProgress` is the seed's progress row (stage, snapshot versions, last snapshot key, last log index) with the keys
it speaks of and the ts through which its log is delivered. `Progress` is all of a subscription's at one cut. Values
only: they say where a subscription stands and how that is written as text, and never move; what moves them is
`ledger`. Reading back what was written gives an equal value.

What a range has of its keys is `intervals` (see `interval`). Most ranges need no list for it: in the snapshot the keys
through `last_snapshot_key` are delivered through `through_ts` (0: the version they are read at) and the others have
nothing, in the log all keys are delivered through `through_ts`. Only what this does not say is kept as a list.

A position always means "everything before is durable in the sink": `last_snapshot_key` was delivered, `through_ts`
was delivered, and `last_log_index` is the smallest index that may still be needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import DecodeError
from tailrace.progress.interval import Interval, Intervals, above, missing, present


class Stage(IntEnum):
    """Where a range stands; the number is the seed's `progress_stage`. DRAINING: the range became others, which have
    positions of their own; only its log is still read, for their keys."""

    NEW = 0
    SNAPSHOT = 1
    LOG = 2
    DONE = 3
    DRAINING = 4


@dataclass(frozen=True, slots=True)
class RangeProgress:
    """One range. `start` is inside, `end` is not; an empty `end` is the end of the key space.

    `init_snapshot_version` is the version at which the range was registered first: its log starts there, whatever
    happens to the snapshot. `current_snapshot_version` is the one at which its rows are read now.
    """

    range_id: int
    table_id: int
    partition_id: int = 0
    start: bytes = b""
    end: bytes = b""
    stage: Stage = Stage.NEW
    init_snapshot_version: Ts = 0
    current_snapshot_version: Ts = 0
    last_snapshot_key: bytes = b""
    last_log_index: int = 0
    through_ts: Ts = 0
    listed: Intervals = ()

    @property
    def intervals(self) -> Intervals:
        """Through which ts each of the keys is delivered."""
        if self.listed:
            return self.listed
        if self.stage is not Stage.SNAPSHOT:
            return (Interval(self.start, self.end, self.through_ts),)
        if not self.last_snapshot_key:
            return (Interval(self.start, self.end),)
        at = above(self.last_snapshot_key)
        through = self.through_ts or self.current_snapshot_version
        return (Interval(self.start, at, through), Interval(at, self.end))

    def with_intervals(self, intervals: Intervals) -> RangeProgress:
        """The same range, with this delivered of its keys."""
        reading = missing(intervals) is not None
        through = max(each.through for each in intervals)
        stage = Stage.SNAPSHOT if reading else Stage.LOG
        key = b""
        if reading and len(intervals) == 2 and intervals[0].through and intervals[0].end.endswith(b"\0"):
            key = intervals[0].end[:-1]
        if reading and through == self.current_snapshot_version:
            through = 0
        short = replace(self, stage=stage, last_snapshot_key=key, through_ts=through, listed=())
        return short if short.intervals == intervals else replace(short, last_snapshot_key=b"", listed=intervals)

    @property
    def physical_id(self) -> int:
        return self.partition_id or self.table_id

    def describes(self, route: Range) -> bool:
        """Whether this position speaks of exactly the keys of a range as routed now."""
        mine = (self.range_id, self.table_id, self.partition_id, self.start, self.end)
        return mine == (route.id, route.table_id, route.partition_id, route.start, route.end)

    def to_fields(self) -> dict[str, Any]:
        return {
            "range_id": self.range_id,
            "table_id": self.table_id,
            "partition_id": self.partition_id,
            "start": self.start.hex(),
            "end": self.end.hex(),
            "stage": int(self.stage),
            "init_snapshot_version": self.init_snapshot_version,
            "current_snapshot_version": self.current_snapshot_version,
            "last_snapshot_key": self.last_snapshot_key.hex(),
            "last_log_index": self.last_log_index,
            "through_ts": self.through_ts,
        } | ({"intervals": listed_fields(self.listed)} if self.listed else {})

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> RangeProgress:
        return cls(
            range_id=int(fields["range_id"]),
            table_id=int(fields["table_id"]),
            partition_id=int(fields["partition_id"]),
            start=bytes.fromhex(fields["start"]),
            end=bytes.fromhex(fields["end"]),
            stage=Stage(fields["stage"]),
            init_snapshot_version=int(fields["init_snapshot_version"]),
            current_snapshot_version=int(fields["current_snapshot_version"]),
            last_snapshot_key=bytes.fromhex(fields["last_snapshot_key"]),
            last_log_index=int(fields["last_log_index"]),
            through_ts=int(fields["through_ts"]),
            listed=listed_of(fields.get("intervals", [])),
        )


def listed_fields(listed: Intervals) -> list[list[Any]]:
    """Intervals as JSON holds them."""
    return [[each.start.hex(), each.end.hex(), each.through] for each in listed]


def listed_of(fields: Sequence[Sequence[Any]]) -> Intervals:
    return tuple(Interval(bytes.fromhex(low), bytes.fromhex(high), int(through)) for low, high, through in fields)


@dataclass(frozen=True, slots=True)
class Progress:
    """All ranges of a subscription after cut number `cut` (0: none yet), in the order of their keys.

    `to_ts` is the ts up to which everything of every range is delivered (0 while a snapshot is under way).
    """

    subscription: str
    cut: int = 0
    to_ts: Ts = 0
    ranges: tuple[RangeProgress, ...] = ()

    @property
    def reading(self) -> bool:
        """Whether some keys have nothing yet."""
        return any(position.stage is Stage.SNAPSHOT for position in self.ranges)

    @property
    def reached(self) -> Ts:
        """Through which ts everything that is delivered at all is delivered; 0 where nothing is."""
        if self.to_ts:
            return self.to_ts
        living = (position for position in self.ranges if position.stage is not Stage.DRAINING)
        return min((each.through for position in living for each in present(position.intervals)), default=0)

    def by_range(self) -> dict[int, RangeProgress]:
        """The positions by range id; a new dict each time, so ask once."""
        return {position.range_id: position for position in self.ranges}

    def to_json(self) -> str:
        fields = {"subscription": self.subscription, "cut": self.cut, "to_ts": self.to_ts}
        ranges = [position.to_fields() for position in self.ranges]
        return json.dumps(fields | {"ranges": ranges}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Progress:
        """Raises DecodeError for a text that `to_json` did not write."""
        try:
            fields = json.loads(text)
            ranges = tuple(RangeProgress.from_fields(each) for each in fields["ranges"])
            return cls(str(fields["subscription"]), int(fields["cut"]), int(fields["to_ts"]), ranges)
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeError(
                f"a saved progress cannot be read ({error!r}); it should be what to_json wrote"
            ) from error
