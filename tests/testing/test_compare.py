"""Every difference is found and named; the order of rows is none."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.testing.compare import SHOWN, compare

ROWS = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})


def test_rows_in_another_order_are_equal() -> None:
    assert compare(ROWS.take([2, 0, 1]), ROWS, ["id"]).equal
    assert compare(ROWS.take([2, 0, 1]), ROWS).equal


def test_columns_in_another_order_are_equal() -> None:
    assert compare(ROWS.select(["name", "id"]), ROWS, ["id"]).equal


def test_nan_equals_nan() -> None:
    table = pa.table({"x": [float("nan"), 1.0]})
    assert compare(table, table.take([1, 0])).equal


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ({"id": [1, 2], "name": ["a", None]}, "{'id': 3} is missing: {'id': 3, 'name': 'c'}"),
        ({"id": [1, 2, 3, 4], "name": ["a", None, "c", "d"]}, "{'id': 4} should not be there"),
        ({"id": [1, 2, 3], "name": ["a", "b", "c"]}, "{'id': 2}: name is 'b', not None"),
        ({"id": [1, 2, 3], "name": ["a", None, "C"]}, "{'id': 3}: name is 'C', not 'c'"),
        ({"id": [1, 2, 3, 3, 3], "name": ["a", None, "c", "c", "c"]}, "{'id': 3} is there 2 times too often"),
    ],
)
def test_a_difference_names_its_key_and_columns(got: dict[str, list[object]], said: str) -> None:
    answer = compare(pa.table(got, schema=ROWS.schema), ROWS, ["id"])
    assert answer.total == 1
    assert said in str(answer)


def test_without_a_key_rows_are_counted() -> None:
    twice = pa.concat_tables([ROWS, ROWS.slice(0, 1)])
    assert "too often (1 times): {'id': 1, 'name': 'a'}" in str(compare(twice, ROWS))
    assert "missing (1 times)" in str(compare(ROWS, twice))


def test_other_columns_and_types_are_differences() -> None:
    other = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "nick": ["a", "b", "c"]})
    text = str(compare(other, ROWS, ["id"]))
    assert "column name is missing" in text
    assert "column nick should not be there" in text
    assert "column id is int32, not int64" in text


def test_only_the_first_differences_are_shown() -> None:
    many = pa.table({"id": list(range(100)), "name": ["x"] * 100})
    answer = compare(many, many.slice(0, 0), ["id"])
    assert (answer.total, len(answer.differences)) == (100, SHOWN)
    assert "80 more" in str(answer)


def test_empty_tables_are_equal() -> None:
    empty = ROWS.slice(0, 0)
    assert str(compare(empty, empty, ["id"])) == "0 rows, all equal"
