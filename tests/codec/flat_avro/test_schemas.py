"""Names, types and defaults of schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, Default, TableSchema
from tailrace.codec.flat_avro import FlatAvroOptions
from tailrace.codec.flat_avro.fields import Field, escaped_member, legal
from tailrace.codec.flat_avro.schemas import Shape, namespace, subject
from tailrace.errors import EncodeError


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("normalColumnName123", "normalColumnName123"),
        ("1ColumnNameStartWithNumber", "_1ColumnNameStartWithNumber"),
        ("A.B", "A_B"),
        ("columnNameWith中文", "columnNameWith__"),
        ("٣", "_"),
        ("ª²", "__"),
    ],
)
def test_a_name_is_made_legal(name: str, wanted: str) -> None:
    assert legal(name) == wanted


@pytest.mark.parametrize(
    ("first", "schema", "wanted"),
    [
        ("N-amespace", "S.chema", "N_amespace.S_chema"),
        ("1Namespace", "1Schema", "_1Namespace._1Schema"),
        ("n", "", "n"),
    ],
)
def test_the_namespace_is_the_changefeeds_and_the_schemas(first: str, schema: str, wanted: str) -> None:
    table = TableSchema(schema, "t", 1, 1, ())
    assert namespace(table, FlatAvroOptions(namespace=first)) == wanted


def test_a_subject_is_the_topic_without_dots() -> None:
    assert subject("a.b", "value") == "a_b-value"


def test_members_are_listed_as_ticdc_lists_them() -> None:
    assert [escaped_member(each) for each in ("a,b", "it\\'s", "it''s", "a\\b")] == ["a\\,b", "it's", "it's", "a\\b"]


def test_the_schema_of_the_fixture() -> None:
    columns = (Column(1, "id", parse_type("int"), False, True), Column(2, "v", parse_type("text")))
    shape = Shape.of(TableSchema("test", "t1", 1, 1, columns, pk_is_handle=True), FlatAvroOptions())
    assert shape.value_schema == (
        '{"type":"record","name":"t1","namespace":"default.test","fields":[{"name":"id","type":{"type":"int",'
        '"connect.parameters":{"tidb_type":"INT"}}},{"default":null,"name":"v","type":["null",{"type":"string",'
        '"connect.parameters":{"tidb_type":"TEXT"}}]}]}'
    )


@pytest.mark.parametrize(
    ("kind", "default", "wanted"),
    [
        ("float", "3.14", 3.140000104904175),
        ("double", "1e-7", 1e-07),
        ("bigint unsigned", "18446744073709551615", -1),
        ("varchar(9)", "null", "null"),
        ("varbinary(3)", b"\xff\0", "/wA="),
        ("timestamp", "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
        ("year", "0000", 0),
    ],
)
def test_a_default_is_converted_by_type(kind: str, default: Default, wanted: Any) -> None:
    field = Field.of(Column(1, "c", parse_type(kind), default=default), FlatAvroOptions())
    assert json.loads(field.text)["default"] == wanted and field.null_branch == 1 and field.branch == 0
    late = Field.of(Column(1, "c", parse_type(kind), False, origin_default=default), FlatAvroOptions())
    assert json.loads(late.text)["default"] == wanted and late.null_branch == late.branch == -1


def test_a_decimal_of_bytes_has_no_default() -> None:
    field = Field.of(Column(1, "c", parse_type("decimal(8,3)"), default="1.500"), FlatAvroOptions())
    assert json.loads(field.text)["default"] is None and field.branch == 2


@pytest.mark.parametrize(("kind", "default"), [("int", "seven"), ("double", "x"), ("vector", "[1]"), ("float", "1e99")])
def test_a_default_that_is_none_of_its_type_is_refused(kind: str, default: str) -> None:
    with pytest.raises(EncodeError, match="column c"):
        Field.of(Column(1, "c", parse_type(kind), default=default), FlatAvroOptions())
