"""Positions: what a subscription remembers of each range, and of all of them.

`RangeProgress` is the seed's progress row (stage, snapshot versions, last snapshot key, last log index) with the keys
it speaks of and the ts through which its log is delivered. `Progress` is all of a subscription's at one cut. Values
only: they say where a subscription stands and how that is written as text, and never move; what moves them is
`ledger`. Reading back what was written gives an equal value.

A position always means "everything before is durable in the sink": `last_snapshot_key` was delivered, `through_ts`
was delivered, and `last_log_index` is the smallest index that may still be needed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import DecodeError


class Stage(IntEnum):
    """Where a range stands; the number is the seed's `progress_stage`."""

    NEW = 0
    SNAPSHOT = 1
    LOG = 2
    DONE = 3


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
        }

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
        )


@dataclass(frozen=True, slots=True)
class Progress:
    """All ranges of a subscription after cut number `cut` (0: none yet), in the order of their keys.

    `to_ts` is the ts up to which everything of every range is delivered (0 while a snapshot is under way).
    """

    subscription: str
    cut: int = 0
    to_ts: Ts = 0
    ranges: tuple[RangeProgress, ...] = ()

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
