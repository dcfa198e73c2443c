"""Equal rows have equal prints, others do not, whatever the types, the chunks and the order of columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.testing import shop
from tailrace.testing.validators import Fingerprint, row_prints


def table(**columns: object) -> pa.Table:
    return pa.table(columns)


def test_every_value_counts_and_its_column_too() -> None:
    rows = pa.Table.from_struct_array(shop.image(shop.tables()["products"], 4000))
    assert len(np.unique(row_prints(rows))) == 4000
    for name in rows.column_names:
        other = rows.column(name).take(pa.array(np.roll(np.arange(4000), 1)))
        turned = rows.set_column(rows.column_names.index(name), name, other)
        assert (row_prints(turned) != row_prints(rows)).mean() > 0.85, name
    assert row_prints(table(a=[1], b=[2])) != row_prints(table(a=[2], b=[1]))


def test_the_order_of_columns_and_rows_chunks_and_offsets_do_not_count() -> None:
    rows = pa.Table.from_struct_array(shop.image(shop.tables()["customers"], 1000))
    whole = Fingerprint.of(rows)
    shuffled = rows.take(pa.array(np.random.default_rng(1).permutation(1000))).select(rows.column_names[::-1])
    assert Fingerprint.of(shuffled) == whole
    assert Fingerprint.of(pa.concat_tables([rows.slice(0, 300), rows.slice(300)])) == whole
    padded = pa.concat_tables([rows.slice(0, 7), rows]).combine_chunks().slice(7)
    assert Fingerprint.of(padded) == whole


def test_a_row_less_a_row_twice_or_another_value_changes_the_fingerprint() -> None:
    rows = pa.Table.from_struct_array(shop.image(shop.tables()["orders"], 1000))
    seen = {
        Fingerprint.of(rows),
        Fingerprint.of(rows.slice(1)),
        Fingerprint.of(pa.concat_tables([rows, rows.slice(0, 1)])),
        Fingerprint.of(pa.concat_tables([rows.slice(1), rows.slice(1, 1)])),
    }
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array([1], pa.int8()), pa.array([1], pa.int64())),
        (pa.array(["ä"]), pa.array(["ä"], pa.large_string())),
        (pa.array([-0.0]), pa.array([0.0])),
        (pa.array([float("nan")]), pa.array([-float("nan")])),
    ],
)
def test_values_that_compare_equal_have_one_print(left: pa.Array, right: pa.Array) -> None:
    assert row_prints(table(a=left)) == row_prints(table(a=right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([None], [""]),
        ([""], ["\0"]),
        (["ab"], ["ba"]),
        (["a"], ["a\0"]),
        (["x" * 5000 + "y"], ["y" + "x" * 5000]),
        (["x" * 5000], ["x" * 5001]),
    ],
)
def test_texts_that_look_alike_have_different_prints(left: list[str | None], right: list[str | None]) -> None:
    left_print, right_print = (row_prints(table(a=pa.array(side, pa.string()))) for side in (left, right))
    assert left_print != right_print


def test_a_column_of_nulls_changes_nothing() -> None:
    assert row_prints(table(a=[1, 2])).tolist() == row_prints(table(a=[1, 2], b=pa.nulls(2, pa.string()))).tolist()


def test_an_empty_table_has_a_fingerprint() -> None:
    assert Fingerprint.of(pa.table({"a": pa.array([], pa.string())})) == Fingerprint(0, 0)
