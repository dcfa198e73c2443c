"""Retention: what history is kept for whom, and how it is let go.

A pin says that a subscriber may still ask for log above a ts, and for snapshots at or above it. What no pin needs
goes after a while, in whole segments of the log: so a subscription may start at a ts of the last minutes. Beyond a
limit of bytes the oldest segments go although they are pinned or young: who comes for them gets `PositionLost`, never
a gap. Row versions may be given up earlier than the log: who reads a snapshot then gets `IteratorLost`, and goes on at
a newer version. Rows that are not in blocks yet, and open transactions, are never let go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailrace.change.tso import Ts, compose
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.meta import Database
from tailrace.dataserver.wal import WriteAheadLog
from tailrace.errors import PositionLost

HISTORY_BYTES = 8 << 30
# A reader that has no pin, such as a client's table scan or a subscription to come, has this long.
UNPINNED_MS = 600_000


def pin(leader: RangeLeader, database: Database, subscriber: str, ts: Ts) -> None:
    """Hold history above `ts`; an earlier pin of the subscriber stays. Durable when it returns.

    The database is written to before a range's mutex is taken, here and everywhere: merging does so, too.
    """
    with database.env.begin(write=True) as txn, leader.mutex:
        meta = leader.meta
        # Without row versions a snapshot begins anew, without log there is a gap.
        lost = leader.history.pruned_ts
        held = meta.pins.get(subscriber)
        if held is not None and held <= ts and held >= leader.history.pruned_ts:
            return
        if ts < lost:
            raise PositionLost(
                f"range {meta.range_id} has history above {lost} only; {ts} cannot be pinned any more",
                position=f"({ts}, {lost}]",
            )
        leader.meta = replace(meta, pins=meta.pins | {subscriber: ts})
        database.save(leader.meta, txn)


def release(leader: RangeLeader, database: Database, subscriber: str, upto: Ts | None) -> None:
    """Let go of history up to `upto`; None ends the pin.

    A moved pin is saved with the next merge: one that comes back older after a restart holds too much, not too little.
    """
    if upto is not None:
        with leader.mutex:
            if leader.meta.pins.get(subscriber, upto) < upto:
                leader.meta = replace(leader.meta, pins=leader.meta.pins | {subscriber: upto})
        return
    with database.env.begin(write=True) as txn, leader.mutex:
        if subscriber in leader.meta.pins:
            pins = {name: ts for name, ts in leader.meta.pins.items() if name != subscriber}
            leader.meta = replace(leader.meta, pins=pins)
            database.save(leader.meta, txn)


def safe_ts(leader: RangeLeader, known: Ts, versions_ms: int = 0) -> Ts:
    """No read below will come: older versions that a newer one hides may go. With `versions_ms` those that are older
    go although a snapshot may read them, which is told to begin anew."""
    given_up = known - compose(versions_ms) if versions_ms else 0
    return max(leader.meta.safe_ts, _needed(leader, known), given_up)


def trim(
    leaders: Sequence[RangeLeader], wal: WriteAheadLog, database: Database, history_bytes: int, known: Ts
) -> list[int]:
    """Drop the segments that nobody needs, and the oldest ones beyond the limit; returns their numbers."""
    segments = wal.segments
    if len(segments) < 2:
        return []
    current = segments[-1]
    bound = min((_first_unmerged(leader, current) for leader in leaders), default=current)
    wanted = min((_first_needed(leader, current, known) for leader in leaders), default=current)
    surplus = wal.size() - history_bytes
    gone: list[int] = []
    for segment in segments[:-1]:
        if segment >= bound or (segment >= wanted and surplus <= 0):
            break
        gone.append(segment)
        surplus -= wal.segment_size(segment)
    if gone:
        _forget(leaders, database, gone[-1])
        for segment in gone:
            wal.drop(segment)
    return gone


def _forget(leaders: Sequence[RangeLeader], database: Database, segment: int) -> None:
    """Write down what only the segments up to this one said; after that they may go."""
    for leader in leaders:
        with database.env.begin(write=True) as txn, leader.mutex:
            database.save_fates(leader.meta.range_id, leader.fates, txn)
            leader.history.prune(segment)
            leader.meta = replace(
                leader.meta,
                next_index=leader.next_index,
                pruned_ts=leader.history.pruned_ts,
                pruned_index=leader.history.pruned_index,
            )
            database.save(leader.meta, txn)
            # Looked up in the database from the moment that they are there.
            written = list(leader.fates)
        with leader.mutex:
            for start_ts in written:
                leader.fates.pop(start_ts, None)
    database.sync()


def _first_unmerged(leader: RangeLeader, current: int) -> int:
    """The first segment that rows need which are not in blocks, or a transaction that is open."""
    with leader.mutex:
        return leader.versions.first_segment(leader.locks.first_segment(current))


def _first_needed(leader: RangeLeader, current: int, known: Ts) -> int:
    with leader.mutex:
        return leader.history.first_segment_above(_needed(leader, known), current)


def _needed(leader: RangeLeader, known: Ts) -> Ts:
    """Somebody may still come for what is above: with a pin, or without one for a while."""
    return min([known - compose(UNPINNED_MS), *leader.meta.pins.values()])
