"""The benches' tables: the same seed gives the same batch, and it is what the bench's name says."""

from collections.abc import Callable

import pytest

from bench.tables import batch, ints100_table, narrow_table, wide_table
from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.schema import TableSchema
from tailrace.codec.csv import CsvEncoder, CsvOptions


@pytest.mark.parametrize(("make", "columns"), [(narrow_table, 4), (wide_table, 30), (ints100_table, 100)])
def test_a_batch_is_valid_and_the_same_for_the_same_seed(make: Callable[[], TableSchema], columns: int) -> None:
    table = make()
    assert len(table.columns) == columns
    first = batch(table, 500, 7, updates=0.2, deletes=0.1)
    first.data.validate(full=True)
    assert first.data.equals(batch(table, 500, 7, updates=0.2, deletes=0.1).data)
    assert not first.data.equals(batch(table, 500, 8, updates=0.2, deletes=0.1).data)
    assert CsvEncoder(CsvOptions()).encode(first).size


def test_images_are_absent_where_the_operation_says_so() -> None:
    changes = batch(narrow_table(), 400, updates=0.3, deletes=0.3)
    assert set(changes.op.to_pylist()) == {INSERT, UPDATE, DELETE}
    for op, after, before in zip(
        changes.op.to_pylist(), changes.after.to_pylist(), changes.before.to_pylist(), strict=True
    ):
        assert (after is None, before is None) == (op == DELETE, op == INSERT)


def test_one_string_in_fifty_is_special_and_one_value_in_thirteen_is_null() -> None:
    narrow = batch(narrow_table(), 20_000).after.field("c").to_pylist()
    special = sum(any(mark in text for mark in "\"\\|,'🚀") for text in narrow)
    assert 0.01 < special / 20_000 < 0.03
    wide = batch(wide_table(), 1300).after
    nulls = sum(wide.field(at).null_count for at in range(1, 30))
    assert nulls == 29 * 100


def test_commit_times_rise_or_are_the_one_that_was_asked_for() -> None:
    stamps = batch(narrow_table(), 300).commit_ts.to_pylist()
    assert stamps == sorted(stamps)
    assert len(set(stamps)) == 3
    assert set(batch(narrow_table(), 5, commit_ts=42).commit_ts.to_pylist()) == {42}
