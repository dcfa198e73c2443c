"""What touches one value of any unique key, over any number of steps, is one component; the rest is spread."""

from __future__ import annotations

import itertools
import random

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType
from tailrace.route.components import component_routes, linkable
from tailrace.route.conflict import unique_keys

BIGINT = ColumnType("bigint")
TABLE = TableSchema(
    "s",
    "t",
    7,
    1,
    (Column(1, "id", BIGINT, False, True), Column(2, "u", BIGINT), Column(3, "w", BIGINT)),
    (Index(1, "PRIMARY", ("id",), True, True), Index(2, "u", ("u",), True), Index(3, "uw", ("u", "w"), True)),
)
Image = tuple[int, int | None, int | None] | None
IMAGES = st.tuples(st.integers(0, 12), st.none() | st.integers(0, 8), st.none() | st.integers(0, 2))
CHANGES = st.lists(
    st.tuples(st.none() | IMAGES, st.none() | IMAGES).filter(lambda each: each != (None, None)), min_size=1, max_size=20
)


def batch(changes: list[tuple[Image, Image]]) -> ChangeBatch:
    names = [column.name for column in TABLE.columns]
    ops = [INSERT if before is None else DELETE if after is None else UPDATE for before, after in changes]
    images = [[dict(zip(names, image, strict=True)) if image else None for image in each] for each in changes]
    numbers = pa.array(range(len(changes)), pa.int64())
    after, before = (pa.array([each[side] for each in images], TABLE.arrow_struct) for side in (1, 0))
    columns = [pa.array(ops, pa.uint8()), numbers, numbers, after, before]
    return ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE)))


def linked(one: tuple[Image, Image], other: tuple[Image, Image]) -> bool:
    for mine, theirs in itertools.product(one, other):
        if mine and theirs:
            same_u = mine[1] is not None and mine[1] == theirs[1]
            if mine[0] == theirs[0] or same_u:
                return True
    return False


@settings(deadline=None)
@given(CHANGES, st.integers(2, 5), st.randoms())
def test_what_is_linked_shares_a_route_in_whatever_order_it_comes(
    changes: list[tuple[Image, Image]], routes: int, dice: random.Random
) -> None:
    found = component_routes(batch(changes), routes).tolist()
    assert all(0 <= route < routes for route in found)
    for one, other in itertools.combinations(range(len(changes)), 2):
        if linked(changes[one], changes[other]):
            assert found[one] == found[other]
    order = list(range(len(changes)))
    dice.shuffle(order)
    again = component_routes(batch([changes[at] for at in order]), routes).tolist()
    assert again == [found[at] for at in order]


def test_a_long_chain_is_one_component() -> None:
    chain: list[tuple[Image, Image]] = [((at, at, None), (at, at + 1, None)) for at in range(5_000)]
    random.Random(1).shuffle(chain)
    assert len(set(component_routes(batch(chain), 64).tolist())) == 1


def test_changes_without_a_link_are_spread() -> None:
    apart: list[tuple[Image, Image]] = [(None, (at, None, 1)) for at in range(4_000)]
    routes = component_routes(batch(apart), 8).tolist()
    assert min(routes.count(route) for route in range(8)) > 400


def test_only_keys_that_compare_by_their_bytes_can_be_linked() -> None:
    assert unique_keys(TABLE) == [("id",), ("u",), ("u", "w")]
    assert linkable(TABLE)
    folded = Column(2, "u", ColumnType("varchar", 9, charset="utf8mb4", collation="utf8mb4_general_ci"))
    index = (Index(2, "u", ("u",), True),)
    assert not linkable(TableSchema("s", "t", 7, 1, (TABLE.columns[0], folded), index))
    assert not linkable(TableSchema("s", "t", 7, 1, (Column(1, "v", BIGINT),)))
