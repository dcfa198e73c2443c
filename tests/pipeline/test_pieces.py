"""Pieces are disjoint, together they are the cut, and those of one table never go back in commit time."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.ranges import Epoch, Range
from tailrace.pipeline.pieces import SMALLEST_PIECE, log_pieces, snapshot_pieces
from tailrace.progress.cut import Cut, Piece
from tailrace.progress.position import RangeProgress, Stage
from tailrace.sink.base import Capabilities
from tailrace.upstream.base import Bucket, Frontier

MB = 1 << 20


def route(range_id: int, table_id: int) -> Range:
    return Range(range_id, table_id, 0, b"a", b"z", Epoch(), "here")


SINK = Capabilities("exactly_once", True, 1.0, 64 * MB, True)


def pieces_of(
    ranges: dict[int, tuple[int, list[Bucket]]], to_ts: int = 100, slots: int = 4, sink: Capabilities = SINK
) -> list[Piece]:
    cut = Cut("s", 1, 3, "log", 10, to_ts)
    positions = [RangeProgress(each, table, stage=Stage.LOG) for each, (table, _) in ranges.items()]
    frontiers = {each: Frontier(each, 100, tuple(buckets), 0) for each, (_, buckets) in ranges.items()}
    routes = {each: route(each, table) for each, (table, _) in ranges.items()}
    return log_pieces(cut, positions, routes, frontiers, sink, slots)


def test_a_table_without_changes_has_no_piece() -> None:
    made = pieces_of({1: (7, [Bucket(20, 1, 10)]), 2: (8, [])})
    assert [(piece.table_id, piece.from_ts, piece.to_ts) for piece in made] == [(7, 10, 100)]


def test_a_small_cut_of_one_table_is_one_piece_over_all_its_ranges() -> None:
    made = pieces_of({1: (7, [Bucket(20, 1, 10)]), 2: (7, [Bucket(30, 1, 10)])})
    assert [len(piece.spans) for piece in made] == [2]


def test_a_hot_table_is_divided_by_commit_time() -> None:
    buckets = [Bucket(ts, 1000, 4 * MB) for ts in range(20, 60)]
    made = pieces_of({1: (7, buckets)})
    assert len(made) >= 4
    assert sum(piece.rows for piece in made) == 40_000


def test_one_large_transaction_over_two_ranges_is_a_piece_for_each_range() -> None:
    made = pieces_of({1: (7, [Bucket(50, 9, 99 * MB)]), 2: (7, [Bucket(50, 9, 99 * MB)])})
    alone = [piece for piece in made if piece.from_ts == 49]
    assert [(len(piece.spans), piece.to_ts) for piece in alone] == [(1, 50), (1, 50)]


def test_a_sink_that_wants_whole_transactions_gets_them_in_one_piece() -> None:
    large = {1: (7, [Bucket(50, 9, 99 * MB)]), 2: (7, [Bucket(50, 9, 99 * MB)])}
    made = pieces_of(large, sink=replace(SINK, whole_transactions=True))
    assert [len(piece.spans) for piece in made if piece.from_ts < 50 <= piece.to_ts] == [2]


def test_partitions_that_share_a_folder_share_a_piece() -> None:
    positions = [RangeProgress(each, 7, 100 + each, stage=Stage.LOG) for each in (1, 2)]
    frontiers = {each: Frontier(each, 100, (Bucket(20, 1, 10),), 0) for each in (1, 2)}
    routes = {each: route(each, 7) for each in (1, 2)}
    cut = Cut("s", 1, 3, "log", 10, 100)
    apart = log_pieces(cut, positions, routes, frontiers, SINK, 4)
    assert [piece.partition_id for piece in apart] == [101, 102]
    [joined] = log_pieces(cut, positions, routes, frontiers, replace(SINK, joined_partitions=True), 4)
    assert (joined.partition_id, len(joined.spans)) == (0, 2)


def test_a_snapshot_has_a_piece_for_each_range_that_goes_on_after_its_last_key() -> None:
    position = RangeProgress(
        1, 7, start=b"a", end=b"z", stage=Stage.SNAPSHOT, current_snapshot_version=5, last_snapshot_key=b"k"
    )
    [piece] = snapshot_pieces(Cut("s", 1, 1, "snapshot", 0, 5), [position], {1: route(1, 7)}, 100, MB)
    assert (piece.version, piece.spans[0].after_key, piece.spans[0].end_key) == (5, b"k", b"z")
    assert (piece.limit_rows, piece.bytes) == (100, MB)


_buckets = st.lists(
    st.tuples(st.integers(11, 130), st.sampled_from([1, MB, SMALLEST_PIECE, 40 * MB])),
    max_size=12,
    unique_by=lambda b: b[0],
)


@given(
    st.dictionaries(st.integers(1, 6), st.tuples(st.integers(1, 2), _buckets), min_size=1, max_size=5),
    st.integers(1, 8),
)
def test_pieces_of_a_table_cover_its_changes_once_and_in_order(
    drawn: dict[int, tuple[int, list[tuple[int, int]]]], slots: int
) -> None:
    ranges = {
        each: (table, [Bucket(ts, 1, size) for ts, size in sorted(buckets)]) for each, (table, buckets) in drawn.items()
    }
    made = pieces_of(ranges, slots=slots)
    assert [piece.number for piece in made] == list(range(len(made)))
    for range_id, (_, buckets) in ranges.items():
        mine = [piece for piece in made if any(span.range.id == range_id for span in piece.spans)]
        for bucket in buckets:
            holders = [piece for piece in mine if piece.from_ts < bucket.ts <= piece.to_ts]
            assert len(holders) == (1 if bucket.ts <= 100 else 0)
    for table in (1, 2):
        mine = [piece for piece in made if piece.table_id == table]
        for before, after in itertools.pairwise(mine):
            same_instant = (before.from_ts, before.to_ts) == (after.from_ts, after.to_ts)
            assert before.to_ts <= after.from_ts or (same_instant and after.to_ts - after.from_ts == 1)
