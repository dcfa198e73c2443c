"""Per commit ts a stream holds the largest that any generation has of each row: never the sum, never less."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import INSERT, ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.upstream.storage.duplicates import distinct

TABLE = TableSchema("s", "t", 1, 1, (Column(1, "v", ColumnType("varchar", 9)),))
Row = tuple[int, str | None]


def file(rows: list[Row]) -> list[ChangeBatch]:
    if not rows:
        return []
    stamps = pa.array([ts for ts, _ in rows], pa.int64())
    image = pa.array([{"v": value} for _, value in rows], TABLE.arrow_struct)
    op = pa.array(np.full(len(rows), INSERT, np.uint8))
    columns = [op, stamps, stamps, image, pa.nulls(len(rows), TABLE.arrow_struct)]
    whole = ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE)))
    falls = [at for at in range(1, len(rows)) if rows[at][0] < rows[at - 1][0]]
    return [whole.slice(begin, end - begin) for begin, end in zip([0, *falls], [*falls, len(rows)], strict=True)]


def rows_of(batches: list[ChangeBatch]) -> list[Row]:
    return [
        (ts, each["v"])
        for batch in batches
        for ts, each in zip(batch.commit_ts.to_pylist(), batch.after.to_pylist(), strict=True)
    ]


def test_a_stream_that_never_falls_back_is_left_as_it_is() -> None:
    one, two = file([(1, "a"), (1, "a"), (2, "b")]), file([(3, "c")])
    assert rows_of(distinct([one, two])) == [(1, "a"), (1, "a"), (2, "b"), (3, "c")]


def test_rows_that_were_written_again_count_once() -> None:
    one, two = file([(1, "a"), (2, "b"), (3, "c")]), file([(2, "b"), (3, "c"), (4, "d")])
    assert rows_of(distinct([one, two])) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_equal_rows_of_one_generation_all_count() -> None:
    one, two = file([(1, "a"), (1, "a"), (2, None)]), file([(1, "a"), (1, "a"), (1, "a"), (2, None)])
    assert Counter(rows_of(distinct([one, two]))) == Counter({(1, "a"): 3, (2, None): 1})


def test_a_transaction_that_was_cut_off_is_whole_in_the_next_generation() -> None:
    one, two = file([(1, "a"), (2, "b")]), file([(1, "a"), (2, "b"), (2, "c")])
    assert rows_of(distinct([one, two])) == [(1, "a"), (2, "b"), (2, "c")]


def test_a_generation_may_begin_at_the_commit_ts_at_which_the_last_one_ended() -> None:
    assert rows_of(distinct([file([(5, "a"), (5, "b")]), file([(5, "a"), (5, "b"), (6, "c")])])) == [
        (5, "a"),
        (5, "b"),
        (6, "c"),
    ]


def test_a_transaction_that_goes_on_in_the_next_file_is_summed_up() -> None:
    assert rows_of(distinct([file([(5, "a"), (5, "b")]), file([(5, "c"), (6, "d")])])) == [
        (5, "a"),
        (5, "b"),
        (5, "c"),
        (6, "d"),
    ]


@settings(deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["a", "b", None])), max_size=6), max_size=4))
def test_the_largest_of_all_generations_stays(generations: list[list[Row]]) -> None:
    ordered = [sorted(rows, key=lambda each: each[0]) for rows in generations]
    # Generations that begin above where the last one ended are none: the stream just goes on.
    parts: list[list[Row]] = []
    for rows in ordered:
        if rows and (not parts or rows[0][0] < parts[-1][-1][0]):
            parts.append(rows)
    want: Counter[Row] = Counter()
    for rows in parts:
        want |= Counter(rows)
    found = rows_of(distinct([file(rows) for rows in parts]))
    assert Counter(found) == want
    assert [ts for ts, _ in found] == sorted(ts for ts, _ in found)
