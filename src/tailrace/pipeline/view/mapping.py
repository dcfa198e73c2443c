"""The mapping of SQL types to Spark's, and of a table's columns to the columns of a view.

Nothing is narrowed: a type of Spark's that cannot hold every value of the SQL type is not used for it. So unsigned
integers go one size up, BIGINT UNSIGNED is DECIMAL(20,0), DECIMAL with more than 38 digits is text, and TIME, which
reaches from -838 to 838 hours, is text. Every column of a table may be NULL in a view: a version may lack it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType

OP, COMMIT_TS, START_TS, BEFORE, SNAPSHOT = OWN = ("_op", "_commit_ts", "_start_ts", "_before", "_snapshot")
WIDEST_DECIMAL = 38
_SIGNED: dict[str, DataType] = {
    "tinyint": ByteType(),
    "smallint": ShortType(),
    "mediumint": IntegerType(),
    "int": IntegerType(),
    "bigint": LongType(),
}
_UNSIGNED: dict[str, DataType] = {
    "tinyint": ShortType(),
    "smallint": IntegerType(),
    "mediumint": IntegerType(),
    "int": LongType(),
    "bigint": DecimalType(20, 0),
}
_TEMPORAL: dict[str, DataType] = {
    "date": DateType(),
    "datetime": TimestampNTZType(),
    "timestamp": TimestampType(),
}
_OTHER: dict[str, DataType] = {"year": ShortType(), "float": FloatType(), "double": DoubleType()}
_WIDENS = ("byte", "short", "int", "bigint", "decimal(20,0)")
_LONGEST_SIGNED_BIT = 63


def spark_type(kind: ColumnType, zero_dates: Literal["null", "string"]) -> DataType:
    """The Spark type that holds every value of a SQL type; with zero dates as strings, dates and times are text."""
    if kind.is_integer:
        return (_UNSIGNED if kind.unsigned else _SIGNED)[kind.name]
    if kind.name == "bit":
        return LongType() if kind.length <= _LONGEST_SIGNED_BIT else DecimalType(20, 0)
    if kind.name == "decimal":
        digits = kind.length if kind.length > 0 else 10
        return DecimalType(digits, kind.fraction) if digits <= WIDEST_DECIMAL else StringType()
    if kind.name in _TEMPORAL and zero_dates == "null":
        return _TEMPORAL[kind.name]
    return _OTHER.get(kind.name, BinaryType() if kind.is_binary else StringType())


def image_type(columns: Sequence[Column], zero_dates: Literal["null", "string"]) -> StructType:
    """The table's own columns."""
    return StructType([StructField(column.name, spark_type(column.type, zero_dates)) for column in columns])


def view_type(image: StructType) -> StructType:
    """All columns of a view: the table's own, then those that say what happened."""
    own = [
        StructField(OP, StringType(), nullable=False),
        StructField(COMMIT_TS, LongType()),
        StructField(START_TS, LongType()),
        StructField(BEFORE, image),
        StructField(SNAPSHOT, BooleanType()),
    ]
    return StructType([*image.fields, *own])


def wider(one: DataType, other: DataType) -> DataType | None:
    """The type of both that holds the values of both; None where neither does."""
    if one == other:
        return one
    names = (one.simpleString().replace("tinyint", "byte").replace("smallint", "short"), other.simpleString())
    names = (names[0], names[1].replace("tinyint", "byte").replace("smallint", "short"))
    if all(name in _WIDENS for name in names):
        return max((one, other), key=lambda kind: _WIDENS.index(names[0] if kind is one else names[1]))
    if isinstance(one, DecimalType) and isinstance(other, DecimalType):
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale
        return DecimalType(digits, scale) if digits <= WIDEST_DECIMAL else None
    if {type(one), type(other)} == {FloatType, DoubleType}:
        return DoubleType()
    return None
