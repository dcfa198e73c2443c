"""Updates that change a key are split, as an obvious loop over rows would split them."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType
from tailrace.route.split import key_columns, split_stream, split_updates

INT = ColumnType("int")
TABLE = TableSchema(
    "shop",
    "t",
    1,
    5,
    (Column(1, "id", INT, nullable=False, pk=True), Column(2, "u", INT), Column(3, "v", INT)),
    (Index(1, "PRIMARY", ("id",), unique=True, primary=True), Index(2, "u", ("u",), unique=True)),
)

Image = dict[str, int | None]
Change = tuple[int, int, Image | None, Image | None]


def batch(changes: list[Change]) -> ChangeBatch:
    columns = [
        pa.array([op for op, _, _, _ in changes], pa.uint8()),
        pa.array([ts for _, ts, _, _ in changes], pa.int64()),
        pa.array([ts - 1 for _, ts, _, _ in changes], pa.int64()),
        pa.array([after for _, _, _, after in changes], TABLE.arrow_struct),
        pa.array([before for _, _, before, _ in changes], TABLE.arrow_struct),
    ]
    return ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE)))


def rows(of: ChangeBatch) -> list[Change]:
    columns = (of.op, of.commit_ts, of.before, of.after)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def obvious(changes: list[Change]) -> list[Change]:
    made: list[Change] = []
    for ts in dict.fromkeys(each[1] for each in changes):
        mine = [each for each in changes if each[1] == ts]
        parts: list[Change] = []
        inserted: list[Change] = []
        for op, _, before, after in mine:
            if op == UPDATE and before and after and any(before[k] != after[k] for k in ("id", "u")):
                parts.append((DELETE, ts, before, None))
                inserted.append((INSERT, ts, None, after))
            else:
                parts.append((op, ts, before, after))
                inserted.append((-1, ts, None, None))
        if any(each[0] == INSERT for each in inserted):
            whole = list(zip(parts, inserted, strict=True))
            flat = [row for pair in whole for row in pair if row[0] != -1]
            parts = sorted(flat, key=lambda row: {DELETE: 0, UPDATE: 1, INSERT: 2}[row[0]])
        made += parts
    return made


def test_the_keys_are_those_of_every_unique_index_and_the_handle() -> None:
    assert key_columns(TABLE) == ("id", "u")


def test_a_batch_without_key_changes_is_passed_on_as_it_is() -> None:
    plain = batch([(UPDATE, 7, {"id": 1, "u": None, "v": 1}, {"id": 1, "u": None, "v": 2})])
    assert split_updates(plain) is plain


def test_two_rows_that_exchange_a_unique_value_are_deleted_before_they_are_inserted() -> None:
    one: Image = {"id": 1, "u": 1, "v": 0}
    two: Image = {"id": 2, "u": 2, "v": 0}
    found = split_updates(batch([(UPDATE, 7, one, one | {"u": 2}), (UPDATE, 7, two, two | {"u": 1})]))
    assert [row[0] for row in rows(found)] == [DELETE, DELETE, INSERT, INSERT]


_image = st.fixed_dictionaries(
    {"id": st.integers(1, 2), "u": st.none() | st.integers(1, 2), "v": st.none() | st.integers(1, 2)}
)
_change = st.one_of(
    st.tuples(st.just(INSERT), st.integers(2, 4), st.none(), _image),
    st.tuples(st.just(DELETE), st.integers(2, 4), _image, st.none()),
    st.tuples(st.just(UPDATE), st.integers(2, 4), _image, _image),
)


@given(st.lists(_change, min_size=1, max_size=12))
def test_splitting_equals_the_obvious_loop(changes: list[Change]) -> None:
    ordered = sorted(changes, key=lambda each: each[1])
    assert rows(split_updates(batch(ordered))) == obvious(ordered)


def test_an_update_that_does_not_know_the_row_before_stays_an_update() -> None:
    alone = batch([(UPDATE, 7, None, {"id": 1, "u": 1, "v": 1})])
    assert split_updates(alone) is alone


@given(st.lists(_change, min_size=1, max_size=12), st.lists(st.integers(0, 12), max_size=4))
def test_a_stream_is_split_as_if_it_were_one_batch_wherever_it_is_cut(changes: list[Change], cuts: list[int]) -> None:
    ordered = sorted(changes, key=lambda each: each[1])
    whole = batch(ordered)
    places = sorted({0, *(min(cut, len(ordered)) for cut in cuts), len(ordered)})
    parts = [whole.slice(at, to - at) for at, to in pairwise([*places, len(ordered)])]
    found = [row for part in split_stream(iter(parts)) for row in rows(part)]
    assert found == obvious(ordered)


def test_a_stream_of_batches_without_key_changes_is_not_copied() -> None:
    same: Image = {"id": 1, "u": 1, "v": 0}
    parts = [batch([(UPDATE, 7, same, same | {"v": number})]) for number in range(3)]
    found = list(split_stream(iter(parts)))
    assert [part.data.column(1).buffers()[1].address for part in found] == [
        part.data.column(1).buffers()[1].address for part in parts
    ]
