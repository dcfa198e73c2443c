"""Values in SQLite: how each column type is declared, and what Arrow's values become, a column at a time.

Nothing is lost: decimals, moments and JSON are text; an unsigned number beyond SQLite's 64 signed bits is text in a
column without affinity; members of ENUM and SET are their names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.change.types import TEMPORAL_NAMES, ColumnType
from tailrace.codec.members import set_text

_LARGEST = (1 << 63) - 1


def declared(kind: ColumnType) -> str:
    """The type in a CREATE TABLE; empty: no affinity, a value stays what it is."""
    if kind.is_binary:
        return "BLOB"
    if kind.name in ("float", "double"):
        return "REAL"
    if kind.name == "bit" or (kind.name == "bigint" and kind.unsigned) or (kind.name == "set" and not kind.elems):
        return ""
    number = kind.is_integer or kind.name == "year" or (kind.name == "enum" and not kind.elems)
    return "INTEGER" if number else "TEXT"


def form(kind: ColumnType) -> tuple[object, ...]:
    """What of a type shows in its stored values: where this stays, a change of type changes no value."""
    if kind.is_binary:
        return ("bytes", kind.length if kind.name == "binary" else -1)
    if kind.name == "decimal" or kind.name in TEMPORAL_NAMES:
        return (kind.name, kind.fraction)
    if kind.name in ("float", "double", "json"):
        return (kind.name,)
    return (declared(kind),)


def stored(values: pa.ChunkedArray, column: Column) -> list[Any]:
    """The values of a column as the driver takes them."""
    kind = column.type
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if kind.name in ("enum", "set") and not kind.elems:
        # Nobody said which members there are, so the number is all that is known.
        return list(whole.to_pylist())
    if kind.name == "enum":
        members = pa.array(["", *kind.elems], pa.string())
        return list(members.take(whole.cast(pa.int64())).to_pylist())
    if kind.name == "set":
        return list(set_text(whole, kind, column.name).to_pylist())
    if pa.types.is_uint64(whole.type):
        return (
            [each if each is None or each <= _LARGEST else str(each) for each in whole.to_pylist()]
            if _beyond(whole)
            else list(whole.to_pylist())
        )
    if pa.types.is_float32(whole.type):
        # The double of the shortest text, so that 3.14 is not read as 3.140000104904175.
        return list(whole.cast(pa.string()).cast(pa.float64()).to_pylist())
    return list(whole.to_pylist())


def rows(table: pa.Table, columns: list[Column]) -> list[tuple[Any, ...]]:
    """The rows, with the columns in this order."""
    found = [stored(table.column(column.name), column) for column in columns]
    return list(zip(*found, strict=True)) if found else []


def _beyond(whole: pa.Array) -> bool:
    largest = pc.max(whole).as_py()
    return largest is not None and int(np.uint64(largest)) > _LARGEST
