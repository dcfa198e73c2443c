"""The mapping of types: every SQL type has a Spark type that holds all of its values."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ByteType, DecimalType, DoubleType, FloatType, IntegerType, LongType, StringType

from tailrace.change.schema_column import column_of
from tailrace.change.types import TYPE_NAMES, ColumnType
from tailrace.pipeline.view.mapping import spark_type, wider


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (ColumnType("tinyint", 1), "tinyint"),
        (ColumnType("tinyint", 3, unsigned=True), "smallint"),
        (ColumnType("smallint", 5, unsigned=True), "int"),
        (ColumnType("mediumint", 8, unsigned=True), "int"),
        (ColumnType("int", 10, unsigned=True), "bigint"),
        (ColumnType("bigint", 20), "bigint"),
        (ColumnType("bigint", 20, unsigned=True), "decimal(20,0)"),
        (ColumnType("bit", 63), "bigint"),
        (ColumnType("bit", 64), "decimal(20,0)"),
        (ColumnType("year", 4), "smallint"),
        (ColumnType("float", 12), "float"),
        (ColumnType("double", 22), "double"),
        (ColumnType("decimal", 38, 30), "decimal(38,30)"),
        (ColumnType("decimal", 39, 0), "string"),
        (ColumnType("decimal"), "decimal(10,0)"),
        (ColumnType("date"), "date"),
        (ColumnType("datetime", 26, 6), "timestamp_ntz"),
        (ColumnType("timestamp", 26, 6), "timestamp"),
        (ColumnType("time", 10), "string"),
        (ColumnType("varchar", 10, charset="utf8mb4"), "string"),
        (ColumnType("varbinary", 10, charset="binary"), "binary"),
        (ColumnType("enum", elems=("a",)), "string"),
        (ColumnType("set", elems=("a",)), "string"),
        (ColumnType("json"), "string"),
        (ColumnType("vector"), "string"),
    ],
)
def test_types_are_mapped_without_loss(kind: ColumnType, wanted: str) -> None:
    assert spark_type(kind, "null").simpleString() == wanted


def test_every_type_that_there_is_has_one() -> None:
    for name in TYPE_NAMES:
        assert spark_type(column_of({"ColumnName": "c", "ColumnType": name.upper()}, 0, "x").type, "null")


@pytest.mark.parametrize("name", ["date", "datetime", "timestamp"])
def test_zero_dates_as_strings_make_dates_and_times_text(name: str) -> None:
    assert spark_type(ColumnType(name), "string") == StringType()


def test_the_wider_of_two_types_holds_the_values_of_both() -> None:
    assert wider(ByteType(), IntegerType()) == IntegerType()
    assert wider(LongType(), DecimalType(20, 0)) == DecimalType(20, 0)
    assert wider(DecimalType(10, 2), DecimalType(8, 4)) == DecimalType(12, 4)
    assert wider(DecimalType(38, 0), DecimalType(10, 2)) is None
    assert wider(FloatType(), DoubleType()) == DoubleType()
    assert wider(IntegerType(), StringType()) is None
    assert wider(StringType(), StringType()) == StringType()
