"""Pieces: how a cut is divided into what single tasks carry. Pure.

Invariants: the pieces of a cut are disjoint and together they are the cut; for a sink that asks for `merged` pieces,
the commit times of two pieces of one physical table overlap only where both hold nothing but one commit ts, and not
even there for a sink that wants whole transactions. So files that are numbered by piece never go back in time. For a
sink that wants routes, the pieces that pull are the cut, and those of the routes are it once more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.pipeline.cuts import merged_buckets
from tailrace.progress.cut import Cut, Piece, Span
from tailrace.progress.interval import Interval, Intervals, missing
from tailrace.progress.position import RangeProgress
from tailrace.sink.base import Capabilities
from tailrace.upstream.base import Frontier

SMALLEST_PIECE = 8 << 20
NO_KEYS: Mapping[int, Intervals | None] = {}
ROUTE_BYTES = 8 << 20
# A table of which more has changed than one task should hold is not looked at as a whole.
WHOLE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Interval:
    """A part of a table's commit time, with what is known to lie in it; `alone` says that it is one commit ts."""

    from_ts: Ts
    to_ts: Ts
    rows: int
    bytes: int
    alone: bool = False


def snapshot_pieces(
    cut: Cut, positions: Sequence[RangeProgress], routes: Mapping[int, Range], limit_rows: int, limit_bytes: int
) -> list[Piece]:
    """The next keys that each range has nothing of: one piece a range."""
    return [
        Piece(
            subscription=cut.subscription,
            epoch=cut.epoch,
            cut=cut.number,
            number=number,
            phase="snapshot",
            table_id=position.table_id,
            partition_id=position.partition_id,
            spans=(_keys(routes[position.range_id], position),),
            from_ts=0,
            to_ts=position.current_snapshot_version,
            bytes=limit_bytes,
            limit_rows=limit_rows,
        )
        for number, position in enumerate(positions)
    ]


def log_pieces(
    cut: Cut,
    positions: Sequence[RangeProgress],
    routes: Mapping[int, Range],
    frontiers: Mapping[int, Frontier],
    sink: Capabilities,
    slots: int,
    wanted: Mapping[int, Intervals | None] = NO_KEYS,
) -> list[Piece]:
    """The changes of a cut, by physical table and interval of commit time; tables without changes have no piece.

    `wanted` says by range of which keys (None: of no key)."""
    tables: dict[tuple[int, int], list[RangeProgress]] = defaultdict(list)
    for position in positions:
        if wanted.get(position.range_id, ()) is not None and _touched(frontiers[position.range_id], cut):
            tables[position.table_id, 0 if sink.joined_partitions else position.partition_id].append(position)
    busy = [frontiers[position.range_id] for group in tables.values() for position in group]
    total = sum(bucket.bytes for bucket in merged_buckets(busy))
    target = max(SMALLEST_PIECE, min(sink.piece_bytes, total // max(slots, 1)))
    pieces: list[Piece] = []
    for (table_id, partition_id), group in tables.items():
        spans = [
            Span(routes[p.range_id], from_index=p.last_log_index, within=wanted.get(p.range_id) or ()) for p in group
        ]
        for interval in _intervals(cut, [frontiers[p.range_id] for p in group], target):
            apart = interval.alone and not sink.whole_transactions
            parts = [(span,) for span in spans] if apart else [tuple(spans)]
            for part in parts:
                pieces.append(
                    Piece(
                        subscription=cut.subscription,
                        epoch=cut.epoch,
                        cut=cut.number,
                        number=len(pieces),
                        phase="log",
                        table_id=table_id,
                        partition_id=partition_id,
                        spans=part,
                        from_ts=interval.from_ts,
                        to_ts=interval.to_ts,
                        rows=interval.rows // len(parts),
                        bytes=interval.bytes // len(parts),
                    )
                )
    return with_routes(cut, pieces, sink.routes) if sink.routes and pieces else pieces


def with_routes(cut: Cut, feeds: Sequence[Piece], most: int) -> list[Piece]:
    """The pieces of a cut whose changes meet: those that pull and, after them, one for each route. A small cut has
    few routes, because each is a transaction of the target at least."""
    rows, size = sum(piece.rows for piece in feeds), sum(piece.bytes for piece in feeds)
    routes = max(1, min(most, -(-size // ROUTE_BYTES)))
    of_table = Counter(piece.table_id for piece in feeds)
    alone = {table_id for table_id, count in of_table.items() if count == 1}
    wholes = [piece.table_id in alone and piece.bytes <= WHOLE_BYTES for piece in feeds]
    return [replace(piece, routes=routes, whole=whole) for piece, whole in zip(feeds, wholes, strict=True)] + [
        Piece(
            subscription=cut.subscription,
            epoch=cut.epoch,
            cut=cut.number,
            number=len(feeds) + route,
            phase=cut.phase,
            table_id=0,
            partition_id=0,
            spans=(),
            from_ts=cut.from_ts,
            to_ts=cut.to_ts,
            rows=rows // routes,
            bytes=size // routes,
            route=route,
            routes=routes,
        )
        for route in range(routes)
    ]


def _keys(route: Range, position: RangeProgress) -> Span:
    asked = missing(position.intervals) or Interval(position.start, position.end)
    if position.last_snapshot_key or asked.start == position.start:
        return Span(route, after_key=position.last_snapshot_key, end_key=asked.end)
    return Span(route, end_key=asked.end, from_key=asked.start)


def _touched(frontier: Frontier, cut: Cut) -> bool:
    """Whether a range may hold changes of the cut: a bucket that ends beyond the cut may begin inside it."""
    return bool(frontier.buckets) and any(bucket.ts > cut.from_ts for bucket in frontier.buckets)


def _intervals(cut: Cut, frontiers: Sequence[Frontier], target: int) -> list[_Interval]:
    """The cut's time, divided so that each interval holds about `target` bytes; together they are the whole."""
    found: list[_Interval] = []
    start, rows, size = cut.from_ts, 0, 0
    for bucket in merged_buckets(frontiers):
        if bucket.ts > cut.to_ts:
            break
        if bucket.bytes >= 2 * target and len(frontiers) > 1:
            if bucket.ts - 1 > start:
                found.append(_Interval(start, bucket.ts - 1, rows, size))
            found.append(_Interval(bucket.ts - 1, bucket.ts, bucket.rows, bucket.bytes, alone=True))
            start, rows, size = bucket.ts, 0, 0
            continue
        rows, size = rows + bucket.rows, size + bucket.bytes
        if size >= target:
            found.append(_Interval(start, bucket.ts, rows, size))
            start, rows, size = bucket.ts, 0, 0
    if start < cut.to_ts:
        found.append(_Interval(start, cut.to_ts, rows, size))
    return _without_empty_tail(found, frontiers, cut)


def _without_empty_tail(found: list[_Interval], frontiers: Sequence[Frontier], cut: Cut) -> list[_Interval]:
    """Drop a last interval in which nothing can lie: every bucket ended before it."""
    last = max((bucket.ts for frontier in frontiers for bucket in frontier.buckets), default=0)
    if len(found) > 1 and found[-1].from_ts >= last:
        return found[:-1]
    return found
