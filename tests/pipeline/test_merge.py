"""The merge of ranges: every row once, never back in commit time, each range's own order kept."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.batch import ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.pipeline.merge import merge

TABLE = TableSchema("shop", "t", 1, 5, (Column(1, "id", ColumnType("bigint"), pk=True),), pk_is_handle=True)


def batch(stream: int, first: int, stamps: list[int]) -> ChangeBatch:
    rows = len(stamps)
    after = pa.array([{"id": stream * 1000 + first + at} for at in range(rows)], TABLE.arrow_struct)
    columns = [
        pa.array([0] * rows, pa.uint8()),
        pa.array(stamps, pa.int64()),
        pa.array([ts - 1 for ts in stamps], pa.int64()),
        after,
        pa.nulls(rows, TABLE.arrow_struct),
    ]
    return ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE)))


def stream(number: int, stamps: list[int], size: int) -> Iterator[ChangeBatch]:
    for first in range(0, len(stamps), size):
        yield batch(number, first, stamps[first : first + size])


def rows_of(batches: Iterator[ChangeBatch]) -> list[tuple[int, int]]:
    return [
        (ts, image["id"])
        for each in batches
        for ts, image in zip(each.commit_ts.to_pylist(), each.after.to_pylist(), strict=True)
    ]


def test_one_stream_passes_untouched() -> None:
    only = batch(1, 0, [3, 3, 4])
    assert list(merge([iter([only])])) == [only]


def test_streams_that_do_not_interleave_are_not_copied() -> None:
    early, late = batch(1, 0, [1, 2]), batch(2, 0, [3, 4])
    assert [each.num_rows for each in merge([iter([late]), iter([early])])] == [2, 2]


@given(st.lists(st.lists(st.integers(2, 12), max_size=25).map(sorted), min_size=1, max_size=4), st.integers(1, 6))
def test_every_row_comes_once_in_commit_order(streams: list[list[int]], size: int) -> None:
    found = rows_of(merge([stream(number, stamps, size) for number, stamps in enumerate(streams)]))
    assert sorted(found) == sorted(
        (ts, number * 1000 + at) for number, stamps in enumerate(streams) for at, ts in enumerate(stamps)
    )
    assert [ts for ts, _ in found] == sorted(ts for ts, _ in found)
    for number in range(len(streams)):
        mine = [identity for _, identity in found if identity // 1000 == number]
        assert mine == sorted(mine)
