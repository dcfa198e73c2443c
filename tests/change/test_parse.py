"""Texts of types: every alias, every default of TiDB, a round trip, and an error that names what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.parse import parse_type, type_text
from tailrace.change.types import BLOB_NAMES, TEXT_NAMES, ColumnType
from tailrace.errors import ConfigError, DecodeError


def number(name: str, width: int, *, unsigned: bool = False, zerofill: bool = False) -> ColumnType:
    return ColumnType(name, width, 0, unsigned, zerofill)


def text(name: str, length: int, charset: str = "utf8mb4", collation: str = "") -> ColumnType:
    return ColumnType(name, length, 0, charset=charset, collation=collation or f"{charset}_bin")


def blob(name: str, length: int) -> ColumnType:
    return ColumnType(name, length, 0, charset="binary", collation="binary")


@pytest.mark.parametrize(
    ("given_text", "kind"),
    [
        ("bool", number("tinyint", 1)),
        ("BOOLEAN", number("tinyint", 1)),
        ("tinyint", number("tinyint", 4)),
        ("int1 unsigned", number("tinyint", 3, unsigned=True)),
        ("int2", number("smallint", 6)),
        ("middleint", number("mediumint", 9)),
        ("INTEGER", number("int", 11)),
        ("int(10) unsigned zerofill", number("int", 10, unsigned=True, zerofill=True)),
        ("int zerofill", number("int", 10, unsigned=True, zerofill=True)),
        ("bigint unsigned", number("bigint", 20, unsigned=True)),
        ("float", ColumnType("float", 12, -1)),
        ("float(24)", ColumnType("float", 12, -1)),
        ("float(25)", ColumnType("double", 22, -1)),
        ("float(7,3) unsigned", ColumnType("float", 7, 3, unsigned=True)),
        ("double precision", ColumnType("double", 22, -1)),
        ("REAL", ColumnType("double", 22, -1)),
        ("dec", ColumnType("decimal", 10, 0)),
        ("numeric(5)", ColumnType("decimal", 5, 0)),
        ("decimal( 10 , 2 ) unsigned", ColumnType("decimal", 10, 2, unsigned=True)),
        ("bit", ColumnType("bit", 1, 0)),
        ("bit(8)", ColumnType("bit", 8, 0)),
        ("YEAR UNSIGNED", ColumnType("year", 4, 0)),
        ("date", ColumnType("date", 10, 0)),
        ("time(3)", ColumnType("time", 14, 3)),
        ("datetime", ColumnType("datetime", 19, 0)),
        ("timestamp(6)", ColumnType("timestamp", 26, 6)),
        ("char", text("char", 1)),
        ("character(3)", text("char", 3)),
        ("character varying(20)", text("varchar", 20)),
        ("varchar(20) character set gbk", text("varchar", 20, "gbk", "gbk_chinese_ci")),
        ("varchar(20) charset gbk collate gbk_bin", text("varchar", 20, "gbk", "gbk_bin")),
        ("varchar(20) collate utf8mb4_0900_ai_ci", text("varchar", 20, "utf8mb4", "utf8mb4_0900_ai_ci")),
        ("varchar(20) character set utf8mb3", text("varchar", 20, "utf8")),
        ("national varchar(4)", text("varchar", 4, "utf8")),
        ("char(3) character set latin1 binary", text("char", 3, "latin1")),
        ("varchar(10) charset binary", blob("varbinary", 10)),
        ("text character set binary", blob("blob", 65535)),
        ("text", text("text", 65535)),
        ("text(63)", text("tinytext", 255)),
        ("text(64)", text("text", 65535)),
        ("blob(255)", blob("tinyblob", 255)),
        ("blob(70000)", blob("mediumblob", 16777215)),
        ("long varbinary", blob("mediumblob", 16777215)),
        ("json", ColumnType("json", 4294967295, 0)),
        ("vector(3)", ColumnType("vector", 3, -1)),
        ("vector", ColumnType("vector", -1, -1)),
    ],
)
def test_a_text_means_what_tidb_makes_of_it(given_text: str, kind: ColumnType) -> None:
    assert parse_type(given_text) == kind


def test_members_may_hold_commas_parentheses_quotes_and_backslashes() -> None:
    kind = parse_type(r"""enum('a','b, c','it''s','"q"','back\slash','(x)','','大') collate utf8mb4_bin""")
    assert kind.elems == ("a", "b, c", "it's", '"q"', "back\\slash", "(x)", "", "大")
    assert kind.length == 10
    assert parse_type("set('a b','c''d')").length == 7


@pytest.mark.parametrize(
    "bad",
    [
        *("", "foo", "int(", "int)", "int(1", "int(1))", "int(1) foo", "int(1,2)", "int('a')", "int(256)"),
        *("varchar", "varchar(70000)", "decimal(66)", "decimal(5,6)", "decimal(40,31)", "float(54)", "timestamp(7)"),
        *("date(3)", "bit(65)", "bit(0)", "year(2)", "json unsigned", "varchar(3) unsigned", "int; drop table t"),
        *("enum", "enum()", "enum('a',)", "enum('a' 'b')", "enum('a',1)", "enum('a','a')", "set('a,b')", "enum('a"),
        *("varchar(3) character set klingon", "varchar(3) charset gbk collate utf8mb4_bin"),
        "set(" + ",".join(f"'{at}'" for at in range(65)) + ")",
    ],
)
def test_what_cannot_be_is_an_error_that_names_the_text(bad: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_type(bad)
    assert repr(bad) in caught.value.message


def test_the_caller_says_which_error_it_is() -> None:
    with pytest.raises(DecodeError, match="the column type 'foo' cannot be"):
        parse_type("foo", error=DecodeError)


@st.composite
def kinds(draw: st.DrawFn) -> ColumnType:
    """Every kind that `parse_type` can return, by its own rules."""
    signs = draw(st.sampled_from([(False, False), (True, False), (True, True)]))
    charset, collation = draw(
        st.sampled_from(
            [("utf8mb4", "utf8mb4_general_ci"), ("gbk", "gbk_bin"), ("latin1", "latin1_bin"), ("utf8", "utf8_bin")]
        )
    )
    members = draw(
        st.lists(st.text(max_size=6).filter(lambda each: "," not in each), min_size=1, max_size=5, unique=True)
    )
    sizes = [len(each.encode("utf-8", "surrogatepass")) for each in members]
    blob_size = {"tiny": 255, "": 65535, "medium": 16777215, "long": 4294967295}
    size = draw(st.sampled_from(sorted(blob_size)))
    fraction = draw(st.integers(0, 6))
    moment = draw(st.sampled_from([("time", 10), ("datetime", 19), ("timestamp", 19)]))
    length = draw(st.integers(1, 65))
    scale = draw(st.integers(0, min(30, length)))
    made = [
        ColumnType(
            draw(st.sampled_from(["tinyint", "smallint", "mediumint", "int", "bigint"])),
            draw(st.integers(0, 255)),
            0,
            *signs,
        ),
        ColumnType("float", 12, -1, *signs),
        ColumnType("double", 22, -1, *signs),
        ColumnType("float", length, scale, *signs),
        ColumnType("decimal", length, scale, *signs),
        ColumnType("bit", draw(st.integers(1, 64)), 0),
        ColumnType("year", 4, 0),
        ColumnType("date", 10, 0),
        ColumnType("json", 4294967295, 0),
        ColumnType("vector", length, -1),
        ColumnType(moment[0], moment[1] + (fraction + 1 if fraction else 0), fraction),
        ColumnType(draw(st.sampled_from(["char", "varchar"])), length, 0, charset=charset, collation=collation),
        ColumnType(draw(st.sampled_from(["binary", "varbinary"])), length, 0, charset="binary", collation="binary"),
        ColumnType(size + "text", blob_size[size], 0, charset=charset, collation=collation),
        ColumnType(size + "blob", blob_size[size], 0, charset="binary", collation="binary"),
        ColumnType("enum", max(sizes), 0, charset=charset, collation=collation, elems=tuple(members)),
        ColumnType("set", sum(sizes) + len(sizes) - 1, 0, charset=charset, collation=collation, elems=tuple(members)),
    ]
    return draw(st.sampled_from(made))


@given(kinds())
def test_a_kind_comes_back_from_its_text(kind: ColumnType) -> None:
    assert parse_type(type_text(kind, with_charset=True)) == kind
    if kind.name not in TEXT_NAMES | BLOB_NAMES | {"enum", "set"}:
        assert parse_type(type_text(kind).upper()) == kind
