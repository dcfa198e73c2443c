"""Schema files: the bytes and checksums of TiCDC, both dialects, the design documents' form, and what is refused."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import Column, TableSchema
from tailrace.change.schema_file import database_file, parse, table_file
from tailrace.change.types import INTEGER_BITS, TYPE_NAMES, ColumnType
from tailrace.errors import DecodeError

PLACE = "shop/t/meta/schema_5_0000000001.json"


def table(*columns: Column, schema: str = "test", name: str = "table1") -> TableSchema:
    return TableSchema(schema, name, 7, 100, columns)


def column(name: str, kind: ColumnType, **more: Any) -> Column:
    return Column(1, name, kind, **more)


TWO = table(column("col1", ColumnType("int", 11)), column("col2", ColumnType("varchar", 5)))
ENUM = table(
    column("id", ColumnType("int", 11), nullable=False, pk=True),
    column("kind", ColumnType("enum", elems=("a", "b<c")), default="a"),
    name="e",
)


def test_known_checksums_of_ticdc() -> None:
    event = DdlEvent(100, 0, 0, DdlType.CREATE_SCHEMA, "create database schema1", "schema1")
    assert database_file(event)[1] == 3233644819
    assert table_file(TWO)[1] == 4192708364
    assert table_file(ENUM)[1] == 627071850
    assert table_file(ENUM, dialect="new")[1] == 1654162255
    known = table(
        column("Id", ColumnType("int", 11), nullable=False, pk=True, default=10),
        column("LastName", ColumnType("varchar", 128), nullable=False, default="Default LastName"),
        column("FirstName", ColumnType("varchar", 64), default="Default FirstName"),
        column("Birthday", ColumnType("datetime"), default=12345678),
        schema="schema1",
    )
    assert table_file(known)[1] == 3752767265


def test_a_file_of_an_event_has_its_query_and_commit_ts_and_one_without_has_none() -> None:
    event = DdlEvent(200, 0, 0, DdlType.ADD_COLUMN, "alter table t add <x>", "test", "table1", TWO)
    said = json.loads(table_file(TWO, event)[0])
    assert (said["TableVersion"], said["Query"], said["Type"]) == (200, "alter table t add <x>", 5)
    said = json.loads(table_file(TWO)[0])
    assert (said["Version"], said["TableVersion"], said["Query"], said["Type"]) == (1, 100, "", 0)
    assert "\\u003cx\\u003e" in table_file(TWO, event)[0]


def test_the_checksum_is_of_names_and_columns_and_nothing_else() -> None:
    swapped = replace(TWO, columns=TWO.columns[::-1], version=999)
    assert table_file(swapped)[1] == table_file(TWO)[1]
    assert table_file(replace(TWO, name="other"))[1] != table_file(TWO)[1]
    assert table_file(TWO, with_ids=True)[1] != table_file(TWO)[1]


def test_the_origin_default_shows_in_the_classic_dialect_only() -> None:
    aged = table(column("a", ColumnType("int"), origin_default="7"))
    assert '"ColumnDefault": "7"' in table_file(aged)[0]
    assert "ColumnDefault" not in table_file(aged, dialect="new")[0]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ColumnType("int"), {"ColumnType": "INT", "ColumnPrecision": "11"}),
        (ColumnType("int", unsigned=True), {"ColumnType": "INT UNSIGNED", "ColumnPrecision": "10"}),
        (ColumnType("int", 5, zerofill=True), {"ColumnType": "INT UNSIGNED", "ColumnPrecision": "5"}),
        (ColumnType("tinyint", 1), {"ColumnType": "TINYINT", "ColumnPrecision": "1"}),
        (ColumnType("bit", 33), {"ColumnType": "BIT UNSIGNED", "ColumnPrecision": "33"}),
        (ColumnType("year"), {"ColumnType": "YEAR UNSIGNED", "ColumnPrecision": "4"}),
        (ColumnType("float", 12, 3), {"ColumnType": "FLOAT", "ColumnPrecision": "12", "ColumnScale": "3"}),
        (ColumnType("double", 22, -1), {"ColumnType": "DOUBLE", "ColumnPrecision": "22"}),
        (ColumnType("decimal", 10, 0), {"ColumnType": "DECIMAL", "ColumnPrecision": "10", "ColumnScale": "0"}),
        (ColumnType("timestamp", 22, 2), {"ColumnType": "TIMESTAMP", "ColumnScale": "2"}),
        (ColumnType("datetime", 19, 0), {"ColumnType": "DATETIME"}),
        (ColumnType("date", 10, 2), {"ColumnType": "DATE"}),
        (ColumnType("text"), {"ColumnType": "TEXT", "ColumnPrecision": "65535"}),
        (ColumnType("json", 4294967295), {"ColumnType": "JSON"}),
        (ColumnType("set", elems=("x",)), {"ColumnType": "SET"}),
    ],
)
def test_each_type_has_its_name_precision_and_scale(kind: ColumnType, said: dict[str, str]) -> None:
    (written,) = json.loads(table_file(table(column("c", kind)))[0])["TableColumns"]
    assert written == {"ColumnName": "c"} | said


def test_the_form_of_the_design_documents_is_read() -> None:
    text = json.dumps(
        {
            "Table": "test",
            "Schema": "tbl_1",
            "Version": 1,
            "TableVersion": 437752935075545091,
            "Query": "create table tbl_1 (Id int primary key)",
            "TableColumns": [
                {"ColumnName": "Id", "ColumnType": "INT", "ColumnNullable": "false", "ColumnIsPk": "true"},
                {"ColumnName": "LastName", "ColumnType": "CHAR", "ColumnLength": "20", "ColumnNullable": "true"},
                {"ColumnName": "OfficeLocation", "ColumnType": "BLOB", "ColumnLength": "20"},
            ],
            "TableColumnsTotal": "3",
        }
    )
    found = parse(text, PLACE)
    shape = found.table("test", "tbl_1")
    assert (found.type, found.version, shape.full_name) == (0, 437752935075545091, "test.tbl_1")
    assert [each.type.length for each in shape.columns] == [-1, 20, 20]
    assert [each.nullable for each in shape.columns] == [False, True, True]
    assert shape.pk_is_handle and shape.columns[2].type.is_binary and shape.handle_key == ("Id",)


def test_a_database_file_is_read_as_one_without_columns() -> None:
    event = DdlEvent(9, 0, 0, DdlType.CREATE_SCHEMA, "create database d", "d")
    text, checksum = database_file(event)
    found = parse(text, PLACE)
    found.check(checksum, PLACE)
    assert (found.schema, found.name, found.columns, found.type) == ("d", "", (), 1)


def test_a_checksum_of_another_file_is_refused_with_both_numbers() -> None:
    text, checksum = table_file(TWO)
    with pytest.raises(DecodeError, match=f"{checksum}.*says 5") as refused:
        parse(text, PLACE).check(5, PLACE)
    assert PLACE in str(refused.value)


def test_either_dialects_checksum_and_either_form_of_a_broken_byte_is_accepted() -> None:
    text, checksum = table_file(ENUM, dialect="new")
    parse(text, PLACE).check(checksum, PLACE)
    parse(text, PLACE).check(table_file(ENUM)[1], PLACE)
    raw = table(column("b", ColumnType("binary", 2), default=b"\xff\xfe"))
    text, checksum = table_file(raw)
    assert "\\ufffd\\ufffd" in text
    parse(text, PLACE).check(checksum, PLACE)
    plain = text.replace("\\ufffd", "\ufffd")
    replaced = table(column("b", ColumnType("binary", 2), default="\ufffd\ufffd"))
    parse(plain, PLACE).check(table_file(replaced)[1], PLACE)


def _broken(**changed: Any) -> str:
    said = json.loads(table_file(TWO)[0]) | changed
    return json.dumps({key: value for key, value in said.items() if value is not ...})


def _column(**changed: Any) -> str:
    return _broken(TableColumns=[{"ColumnName": "c", "ColumnType": "INT"} | changed], TableColumnsTotal=1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe\xff", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "holds an object"),
        (_broken(TableVersion=...), "TableVersion"),
        (_broken(TableVersion=1.5), "TableVersion"),
        (_broken(TableVersion=2**63), "TableVersion"),
        (_broken(TableVersion="9" * 5000), "TableVersion"),
        (_broken(TableVersion=True), "TableVersion"),
        (_broken(Query=None), "Query"),
        (_broken(TableColumnsTotal=3), "there are 2 columns"),
        (_broken(TableColumns={}, TableColumnsTotal=0), "array of objects"),
        (_broken(TableColumns=[1], TableColumnsTotal=1), "array of objects"),
        (_broken(TableColumns=[{"ColumnType": "INT"}], TableColumnsTotal=1), "ColumnName is missing"),
        (_broken(TableColumns=[{"ColumnName": "a", "ColumnType": "INT"}] * 2), "more than once"),
        (_column(ColumnType="VARCAHR"), "the nearest known one is VARCHAR"),
        (_column(ColumnType=""), "no type"),
        (_column(ColumnType="INT SIGNED"), "no type"),
        (_column(ColumnPrecision="wide"), "ColumnPrecision"),
        (_column(ColumnPrecision="9" * 5000), "ColumnPrecision"),
        (_column(ColumnNullable="yes"), "ColumnNullable"),
        (_column(ColumnDefault=[1]), "ColumnDefault"),
        (_column(ColumnElems="ab"), "ColumnElems"),
    ],
)
def test_what_is_no_schema_file_is_refused_with_its_place(text: str | bytes, said: str) -> None:
    with pytest.raises(DecodeError) as refused:
        parse(text, PLACE)
    assert said in refused.value.message and refused.value.position == PLACE


_text = st.text(st.characters(codec="utf-8"), max_size=6)
_kind = st.builds(
    lambda name, length, scale, unsigned: ColumnType(
        name, length, scale, unsigned and name in (*INTEGER_BITS, "float", "double", "decimal")
    ),
    st.sampled_from(sorted(TYPE_NAMES)),
    st.integers(-1, 300),
    st.integers(-1, 6),
    st.booleans(),
)
_column_of_any_kind = st.builds(
    Column,
    st.integers(1, 1000),
    _text.filter(bool),
    _kind,
    nullable=st.booleans(),
    pk=st.booleans(),
    default=st.none() | _text | st.binary(max_size=4) | st.integers(0, 2**40),
)


@given(
    _text, _text, st.lists(_column_of_any_kind, min_size=1, max_size=5, unique_by=lambda each: each.name), st.booleans()
)
def test_a_file_that_is_read_and_written_again_is_the_same(
    schema: str, name: str, columns: list[Column], with_ids: bool
) -> None:
    text, checksum = table_file(table(*columns, schema=schema, name=name), with_ids=with_ids)
    found = parse(text, PLACE)
    found.check(checksum, PLACE)
    if "\\ufffd" not in text:
        assert table_file(found.table(schema, name), with_ids=with_ids) == (text, checksum)


@given(st.text() | st.binary())
def test_any_text_is_a_schema_file_or_is_refused(text: str | bytes) -> None:
    try:
        parse(text, PLACE)
    except DecodeError as refused:
        assert refused.position == PLACE


def test_the_checksum_is_a_plain_crc_of_the_documented_bytes() -> None:
    lines = ['"Table": "t",', '"Schema": "s",', '"Version": 0,', '"TableColumns": [],', '"TableColumnsTotal": 0']
    body = "{\n    " + "\n    ".join(lines) + "\n}"
    assert table_file(TableSchema("s", "t", 1, 1, ()))[1] == zlib.crc32(body.encode())
