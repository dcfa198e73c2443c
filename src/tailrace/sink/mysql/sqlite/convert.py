"""Values that a DDL changes: defaults of new columns, and old values under a new type. A value at a time, for ALTER.

The result is what a row of the new type would bring: decimals with all their digits, moments with theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from tailrace.change.schema import Column
from tailrace.change.tso import Ts, moment
from tailrace.change.types import TEMPORAL_NAMES, ColumnType

_ZEROS = {"date": "0000-00-00", "datetime": "0000-00-00 00:00:00", "timestamp": "0000-00-00 00:00:00"}
_NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
_LARGEST = (1 << 63) - 1


def default_of(column: Column, at: Ts, zone: ZoneInfo) -> Any:
    """What rows that are older than a column hold in it."""
    said = column.origin_default if column.origin_default is not None else column.default
    kind = column.type
    if said is None:
        return None if column.nullable else _zero(kind)
    if isinstance(said, str) and kind.name in TEMPORAL_NAMES and said.upper().startswith(_NOW):
        return _digits(moment(at, zone).strftime("%Y-%m-%d %H:%M:%S.%f"), kind)
    if kind.name == "timestamp" and isinstance(said, str) and not said.startswith("0000"):
        told = datetime.fromisoformat(said).replace(tzinfo=UTC).astimezone(zone)
        return _digits(told.strftime("%Y-%m-%d %H:%M:%S.%f"), kind)
    if kind.name == "bit":
        data = said if isinstance(said, bytes) else str(said).encode("utf-8", "surrogatepass")
        return _fitting(said if isinstance(said, int) else int.from_bytes(data, "big"))
    if kind.is_binary:
        data = said if isinstance(said, bytes) else str(said).encode("utf-8", "surrogatepass")
        return data.ljust(kind.length, b"\0") if kind.name == "binary" else data
    return converter(kind)(said.decode("utf-8", "replace") if isinstance(said, bytes) else said)


def converter(kind: ColumnType, old: ColumnType | None = None) -> Callable[[Any], Any]:
    """What a stored value becomes when its column takes a type; `old` is the type that it had."""
    if old is not None and (old.name, kind.name) == ("float", "double"):
        # What was kept as the shortest text of a float is the float's own value from now on.
        return lambda value: None if value is None else float(np.float32(value))
    if kind.is_integer or kind.name in ("year", "bit"):
        work = _integer
    elif kind.name in ("float", "double"):
        work = _real
    elif kind.name == "decimal":

        def work(value: Any) -> Any:
            return _decimal(value, kind.fraction)
    elif kind.name in TEMPORAL_NAMES:

        def work(value: Any) -> Any:
            return _digits(str(value), kind)
    elif kind.is_binary:

        def work(value: Any) -> Any:
            return value if isinstance(value, bytes) else str(value).encode()
    else:

        def work(value: Any) -> Any:
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    return lambda value: None if value is None else work(value)


def _integer(value: Any) -> Any:
    try:
        return _fitting(int(Decimal(str(value)).to_integral_value(ROUND_HALF_UP)))
    except InvalidOperation:
        return 0


def _real(value: Any) -> Any:
    try:
        return float(value)
    except ValueError:
        return 0.0


def _decimal(value: Any, digits: int) -> str:
    try:
        return f"{Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):f}"
    except InvalidOperation:
        return f"{Decimal(0):.{digits}f}"


def _digits(text: str, kind: ColumnType) -> str:
    """A moment with exactly the digits of its type, rounded where there were more."""
    if kind.name == "date":
        return text[:10]
    if kind.name in ("datetime", "timestamp") and len(text.partition(".")[2]) > kind.fraction:
        text = _rounded(text, kind.fraction)
    plain, _, fraction = text.partition(".")
    if kind.name in ("datetime", "timestamp") and len(plain) == 10:
        plain += " 00:00:00"
    if kind.name == "time" and " " in plain:
        plain = plain.partition(" ")[2]
    return plain + (f".{fraction.ljust(kind.fraction, '0')[: kind.fraction]}" if kind.fraction else "")


def _rounded(text: str, digits: int) -> str:
    try:
        told = datetime.fromisoformat(text)
    except ValueError:
        # A zero date is no date that could be carried over.
        return text
    step = 10 ** (6 - digits)
    return (told + timedelta(microseconds=step // 2)).strftime("%Y-%m-%d %H:%M:%S.%f")


def _zero(kind: ColumnType) -> Any:
    if kind.name == "enum" and kind.elems:
        return kind.elems[0]
    if kind.name == "time":
        return _digits("00:00:00", kind)
    if kind.name in _ZEROS:
        return _digits(_ZEROS[kind.name], kind)
    if kind.is_binary:
        return b"\0" * kind.length if kind.name == "binary" else b""
    if kind.is_text or kind.name in ("set", "enum"):
        return ""
    if kind.name == "json":
        return "null"
    return converter(kind)(0)


def _fitting(number: int) -> int | str:
    return number if number <= _LARGEST else str(number)
