"""Typed values: a column of a change batch as the Arrow type that Spark wants.

Casts of whole columns. A date that is no day of the calendar (a zero date, a 31st of February) has no value in Spark
and becomes NULL; no other value is ever changed or dropped, and one that does not fit is an error.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.codec.members import enum_text, set_text
from tailrace.errors import SchemaMismatch

_DAY = "%Y-%m-%d"
_DAY_LENGTH = 10


def typed(values: pa.Array, column: Column, wanted: pa.DataType, zone: str) -> pa.Array:
    """The values as `wanted`; `zone` is that of the texts of TIMESTAMP columns."""
    kind = column.type
    if kind.name == "enum" and pa.types.is_integer(values.type):
        values = enum_text(values, kind, column.name)
    elif kind.name == "set" and pa.types.is_integer(values.type):
        values = set_text(values, kind, column.name)
    if values.type == wanted:
        return values
    try:
        if pa.types.is_timestamp(wanted):
            return _timestamps(values, wanted, zone)
        return _days(values) if pa.types.is_date32(wanted) else values.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as wrong:
        raise SchemaMismatch(f"column {column.name} does not fit {wanted}: {wrong}") from wrong


def _timestamps(values: pa.StringArray, wanted: pa.TimestampType, zone: str) -> pa.Array:
    plain = pa.timestamp("us")
    try:
        moments = values.cast(plain)
    except pa.ArrowInvalid:
        moments = _real_days(values).cast(plain)
    if wanted.tz is None:
        return moments
    # the clock shows an hour twice when it goes back: which of the two it was, the text does not say
    return pc.assume_timezone(moments, zone, ambiguous="earliest", nonexistent="latest").cast(wanted)


def _days(values: pa.StringArray) -> pa.Date32Array:
    try:
        return values.cast(pa.date32())
    except pa.ArrowInvalid:
        return _real_days(values).cast(pa.date32())


def _real_days(values: pa.StringArray) -> pa.StringArray:
    """The texts that begin with a day of the calendar; NULL for the others."""
    texts = pc.utf8_slice_codeunits(values, 0, _DAY_LENGTH).dictionary_encode()
    days = texts.dictionary
    parsed = pc.strptime(days, format=_DAY, unit="s", error_is_null=True)
    real = pc.fill_null(pc.equal(pc.strftime(parsed, format=_DAY), days), False)
    return pc.if_else(real.take(texts.indices), values, pa.scalar(None, pa.string()))
