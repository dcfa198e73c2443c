"""Column types with a strategy for the values of each, and tables made of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType

_EPOCH, _END = datetime(1970, 1, 2), datetime(2038, 1, 18)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def text(name: str, length: int, collation: str = "utf8mb4_bin") -> ColumnType:
    return ColumnType(name, length, charset="utf8mb4", collation=collation)


def integers(name: str, bits: int, unsigned: bool) -> tuple[ColumnType, st.SearchStrategy[int]]:
    low, high = (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
    return ColumnType(name, unsigned=unsigned), st.integers(low, high)


@st.composite
def decimal_text(draw: st.DrawFn, precision: int, scale: int) -> str:
    digits = str(draw(st.integers(0, 10 ** draw(st.integers(0, precision)) - 1))).rjust(scale + 1, "0")
    whole, part = digits[: len(digits) - scale], digits[len(digits) - scale :]
    minus = "-" if draw(st.booleans()) and digits.strip("0") else ""
    return minus + whole + (f".{part}" if scale else "")


@st.composite
def moment_text(draw: st.DrawFn, clock: bool, fraction: int) -> str:
    date = f"{draw(st.integers(0, 9999)):04}-{draw(st.integers(0, 12)):02}-{draw(st.integers(0, 31)):02}"
    if not clock:
        return date
    text = f"{date} {draw(st.integers(0, 23)):02}:{draw(st.integers(0, 59)):02}:{draw(st.integers(0, 59)):02}"
    return f"{text}.{draw(st.integers(0, 10**fraction - 1)):0{fraction}}" if fraction else text


@st.composite
def timestamp_text(draw: st.DrawFn, fraction: int) -> str:
    moment = draw(st.datetimes(_EPOCH, _END))
    text = f"{moment:%Y-%m-%d %H:%M:%S}"
    text = f"{text}.{draw(st.integers(0, 10**fraction - 1)):0{fraction}}" if fraction else text
    return draw(st.sampled_from([text, text, "0000-00-00 00:00:00" + ("." + "0" * fraction if fraction else "")]))


@st.composite
def duration_text(draw: st.DrawFn, fraction: int) -> str:
    minus, hour = draw(st.sampled_from(["", "-"])), draw(st.integers(0, 837))
    text = f"{hour:02}:{draw(st.integers(0, 59)):02}:{draw(st.integers(0, 59)):02}"
    text += f".{draw(st.integers(0, 10**fraction - 1)):0{fraction}}" if fraction else ""
    return (minus if text.strip("0:.") else "") + text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | TEXT | st.floats(-1e15, 1e15),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
INTEGER_KINDS = [
    integers(name, bits, unsigned)
    for name, bits in (("tinyint", 8), ("smallint", 16), ("int", 32), ("bigint", 64))
    for unsigned in (False, True)
] + [integers("mediumint", 24, False)]
DECIMAL_SHAPES = [(1, 0), (10, 0), (12, 2), (9, 9), (18, 9), (30, 30), (35, 5), (65, 30), (65, 0), (5, 3)]
KINDS: list[tuple[ColumnType, st.SearchStrategy[Any]]] = [
    *INTEGER_KINDS,
    (ColumnType("float"), st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0)),
    (ColumnType("double"), st.floats(allow_nan=False, allow_infinity=False).map(lambda v: v + 0.0)),
    *((ColumnType("decimal", p, s), decimal_text(p, s)) for p, s in DECIMAL_SHAPES),
    (ColumnType("date"), moment_text(False, 0)),
    *((ColumnType("datetime", scale=f), moment_text(True, f)) for f in (0, 1, 3, 6)),
    *((ColumnType("time", scale=f), duration_text(f)) for f in (0, 2, 6)),
    (ColumnType("year"), st.just(0) | st.integers(1901, 2155)),
    (ColumnType("bit", 17), st.integers(0, (1 << 17) - 1)),
    (ColumnType("bit", 64), st.integers(0, (1 << 64) - 1)),
    (ColumnType("enum", elems=("a", "b", "c")), st.integers(0, 3)),
    (ColumnType("set", elems=tuple(f"m{i}" for i in range(64))), st.integers(0, (1 << 64) - 1)),
    (text("char", 20), TEXT.map(lambda value: value.rstrip(" "))),
    (text("varchar", 20), TEXT),
    (text("longtext", -1), TEXT),
    (ColumnType("varbinary", 30), st.binary(max_size=30)),
    (ColumnType("blob"), st.binary(max_size=300)),
]


def table_of(
    kinds: list[ColumnType], *, ids: list[int] | None = None, defaults: bool = False, name: str = "things"
) -> TableSchema:
    """A table of an integer handle and a column of each type; with `defaults` NULLs are stored."""
    columns = [Column(1, "id", ColumnType("bigint"), nullable=False, pk=True)]
    for at, kind in enumerate(kinds):
        number = ids[at] if ids else at + 2
        columns.append(Column(number, f"c{at}", kind, default=_default(kind) if defaults else None))
    return TableSchema("shop", name, 77, 1, tuple(columns), pk_is_handle=True)


def common_table(kinds: list[ColumnType], prefixes: tuple[int, ...] = ()) -> TableSchema:
    """A table whose clustered primary key is a column of each type, with a `note` behind them."""
    keys = tuple(Column(at + 1, f"k{at}", kind, nullable=False, pk=True) for at, kind in enumerate(kinds))
    note = Column(len(keys) + 1, "note", ColumnType("int"))
    primary = Index(1, "PRIMARY", tuple(key.name for key in keys), unique=True, primary=True, prefixes=prefixes)
    return TableSchema("shop", "common", 78, 1, (*keys, note), (primary,), common_handle=True)


def _default(kind: ColumnType) -> str | bytes:
    return b"" if kind.is_binary else "0"
