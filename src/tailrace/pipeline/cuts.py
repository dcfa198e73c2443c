"""Planning of cuts: where the next cut of a subscription's log may end.

Pure functions of what the upstream said. Two rules, which everything after relies on:

* a cut never ends above what every range and the DDL log are resolved to, so it is transaction-consistent;
* a cut never crosses a DDL: it ends at the first DDL's commit ts, and that DDL is its last thing.

Within them a cut is bounded in bytes; one larger transaction goes through whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.upstream.base import Bucket, Frontier


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a cut ends, the DDL events of exactly that ts, and how much lies between."""

    to_ts: Ts
    events: tuple[DdlEvent, ...]
    rows: int
    bytes: int


def merged_buckets(frontiers: Sequence[Frontier]) -> list[Bucket]:
    """The buckets of several ranges as one ascending list; those of one ts are added up."""
    totals: dict[Ts, tuple[int, int]] = {}
    for frontier in frontiers:
        for bucket in frontier.buckets:
            rows, size = totals.get(bucket.ts, (0, 0))
            totals[bucket.ts] = (rows + bucket.rows, size + bucket.bytes)
    return [Bucket(ts, *totals[ts]) for ts in sorted(totals)]


def bounds(
    frontiers: Sequence[Frontier], events: Sequence[DdlEvent], resolved: Ts, from_ts: Ts, limit_bytes: int
) -> Bounds | None:
    """The next cut above `from_ts`, or None where nothing is resolved beyond it.

    `events` are the subscription's DDL events in (from_ts, resolved], in order. A bucket's ts is where a cut may end
    early: it is the commit ts of a range's change, and every range is resolved beyond it.
    """
    if resolved <= from_ts:
        return None
    upto = min(resolved, events[0].commit_ts) if events else resolved
    rows = size = 0
    last = from_ts
    for bucket in merged_buckets(frontiers):
        if bucket.ts > upto:
            # A bucket that reaches past the end may still hold rows of the cut, so the cut must not pass for empty.
            rows = rows or bucket.rows
            break
        if size and size + bucket.bytes > limit_bytes:
            upto = last
            break
        rows, size, last = rows + bucket.rows, size + bucket.bytes, bucket.ts
    due = tuple(event for event in events if event.commit_ts == upto)
    return Bounds(upto, due, rows, size)
