"""What canal-json says of a column's type: the code of `sqlType` and the text of `mysqlType`.

An unsigned integer beyond the signed range of its type has the code of the next wider type: that depends on the
value, not on the column.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.change.parse import type_text
from tailrace.change.schema import Column
from tailrace.change.types import BLOB_NAMES, TEXT_NAMES, ColumnType

_CODES = {
    "tinyint": -6,
    "smallint": 5,
    "mediumint": 4,
    "int": 4,
    "bigint": -5,
    "float": 7,
    "double": 8,
    "decimal": 3,
    "char": 1,
    "varchar": 12,
    "var_string": 12,
    "date": 91,
    "time": 92,
    "datetime": 93,
    "timestamp": 93,
    "enum": 4,
    "set": -7,
    "bit": -7,
}
_BEYOND = {"tinyint": 5, "smallint": 4, "int": -5, "bigint": 3}
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}


@dataclass(frozen=True, slots=True)
class SqlType:
    """`code`, or `beyond` for a value above `limit`; a type that has only one code has no limit."""

    code: int
    beyond: int
    limit: int | None


def sql_type(column: Column) -> SqlType:
    kind = column.type
    code = _CODES.get(kind.name, 12)
    if kind.name in BLOB_NAMES:
        code = 2004
    elif kind.name in TEXT_NAMES and kind.name.endswith("text"):
        code = 2005
    if kind.unsigned and kind.name in _BEYOND:
        return SqlType(code, _BEYOND[kind.name], (1 << _BITS[kind.name]) - 1)
    return SqlType(code, code, None)


def mysql_type(kind: ColumnType, full: bool) -> str:
    """The name alone, or as `SHOW COLUMNS` prints it; unsigned and zerofill are said in both."""
    if full:
        return type_text(kind)
    signless = kind.name in ("bit", "year")
    return kind.name + (" unsigned" if kind.unsigned and not signless else "") + (" zerofill" if kind.zerofill else "")
