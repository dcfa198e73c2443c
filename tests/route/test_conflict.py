"""Changes that are in each other's way share a route, whatever batch they come in; the others are spread evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType
from tailrace.route.conflict import column_hashes, divisible, routes_of

BIGINT = ColumnType("bigint")
VIRTUAL = Column(9, "g", BIGINT, generated="virtual")
TEXT = ColumnType("varchar", 20, charset="utf8mb4", collation="utf8mb4_bin")


def table(*kinds: ColumnType, indexes: tuple[Index, ...] = ()) -> TableSchema:
    columns = [Column(at, f"k{at}", kind, nullable=False, pk=True) for at, kind in enumerate(kinds)]
    columns.append(Column(len(kinds), "v", BIGINT))
    return TableSchema("s", "t", 7, 1, tuple(columns), indexes)


def changes(of: TableSchema, keys: Sequence[tuple[object, ...]], ops: list[int]) -> ChangeBatch:
    names = [column.name for column in of.row_columns]
    rows = [dict(zip(names, (*key, number), strict=True)) for number, key in enumerate(keys)]
    columns = [
        pa.array(ops, pa.uint8()),
        pa.array(range(len(ops)), pa.int64()),
        pa.array(range(len(ops)), pa.int64()),
        pa.array([None if op == DELETE else row for op, row in zip(ops, rows, strict=True)], of.arrow_struct),
        pa.array([None if op == INSERT else row for op, row in zip(ops, rows, strict=True)], of.arrow_struct),
    ]
    return ChangeBatch(of, pa.RecordBatch.from_arrays(columns, schema=batch_schema(of)))


KEYS = st.lists(
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=4), st.sampled_from([INSERT, UPDATE, DELETE])),
    min_size=1,
    max_size=30,
)


@given(KEYS, st.integers(1, 9), st.integers(0, 29))
def test_a_route_depends_on_the_key_alone(rows: list[tuple[int, str, int]], routes: int, cut: int) -> None:
    of = table(BIGINT, TEXT)
    whole = changes(of, [row[:2] for row in rows], [row[2] for row in rows])
    found = routes_of(whole, routes)
    assert ((found >= 0) & (found < routes)).all()
    parts = [routes_of(part, routes) for part in (whole.slice(0, cut), whole.slice(cut)) if part.num_rows]
    assert np.concatenate(parts).tolist() == found.tolist()
    by_key: dict[tuple[int, str], int] = {}
    for (number, text, _), route in zip(rows, found.tolist(), strict=True):
        assert by_key.setdefault((number, text.rstrip(" ")), route) == route


def test_keys_are_spread_evenly() -> None:
    of = table(BIGINT)
    counts = np.bincount(routes_of(changes(of, [(n,) for n in range(8000)], [INSERT] * 8000), 8))
    assert counts.min() > 800
    texts = pa.array([f"key-{n}" for n in range(8000)])
    assert np.bincount((column_hashes(texts) % np.uint64(8)).astype(int)).min() > 800


def test_no_two_of_many_texts_share_a_hash() -> None:
    texts = ["", "\0", "\0\0", "a", "a\0", "b", "ab", "ba", *(f"{n}" for n in range(50_000))]
    assert len(set(column_hashes(pa.array(texts)).tolist())) == len(texts)


def test_the_hash_of_a_value_never_changes() -> None:
    assert column_hashes(pa.array([0, 1, -1])).tolist() == [
        16294208416658607535,
        10451216379200822465,
        16490336266968443936,
    ]
    assert column_hashes(pa.array(["", "a", "a "]))[1:].tolist() == [column_hashes(pa.array([b"a"]))[0]] * 2


@pytest.mark.parametrize(
    "of",
    [
        table(BIGINT, indexes=(Index(1, "PRIMARY", ("k0",), True, True), Index(2, "u", ("v",), True))),
        table(ColumnType("varchar", 20, charset="utf8mb4", collation="utf8mb4_general_ci")),
        table(ColumnType("double")),
        table(TEXT, indexes=(Index(1, "PRIMARY", ("k0",), True, True, (4,)),)),
        replace(table(BIGINT, indexes=(Index(2, "u", ("g",), True),)), columns=(*table(BIGINT).columns, VIRTUAL)),
        TableSchema("s", "t", 7, 1, (Column(1, "v", BIGINT),)),
    ],
)
def test_a_table_whose_keys_do_not_tell_is_one_route(of: TableSchema) -> None:
    assert not divisible(of)
    keyed = of.row_columns[:-1]
    keys = [tuple(f"{n}" if pa.types.is_string(c.type.arrow) else n for c in keyed) for n in range(50)]
    assert len(set(routes_of(changes(of, keys, [INSERT] * 50), 8).tolist())) == 1
