"""Segments and windows: every row once, each table in the route's order, whatever the bounds and the overlaps are."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.pipeline import segments as segments_module
from tailrace.pipeline import windows as windows_module
from tailrace.pipeline.segments import Segment, cut_segments, is_sorted, opened, order_columns
from tailrace.pipeline.windows import windows

Change = tuple[int, int, int, str]
"""commit ts, op, and the key's two columns"""
_RANK = {DELETE: 0, UPDATE: 1, INSERT: 2}
SETTLED = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
CHANGES = st.lists(
    st.tuples(
        st.integers(1, 4),
        st.sampled_from([INSERT, UPDATE, DELETE]),
        st.integers(-3, 3),
        st.text("a\0b", max_size=2),
    ),
    max_size=25,
)


def table(table_id: int) -> TableSchema:
    text = ColumnType("varchar", 9, charset="utf8mb4", collation="utf8mb4_bin")
    columns = (Column(1, "id", ColumnType("bigint"), False, True), Column(2, "name", text, False, True))
    return TableSchema("s", f"t{table_id}", table_id, 1, columns)


def batch(of: TableSchema, changes: list[Change]) -> ChangeBatch:
    rows = [{"id": change[2], "name": change[3]} for change in changes]
    columns = [
        pa.array([change[1] for change in changes], pa.uint8()),
        pa.array([change[0] for change in changes], pa.int64()),
        pa.array([change[0] - 1 for change in changes], pa.int64()),
        pa.array([None if c[1] == DELETE else row for c, row in zip(changes, rows, strict=True)], of.arrow_struct),
        pa.array([None if c[1] == INSERT else row for c, row in zip(changes, rows, strict=True)], of.arrow_struct),
    ]
    return ChangeBatch(of, pa.RecordBatch.from_arrays(columns, schema=batch_schema(of)))


def changes_of(of: ChangeBatch) -> list[Change]:
    rows = zip(of.commit_ts.to_pylist(), of.op.to_pylist(), of.after.to_pylist(), of.before.to_pylist(), strict=True)
    return [(ts, op, (after or before)["id"], (after or before)["name"]) for ts, op, after, before in rows]


def in_order(changes: list[Change]) -> list[Change]:
    return sorted(changes, key=lambda each: (each[0], _RANK[each[1]], each[2], each[3].encode()))


@pytest.fixture(autouse=True, params=[(3, 5), (1, 1), (8_192, 65_536)])
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "SEGMENT_ROWS", request.param[0])
    monkeypatch.setattr(windows_module, "WINDOW_ROWS", request.param[1])


def sent(feeds: list[tuple[TableSchema, list[Change]]], routes: int) -> list[Segment]:
    found: list[Segment] = []
    for of, changes in feeds:
        by_commit = sorted(changes, key=lambda change: change[0])
        pages = [batch(of, by_commit[at : at + 4]) for at in range(0, len(by_commit), 4)]
        found += cut_segments(iter(pages), routes)
    return found


@SETTLED
@given(st.lists(st.tuples(st.integers(1, 2), CHANGES), max_size=4), st.integers(1, 3), st.randoms())
def test_every_row_comes_once_and_each_table_in_order(
    feeds: list[tuple[int, list[Change]]], routes: int, dice: random.Random
) -> None:
    found = sent([(table(number), changes) for number, changes in feeds], routes)
    assert all(0 < each.rows <= segments_module.SEGMENT_ROWS for each in found)
    dice.shuffle(found)
    out: dict[int, list[Change]] = {1: [], 2: []}
    of_key: dict[tuple[int, int, str], int] = {}
    for route in range(routes):
        arriving = sorted((each for each in found if each.route == route), key=lambda each: each.place)
        got: dict[int, list[Change]] = {1: [], 2: []}
        for each in windows(opened(segment.data) for segment in arriving):
            got[each.table.table_id] += changes_of(each)
        for number, changes in got.items():
            assert changes == in_order(changes)
            out[number] += changes
            for _, _, key, name in changes:
                assert of_key.setdefault((number, key, name), route) == route
    for number, all_changes in out.items():
        assert sorted(all_changes) == sorted(change for of, each in feeds if of == number for change in each)


@SETTLED
@given(CHANGES, CHANGES)
def test_places_sort_as_rows_do(first: list[Change], second: list[Change]) -> None:
    places = [(each.place, opened(each.data)) for changes in (first, second) for each in sent([(table(1), changes)], 1)]
    heads = [changes_of(found)[0] for _, found in sorted(places, key=lambda each: each[0])]
    assert heads == in_order(heads)


@SETTLED
@given(CHANGES)
def test_what_is_called_sorted_is_sorted(changes: list[Change]) -> None:
    assert is_sorted(order_columns(batch(table(1), changes))) == (changes == in_order(changes))


def test_no_more_is_held_than_what_may_be_overtaken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows_module, "WINDOW_ROWS", 10)
    pages = [batch(table(1), [(ts, INSERT, key, "") for key in range(5)]) for ts in range(1, 101)]
    taken = 0

    def counted() -> Iterator[ChangeBatch]:
        nonlocal taken
        for page in pages:
            taken += page.num_rows
            yield page

    given_out = 0
    for each in windows(counted()):
        given_out += each.num_rows
        assert taken - given_out <= 25
    assert given_out == 500
