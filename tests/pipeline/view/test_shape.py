"""The shape of a view: which versions of a table fit its columns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.errors import ConfigError, SchemaChanged
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import Version
from tailrace.pipeline.view.shape import check_asked, image_of, misfit, schema_of
from tests.pipeline.view.folders import ID, NAME, TOTAL, orders

OPTIONS = ViewOptions("", "shop", "orders")
MERGED = replace(OPTIONS, merge_schema=True)
SMALL = replace(ID, type=ColumnType("int", 11))
OLD = Version(100, orders(100, (SMALL, NAME)))
NEW = Version(200, orders(200, (ID, TOTAL)))


def own(schema: StructType) -> list[str]:
    return [f"{field.name} {field.dataType.simpleString()}" for field in schema if not field.name.startswith("_")]


def test_without_merging_a_view_has_the_columns_of_one_version() -> None:
    assert own(schema_of([OLD, NEW], OPTIONS)) == ["id bigint", "total decimal(12,2)"]
    assert own(schema_of([OLD, NEW], replace(OPTIONS, end_ts=150))) == ["id int", "name string"]
    assert own(schema_of([OLD, NEW], replace(OPTIONS, schema_at=100))) == ["id int", "name string"]


def test_merged_a_view_has_the_columns_of_all_each_wide_enough() -> None:
    merged = schema_of([OLD, NEW], MERGED)
    assert own(merged) == ["id bigint", "total decimal(12,2)", "name string"]
    assert misfit(merged, OLD.table, MERGED) == misfit(merged, NEW.table, MERGED) == ""


def test_types_that_no_type_holds_both_of_cannot_be_merged() -> None:
    other = Version(300, orders(300, (ID, replace(TOTAL, type=ColumnType("json")))))
    with pytest.raises(SchemaChanged, match=r"total is decimal\(12,2\) in version 200 and string later"):
        schema_of([NEW, other], MERGED)


def test_a_version_fits_only_the_columns_that_it_has() -> None:
    schema = schema_of([NEW], OPTIONS)
    assert misfit(schema, NEW.table, OPTIONS) == ""
    assert "id as int, not bigint" in misfit(schema, OLD.table, OPTIONS)
    assert "no column total" in misfit(schema, orders(100, (ID,)), OPTIONS)
    assert "has the column name" in misfit(schema, orders(100, (ID, TOTAL, NAME)), OPTIONS)


def test_chosen_columns_ask_for_no_others() -> None:
    chosen = replace(OPTIONS, columns=("id", "_op"))
    schema = schema_of([NEW], chosen)
    assert schema.names == ["id", "_op"]
    assert misfit(schema, orders(300, (ID, TOTAL, NAME)), chosen) == ""
    asked = StructType([StructField("id", LongType())])
    assert misfit(asked, orders(300, (ID, NAME)), OPTIONS) == ""
    with pytest.raises(ConfigError, match="names nothing, which the table has not"):
        schema_of([NEW], replace(OPTIONS, columns=("nothing",)))


def test_a_schema_of_the_users_may_leave_out_but_not_retype() -> None:
    check_asked(StructType([StructField("id", LongType())]), [NEW], OPTIONS)
    with pytest.raises(ConfigError, match="asks for id as string; it is bigint"):
        check_asked(StructType([StructField("id", StringType())]), [NEW], OPTIONS)
    with pytest.raises(ConfigError, match="never had"):
        check_asked(StructType([StructField("price", LongType())]), [NEW], OPTIONS)


def test_a_table_with_a_column_named_as_one_of_the_views_own_is_refused() -> None:
    clash = Column(9, "_OP", ColumnType("int", 11))
    with pytest.raises(ConfigError, match="_op"):
        image_of(orders(100, (ID, clash)), OPTIONS)
