"""Operands of an expression: columns and literals, and what comparing two of them means in TiDB.

Numbers are compared exactly, whatever their widths; where a FLOAT or DOUBLE is one side, as doubles. Text of a binary
collation is compared by its bytes, without spaces at the end where the collation pads. Dates are compared with dates
and with texts that are one. A pair that TiDB would compare in a way that is not built here raises ValueError with what
would be right. All over columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType

Kind = Literal["number", "text", "bytes", "moment", "enum", "null", "other"]
Values = Callable[[pa.StructArray], pa.Array | pa.Scalar]
Condition = Callable[[pa.StructArray], pa.BooleanArray]

_MOMENTS = frozenset({"date", "datetime", "timestamp"})
_UNPADDED = frozenset({"binary", "utf8mb4_0900_bin"})
_NUMBER = re.compile(r"-?\d*\.?\d+|-?\d+\.")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?)?")
_MOST_DIGITS = 76
_INT64 = (-(1 << 63), (1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Operand:
    """A column, or a literal with its text. `name` is for errors."""

    kind: Kind
    name: str
    column: Column | None = None
    text: str = ""

    @property
    def fractional(self) -> bool:
        """A number that is not of an integer type."""
        if self.column is not None:
            return not pa.types.is_integer(self.column.type.arrow)
        return "." in self.text

    @property
    def real(self) -> bool:
        return self.column is not None and self.column.type.name in ("float", "double")

    def values(self, image: pa.StructArray) -> pa.Array:
        assert self.column is not None
        return pc.struct_field(image, self.column.name)


def literal(text: str, is_text: bool) -> Operand:
    """Raises ValueError for a number that is not written plainly."""
    if not is_text and not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return Operand("text" if is_text else "number", repr(text) if is_text else text, None, text)


def of_column(column: Column) -> Operand:
    return Operand(_kind(column.type), f"column {column.name} ({column.type.name})", column)


def _kind(kind: ColumnType) -> Kind:
    if kind.name == "enum":
        return "enum"
    if kind.is_integer or kind.name in ("bit", "year", "decimal", "float", "double", "set"):
        return "number"
    if kind.name in _MOMENTS:
        return "moment"
    if kind.is_binary:
        return "bytes"
    plain = kind.is_text and (kind.collation.endswith("_bin") or kind.collation == "binary")
    return "text" if plain else "other"


def truth(operand: Operand) -> Condition:
    """Whether a number is not zero."""
    if operand.kind == "null":
        return lambda image: pa.nulls(len(image), pa.bool_())
    if operand.kind != "number":
        raise ValueError("it has to be a number, or compared")
    if operand.column is None:
        known = Decimal(operand.text) != 0
        return lambda image: pa.array([known] * len(image), pa.bool_())
    return compared("not_equal", operand, literal("0", is_text=False))


def compared(kernel: str, left: Operand, right: Operand) -> Condition:
    """The comparison, by the name of its Arrow kernel; NULL where either side is. ValueError: not comparable here."""
    if left.kind == "null" or right.kind == "null":
        return lambda image: pa.nulls(len(image), pa.bool_())
    if left.column is None and right.column is None:
        raise ValueError("one of them has to be a column")
    first, second = _pair(left, right)
    compare = getattr(pc, kernel)
    return lambda image: compare(first(image), second(image))


def _pair(left: Operand, right: Operand) -> tuple[Values, Values]:
    kinds = {left.kind, right.kind}
    if "other" in kinds:
        raise ValueError("only IS NULL is supported for this type, or for text of this collation")
    if kinds == {"number"}:
        return _numbers(left, right)
    if "moment" in kinds and kinds <= {"moment", "text"}:
        return _moment(left), _moment(right)
    if kinds <= {"text", "enum"}:
        padded = any(_pads(each) for each in (left, right))
        return _text(left, padded), _text(right, padded)
    if "bytes" in kinds and kinds <= {"bytes", "text"}:
        return _bytes(left), _bytes(right)
    if kinds == {"enum", "number"}:
        numbers = [Operand("number", each.name, each.column, each.text) for each in (left, right)]
        return _numbers(*numbers)
    raise ValueError("they are of different kinds; write texts and dates in quotes, and numbers without")


def _numbers(left: Operand, right: Operand) -> tuple[Values, Values]:
    for year, other in ((left, right), (right, left)):
        if year.column is not None and year.column.type.name == "year" and len(other.text.lstrip("-")) < 4:
            raise ValueError("a year is compared with four digits")
    if left.real or right.real:
        return _as(left, pa.float64()), _as(right, pa.float64())
    if _plain_integer(left) and _plain_integer(right):
        return _as(left, pa.int64()), _as(right, pa.int64())
    scale = max(_digits(left)[1], _digits(right)[1])
    if max(_digits(left)[0], _digits(right)[0]) + scale > _MOST_DIGITS:
        raise ValueError("together they have more digits than can be compared")
    kind = pa.decimal256(_MOST_DIGITS, scale)
    return _as(left, kind), _as(right, kind)


def _plain_integer(operand: Operand) -> bool:
    if operand.column is not None:
        return not operand.fractional and not pa.types.is_uint64(operand.column.type.arrow)
    return not operand.fractional and _INT64[0] <= int(operand.text) <= _INT64[1]


def _digits(operand: Operand) -> tuple[int, int]:
    """Digits before and behind the point."""
    if operand.column is None:
        whole, _, part = operand.text.lstrip("-").partition(".")
        return len(whole), len(part)
    kind = operand.column.type
    return (kind.length - kind.fraction, kind.fraction) if kind.name == "decimal" else (20, 0)


def _as(operand: Operand, wanted: pa.DataType) -> Values:
    if operand.column is None:
        number = int(operand.text) if pa.types.is_integer(wanted) else Decimal(operand.text)
        scalar = pa.scalar(float(number) if pa.types.is_floating(wanted) else number, wanted)
        return lambda image: scalar
    if pa.types.is_decimal(wanted) and not operand.fractional:
        # Arrow has no cast from an integer to a scale above zero that it cannot prove to fit.
        return lambda image: operand.values(image).cast(pa.string()).cast(wanted)
    return lambda image: operand.values(image).cast(wanted)


def _pads(operand: Operand) -> bool:
    return operand.column is not None and operand.column.type.collation not in _UNPADDED


def _text(operand: Operand, padded: bool) -> Values:
    if operand.column is None:
        scalar = pa.scalar(operand.text.rstrip(" ") if padded else operand.text)
        return lambda image: scalar
    if operand.kind == "enum":
        collation = operand.column.type.collation
        if not (collation.endswith("_bin") or collation == "binary"):
            raise ValueError("names of members are compared in a binary collation only; compare their numbers")
        names = pa.array([name.rstrip(" ") if padded else name for name in ("", *operand.column.type.elems)])
        return lambda image: names.take(operand.values(image))
    return lambda image: pc.ascii_rtrim(operand.values(image), " ") if padded else operand.values(image)


def _bytes(operand: Operand) -> Values:
    if operand.column is None:
        scalar = pa.scalar(operand.text.encode(), pa.binary())
        return lambda image: scalar
    return lambda image: operand.values(image).cast(pa.binary())


def _moment(operand: Operand) -> Values:
    """Times as texts of one length, whose order is that of the times."""
    if operand.column is None:
        found = _MOMENT.fullmatch(operand.text)
        if found is None:
            raise ValueError("a date is written as '2024-05-31' or '2024-05-31 12:00:00'")
        scalar = pa.scalar(f"{found[1]} {found[2] or '00:00:00'}.{(found[3] or ''):0<6}")
        return lambda image: scalar
    if operand.kind != "moment":
        raise ValueError("a date is compared with a date, or with one in quotes")
    kind = operand.column.type
    behind = " 00:00:00.000000" if kind.name == "date" else "" if kind.fraction == 6 else "0" * (6 - kind.fraction)
    if kind.name != "date" and not kind.fraction:
        behind = ".000000"
    return lambda image: pc.binary_join_element_wise(operand.values(image), behind, "")
