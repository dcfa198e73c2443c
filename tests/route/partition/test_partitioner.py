"""Partitions: each rule's, against the obvious sum over one row; what a rule cannot mean is refused."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.config import DispatchRule
from tailrace.config.values import DispatchDialect
from tailrace.errors import ConfigError
from tailrace.route.partition import PartitionRule, compile_rule, parse_rule, problems

TABLE = TableSchema(
    "Shop",
    "orders",
    7,
    1,
    (
        Column(1, "id", parse_type("bigint"), nullable=False, pk=True),
        Column(2, "twice", parse_type("bigint"), generated="virtual"),
        Column(3, "Code", parse_type("varchar(32)")),
        Column(4, "grams", parse_type("double")),
    ),
    (Index(1, "uk_code", ("Code",), unique=True), Index(2, "by_grams", ("grams",))),
    pk_is_handle=True,
)
ROW = st.fixed_dictionaries(
    {"id": st.integers(-(1 << 63), (1 << 63) - 1), "Code": st.none() | st.text(max_size=40), "grams": st.none()}
)
CHANGE = st.tuples(st.sampled_from([INSERT, UPDATE, DELETE]), ROW, ROW, st.integers(1, (1 << 62)))


def rule(partition: str, *columns: str, index: str = "", dialect: DispatchDialect = "tailrace") -> PartitionRule:
    return parse_rule(DispatchRule(("*.*",), partition, index, columns, ""), dialect, "sink.dispatchers[0]")


def batch(changes: list[tuple[int, dict[str, Any], dict[str, Any], int]]) -> ChangeBatch:
    columns = [
        pa.array([op for op, *_ in changes], pa.uint8()),
        pa.array([ts for *_, ts in changes], pa.int64()),
        pa.array([ts for *_, ts in changes], pa.int64()),
        pa.array([None if op == DELETE else after for op, _, after, _ in changes], TABLE.arrow_struct),
        pa.array([None if op == INSERT else before for op, before, _, _ in changes], TABLE.arrow_struct),
    ]
    return ChangeBatch(TABLE, pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE)))


def obvious(row: dict[str, Any], names: tuple[str, ...]) -> int:
    found = zlib.crc32(b"Shoporders")
    for name in names:
        text = "null" if row[name] is None else str(row[name])
        found ^= zlib.crc32((name + text).encode())
    return found


@settings(max_examples=60, deadline=None)
@given(st.lists(CHANGE, max_size=8), st.integers(1, 20))
def test_each_rule_gives_what_the_sum_over_one_row_gives(
    changes: list[tuple[int, dict[str, Any], dict[str, Any], int]], count: int
) -> None:
    whole = batch(changes)
    image = [before if op == DELETE else after for op, before, after, _ in changes]
    for said, names in [
        (rule("default"), ()),
        (rule("rowid"), ("id",)),
        (rule("PK"), ("id",)),
        (rule("index-value", index="UK_code"), ("Code",)),
        (rule("[code, id]"), ("Code", "id")),
        (rule("columns", "id", "nothing"), ("id",)),
    ]:
        got = compile_rule(said, TABLE).partitions(whole, count).tolist()
        assert got == [obvious(row, names) % count for row in image], said
    times = compile_rule(rule("ts"), TABLE).partitions(whole, count).tolist()
    assert times == [ts % count for *_, ts in changes]


SOME = batch([(INSERT, {}, {"id": 1, "Code": "x", "grams": 2.5}, 9), (DELETE, {"id": 2, "grams": 1.0}, {}, 10)])


def test_a_number_is_that_partition_and_no_column_at_all_is_partition_0() -> None:
    assert compile_rule(rule("2"), TABLE).partitions(SOME, 3).tolist() == [2, 2]
    assert compile_rule(rule("[gone]"), TABLE).partitions(SOME, 3).tolist() == [0, 0]
    with pytest.raises(ConfigError, match="is 2; with 2 partitions it may be 0 to 1"):
        compile_rule(rule("2"), TABLE).partitions(SOME, 2)


def test_a_dropped_column_adds_nothing() -> None:
    narrow = replace(TABLE, columns=TABLE.columns[:2])
    images = [
        pa.StructArray.from_arrays([image.field(0)], ["id"], mask=image.is_null())
        for image in (SOME.after, SOME.before)
    ]
    columns = [*SOME.data.columns[:3], *images]
    left = ChangeBatch(narrow, pa.RecordBatch.from_arrays(columns, schema=batch_schema(narrow)))
    got = compile_rule(rule("index-value", index="uk_code"), TABLE).hashes(left).tolist()
    assert got == [obvious({}, ())] * 2


@pytest.mark.parametrize("said", ["tabel", "-1", "1.5", "[a,]", "[]", "columns", "key"])
def test_what_is_no_rule_fails_and_is_named(said: str) -> None:
    with pytest.raises(ConfigError, match=r"sink.dispatchers\[0\]"):
        rule(said)


@pytest.mark.parametrize("said", ["tabel", "pk", "3", "[id]"])
def test_in_the_dialect_of_ticdc_an_unknown_word_is_the_default(said: str) -> None:
    assert rule(said, dialect="ticdc").kind == "table"


def test_what_a_table_lacks_fails_or_is_a_warning() -> None:
    with pytest.raises(ConfigError, match="'nope'; the table has the indexes uk_code, by_grams"):
        problems(rule("index-value", index="nope"), TABLE)
    with pytest.raises(ConfigError, match="no unique index"):
        problems(rule("index-value", index="by_grams"), TABLE)
    assert problems(rule("index-value", index="primary"), TABLE) == []
    with pytest.raises(ConfigError, match="column-selectors drop"):
        problems(rule("[code]"), TABLE, dropped=["Code"])
    assert problems(rule("[code, twice]"), TABLE) == [
        "sink.dispatchers[0] names twice, which Shop.orders does not carry: only Code is hashed"
    ]
    with pytest.raises(ConfigError, match="the table carries id, Code, grams"):
        problems(rule("columns", "twice", dialect="ticdc"), TABLE)
