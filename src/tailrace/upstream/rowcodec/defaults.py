"""Defaults: what a row holds in a column that is younger than the row.

`origin_default` is TiDB's stored text (TIMESTAMP in UTC, the member of an ENUM, the members of a SET); a default that
its column cannot hold is a SchemaMismatch.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.change.schema import Column, Default, TableSchema
from tailrace.change.types import ColumnType
from tailrace.errors import SchemaMismatch
from tailrace.upstream.rowcodec import columns, times
from tailrace.upstream.rowcodec.cells import BadCell
from tailrace.upstream.rowcodec.zones import Zone, zone_of


def default_value(table: TableSchema, column: Column, zone: Zone, count: int) -> pa.Array:
    """The default of rows that do not hold the column, `count` times."""
    kind = column.type
    if column.origin_default is None:
        return pa.nulls(count, kind.arrow)
    try:
        one = pa.array([_value(kind, column.origin_default, zone)], kind.arrow)
        columns.pack(kind, one, zone)
    except (BadCell, ValueError, TypeError, OverflowError, pa.ArrowInvalid) as error:
        reason = f"the origin default {column.origin_default!r} of {column.name} is no {kind.name} ({error})"
        raise SchemaMismatch(reason, table=table.full_name) from error
    return one.take(pa.array(np.zeros(count, np.int64)))


def _value(kind: ColumnType, stored: Default, zone: Zone) -> object:
    text = stored.decode() if isinstance(stored, bytes) and not kind.is_binary and kind.name != "bit" else stored
    if kind.name == "bit" and not isinstance(text, int):
        return int.from_bytes(text if isinstance(text, bytes) else str(text).encode("latin-1"), "big")
    if kind.is_binary:
        return text if isinstance(text, bytes) else str(text).encode()
    if kind.name == "enum":
        return _member(kind.elems, str(text))
    if kind.name == "set":
        return sum(1 << _member(kind.elems, name) - 1 for name in str(text).split(",") if name)
    if kind.is_integer or kind.name == "year":
        return int(str(text))
    if kind.name in ("float", "double"):
        return float(str(text))
    if kind.name == "decimal":
        return _decimal(str(text), kind.fraction)
    if kind.name in ("date", "datetime", "timestamp", "time"):
        return _moment(kind, str(text), zone)
    return str(text)


def _member(elems: tuple[str, ...], name: str) -> int:
    folded = [elem.casefold() for elem in elems]
    return folded.index(name.casefold()) + 1


def _decimal(text: str, scale: int) -> str:
    whole, _, part = text.partition(".")
    part = part.ljust(scale, "0")
    if len(part) > scale:
        raise ValueError(f"more than {scale} digits after the point")
    return f"{whole}.{part}" if scale else whole


def _moment(kind: ColumnType, text: str, zone: Zone) -> str:
    if kind.name == "date":
        return text[:10]
    plain, _, part = text.partition(".")
    exact = f"{plain}.{part.ljust(kind.fraction, '0')[: kind.fraction]}" if kind.fraction else plain
    if kind.name != "timestamp":
        return exact
    packed = columns.packed_times(kind, pa.array([exact]), zone_of("UTC"))
    return str(columns.from_packed_times(kind, times.from_utc(packed, zone), zone_of("UTC"))[0].as_py())
