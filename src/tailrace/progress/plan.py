"""Plans: what progress will be after a cut, written as the difference to what it is.

Pure. `applied(base, difference(base, after))` equals `after` up to the order of its ranges, which is always the one
of `in_order`. Only ranges that change are in a difference, so a cut that touches few ranges of many writes few.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from tailrace.errors import DecodeError
from tailrace.progress.position import Progress, RangeProgress


@dataclass(frozen=True, slots=True)
class Difference:
    """From one progress to the next: ranges that are new or changed, and those that are gone."""

    cut: int
    to_ts: int
    changed: tuple[RangeProgress, ...]
    gone: tuple[int, ...]

    def to_json(self) -> str:
        changed = [position.to_fields() for position in self.changed]
        fields = {"cut": self.cut, "to_ts": self.to_ts, "changed": changed, "gone": self.gone}
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Difference:
        """Raises DecodeError for a text that `to_json` did not write."""
        try:
            fields = json.loads(text)
            changed = tuple(RangeProgress.from_fields(each) for each in fields["changed"])
            return cls(int(fields["cut"]), int(fields["to_ts"]), changed, tuple(map(int, fields["gone"])))
        except (KeyError, TypeError, ValueError) as error:
            raise DecodeError(f"a saved plan cannot be read ({error!r}); it should be what to_json wrote") from error


def in_order(progress: Progress) -> Progress:
    """The same progress with its ranges by table, partition, key and id."""
    ranges = sorted(progress.ranges, key=lambda each: (each.table_id, each.partition_id, each.start, each.range_id))
    return replace(progress, ranges=tuple(ranges))


def difference(base: Progress, after: Progress) -> Difference:
    known = base.by_range()
    changed = tuple(each for each in in_order(after).ranges if known.get(each.range_id) != each)
    gone = sorted(known.keys() - {each.range_id for each in after.ranges})
    return Difference(after.cut, after.to_ts, changed, tuple(gone))


def applied(base: Progress, step: Difference) -> Progress:
    ranges = base.by_range() | {each.range_id: each for each in step.changed}
    kept = tuple(each for range_id, each in ranges.items() if range_id not in step.gone)
    return in_order(Progress(base.subscription, step.cut, step.to_ts, kept))
