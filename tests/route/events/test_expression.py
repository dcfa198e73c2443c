"""Expressions: what they say of every row is what three-valued logic says of it alone; what is not built is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.errors import ConfigError
from tailrace.route.events.expression import compile_expression

TYPES = {
    "id": "bigint",
    "big": "bigint unsigned",
    "price": "decimal(10,2)",
    "ratio": "double",
    "name": "varchar(20)",
    "raw": "varbinary(8)",
    "born": "date",
    "seen": "datetime(3)",
    "kind": "enum('low','high')",
    "doc": "json",
    "took": "time",
}
TABLE = TableSchema(
    "s",
    "t",
    1,
    1,
    (
        *(Column(at, name, parse_type(kind)) for at, (name, kind) in enumerate(TYPES.items(), 1)),
        Column(90, "loud", parse_type("varchar(9)", "utf8mb4", "utf8mb4_general_ci")),
        Column(91, "twice", parse_type("bigint"), generated="virtual"),
    ),
)


def chosen(text: str, rows: list[dict[str, Any]]) -> list[bool]:
    found: list[bool] = compile_expression(text, TABLE, "key")(pa.array(rows, TABLE.arrow_struct)).to_pylist()
    return found


Truth = bool | None


def obvious(tree: Any, row: dict[str, Any]) -> Truth:
    """One row by the book."""
    op, *parts = tree
    if op == "not":
        inner = obvious(parts[0], row)
        return None if inner is None else not inner
    if op in ("and", "or"):
        left, right = (obvious(part, row) for part in parts)
        decides: bool = op == "or"
        if decides in (left, right):
            return decides
        return None if None in (left, right) else not bool(decides)
    value, other = row[parts[0]], parts[1]
    if op == "is null":
        return value is None
    if value is None:
        return None
    value = Decimal(value) if isinstance(value, str) else value
    return bool({"<": value < other, "=": value == other, ">=": value >= other}[op])


def spelled(tree: Any) -> str:
    op, *parts = tree
    if op == "not":
        return f"not ({spelled(parts[0])})"
    if op in ("and", "or"):
        return f"({spelled(parts[0])}) {op} ({spelled(parts[1])})"
    return f"{parts[0]} is null" if op == "is null" else f"{parts[0]} {op} {parts[1]}"


LEAF = st.tuples(st.sampled_from(["<", "=", ">="]), st.sampled_from(["id", "big", "price"]), st.integers(-3, 3)) | (
    st.tuples(st.just("is null"), st.sampled_from(["id", "big", "price"]), st.just(0))
)
TREE = st.recursive(
    LEAF, lambda one: st.tuples(st.just("not"), one) | st.tuples(st.sampled_from(["and", "or"]), one, one), max_leaves=5
)
ROW = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-3, 3) | st.just(-(1 << 63)),
        "big": st.none() | st.integers(0, 3) | st.just((1 << 64) - 1),
        "price": st.none() | st.sampled_from(["-3.00", "-0.01", "0.00", "1.00", "2.99", "99999999.99"]),
    }
)


@settings(max_examples=60, deadline=None)
@given(TREE, st.lists(ROW, min_size=1, max_size=6))
def test_logic_is_that_of_each_row_by_itself(tree: Any, rows: list[dict[str, Any]]) -> None:
    assert chosen(spelled(tree), rows) == [obvious(tree, row) is True for row in rows]


@pytest.mark.parametrize(
    ("text", "rows", "want"),
    [
        ("id", [{"id": 1}, {"id": 2}, {"id": None}], [True, False, False]),
        ("not id", [{"id": 0}, {"id": 2}, {"id": None}], [True, False, False]),
        ("price > 1000.4", [{"price": "1000.50"}, {"price": "1000.40"}], [True, False]),
        ("big = 18446744073709551615", [{"big": (1 << 64) - 1}, {"big": 0}], [True, False]),
        ("big > id", [{"big": 1 << 63, "id": -1}, {"big": 0, "id": 1}], [True, False]),
        ("ratio >= 0.5", [{"ratio": 0.5}, {"ratio": 0.25}, {}], [True, False, False]),
        ("name = 'tom'", [{"name": "tom"}, {"name": "Tom"}, {"name": "tom  "}], [True, False, True]),
        ("raw = 'a'", [{"raw": b"a"}, {"raw": b"a "}], [True, False]),
        ("NAME like 'A\\_%'", [{"name": "A_b"}, {"name": "Ab"}, {"name": "xA_"}], [True, False, False]),
        ("name not like 'A%'", [{"name": "A"}, {"name": "b\n"}, {}], [False, True, False]),
        ("name regexp '^a.c'", [{"name": "abcd"}, {"name": "xabc"}], [True, False]),
        ("id in (1, 3)", [{"id": 1}, {"id": 2}, {}], [True, False, False]),
        ("id not in (1, null)", [{"id": 1}, {"id": 2}], [False, False]),
        ("id <=> null", [{"id": 1}, {}], [False, True]),
        ("(id = 1) is false", [{"id": 1}, {"id": 2}, {}], [False, True, False]),
        ("(id = 1) is not true", [{"id": 1}, {"id": 2}, {}], [False, True, True]),
        ("born >= '2000-01-01'", [{"born": "2000-01-01"}, {"born": "1999-12-31"}], [True, False]),
        ("born < '2000-01-01 00:00:01'", [{"born": "2000-01-01"}], [True]),
        ("seen > '2000-01-01 10:00:00.5'", [{"seen": "2000-01-01 10:00:00.501"}], [True]),
        ("seen > born", [{"seen": "2000-01-01 00:00:00.001", "born": "2000-01-01"}], [True]),
        ("kind = 'high'", [{"kind": 2}, {"kind": 1}, {"kind": 0}, {}], [True, False, False, False]),
        ("kind = 1", [{"kind": 2}, {"kind": 1}], [False, True]),
        ("doc is null", [{"doc": "null"}, {}], [False, True]),
        ("t.id = 1 && true", [{"id": 1}], [True]),
    ],
)
def test_what_an_expression_says_of_rows(text: str, rows: list[dict[str, Any]], want: list[bool]) -> None:
    assert chosen(text, rows) == want


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("id >", "no SQL expression"),
        ("id = 1; id = 2", "not one SQL expression"),
        (" ", "not one SQL expression"),
        ("nope = 1", "no column nope"),
        ("other.id = 1", "another table"),
        ("twice = 1", "virtual"),
        ("upper(name) = 'A'", "UPPER"),
        ("id + 1 = 2", "id + 1"),
        ("id = 1 xor id = 2", "not supported"),
        ("id in (select 1)", "IN takes a list"),
        ("name = 1", "different kinds"),
        ("loud = 'x'", "collation"),
        ("took > '1'", "only IS NULL"),
        ("doc = '1'", "only IS NULL"),
        ("born = 'today'", "a date is written"),
        ("name regexp '('", "invalid"),
        ("name like id", "a text in quotes"),
        ("name like 'a' escape 'b'", "not supported"),
        ("price", "neither 0 nor 1"),
        ("1 = 1", "has to be a column"),
        ("id = 1e3", "1e3"),
        ("name", "neither 0 nor 1"),
        ("drop table t", "not supported"),
    ],
)
def test_what_is_not_built_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=r"key is ") as refused:
        compile_expression(text, TABLE, "key")
    assert named in str(refused.value)
