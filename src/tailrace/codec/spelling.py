"""Whether text is what its type says: decimals, dates and times that arrive as text and stay text.

They are carried as strings, so nothing else would notice a damaged one. Only the form is checked: whether a calendar
has the day is the business of the database that took it.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.types import ColumnType
from tailrace.codec.columns import first_of

_DAY = r"\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])"
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d"
_SPAN = r"-?(\d\d|[1-7]\d\d|8[0-2]\d|83[0-8]):[0-5]\d:[0-5]\d"


def misspelled(text: pa.StringArray, kind: ColumnType) -> int:
    """The index of the first value that is no text of this type; -1: all are, or the type has no form."""
    form = _form(kind)
    if not form:
        return -1
    good = pc.match_substring_regex(text, f"^{form}$")
    return first_of(pc.invert(good)) if pc.all(good).as_py() is False else -1


def _form(kind: ColumnType) -> str:
    point = rf"\.\d{{{kind.fraction}}}" if kind.fraction else ""
    if kind.scale < 0 and kind.length < 0:  # a message that does not say how many digits there are
        point = r"(\.\d{1,30})?"
    if kind.name == "decimal":
        whole = max(kind.length - kind.fraction, 1) if kind.length >= 0 else 65
        return rf"-?\d{{1,{whole}}}{point}"
    if kind.name == "date":
        return _DAY
    if kind.name in ("datetime", "timestamp"):
        return f"{_DAY} {_CLOCK}{point}"
    if kind.name == "time":
        return _SPAN + point
    return r"\[[-+.,\deE]*\]" if kind.name == "vector" else ""
