"""CSV as one would write it row by row: the obvious code that kernels are held against, and random tables for it."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.codec.csv import CsvOptions

Image = Mapping[str, Any] | None


@dataclass(frozen=True)
class Row:
    op: int
    commit_ts: int
    before: Image
    after: Image


def go_float(value: float, single: bool) -> str:
    """Go's `%v`: Python's shortest digits, laid out by hand."""
    digits_of = Decimal(str(np.float32(value)) if single else repr(value))
    sign, digits, exponent = digits_of.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "-0" if math.copysign(1, value) < 0 else "0"
    power = len(text) - 1 + int(exponent)
    text = text.rstrip("0") or "0"
    minus = "-" if sign else ""
    if power < -4 or power >= 6:
        mantissa = text[0] + ("." + text[1:] if len(text) > 1 else "")
        return f"{minus}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if power < 0:
        return f"{minus}0.{'0' * (-power - 1)}{text}"
    whole, part = text[: power + 1].ljust(power + 1, "0"), text[power + 1 :]
    return minus + whole + ("." + part if part else "")


def cell(value: Any, kind: ColumnType, options: CsvOptions) -> bytes:
    if value is None:
        return options.null.encode()
    if kind.name in ("float", "double"):
        return go_float(value, kind.name == "float").encode()
    if kind.name == "enum":
        return text_cell(kind.elems[value - 1].encode(), options)
    if kind.name == "set":
        return text_cell(",".join(each for at, each in enumerate(kind.elems) if value >> at & 1).encode(), options)
    if isinstance(value, int):
        return str(value).encode()
    if isinstance(value, bytes):
        base64_text = base64.b64encode(value)
        return text_cell(base64_text if options.binary_encoding_method == "base64" else value.hex().encode(), options)
    return text_cell(value.encode(), options)


def text_cell(value: bytes, options: CsvOptions) -> bytes:
    quote, delimiter = options.quote.encode(), options.delimiter.encode()
    if quote:
        return quote + value.replace(quote, quote * 2) + quote
    out, at = b"", 0
    while at < len(value):
        if value[at : at + 1] in (b"\\", b"\n", b"\r"):
            out += {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}[value[at : at + 1]]
            at += 1
        elif value.startswith(delimiter, at):
            out += "".join("\\" + letter for letter in options.delimiter).encode()
            at += len(delimiter)
        else:
            out += value[at : at + 1]
            at += 1
    return out


def line(letter: str, is_update: bool, row: Row, image: Image, table: TableSchema, options: CsvOptions) -> bytes:
    assert image is not None
    cells = [text_cell(each.encode(), options) for each in (letter, table.name, table.schema)]
    cells += [str(row.commit_ts).encode()] if options.include_commit_ts else []
    cells += [b"true" if is_update else b"false"] if options.output_old_value else []
    cells += [text_cell(str(image["id"]).encode(), options)] if options.output_handle_key else []
    cells += [cell(image[column.name], column.type, options) for column in table.row_columns]
    return options.delimiter.encode().join(cells) + options.terminator.encode()


def written(table: TableSchema, rows: Sequence[Row], options: CsvOptions) -> bytes:
    out = b""
    for row in rows:
        if row.op == INSERT:
            out += line("I", False, row, row.after, table, options)
        elif row.op == DELETE:
            out += line("D", False, row, row.before, table, options)
        elif options.output_old_value:
            out += line("D", True, row, row.before, table, options) + line("I", True, row, row.after, table, options)
        else:
            out += line("U", False, row, row.after, table, options)
    return out


def as_batch(table: TableSchema, rows: Sequence[Row]) -> ChangeBatch:
    stamps = pa.array([row.commit_ts for row in rows], pa.int64())
    columns = [pa.array([row.op for row in rows], pa.uint8()), stamps, stamps]
    for which in ("after", "before"):
        images = [getattr(row, which) for row in rows]
        arrays = [
            pa.array([image and image[column.name] for image in images], column.type.arrow)
            for column in table.row_columns
        ]
        mask = pa.array([image is None for image in images], pa.bool_())
        columns.append(pa.StructArray.from_arrays(arrays, fields=list(table.arrow_struct), mask=mask))
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


TEXT = st.one_of(
    st.text(st.sampled_from(list("\"'`\\,;|@*\t\r\n nrN\0\x7f\x85\u2028é東🚀Ia")), max_size=12),
    st.text(max_size=8),
)
MEMBERS = ("red", "blue, dark", 'o"dd', "back\\slash", "", "大", "it's")
FLAGS = ("a", "b b", 'c"', "d\\", "大")


def _decimals(length: int, scale: int) -> st.SearchStrategy[str]:
    whole = st.integers(-(10 ** (length - scale)) + 1, 10 ** (length - scale) - 1)
    if not scale:
        return whole.map(str)
    return st.tuples(whole, st.integers(0, 10**scale - 1)).map(lambda pair: f"{pair[0]}.{pair[1]:0{scale}d}")


def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from([low, high, 0]), st.integers(low, high))


def _moments(fraction: int) -> st.SearchStrategy[str]:
    zero = "0000-00-00 00:00:00" + ("." + "0" * fraction if fraction else "")
    form = "%Y-%m-%d %H:%M:%S.%f"
    return st.one_of(
        st.just(zero),
        st.datetimes().map(lambda at: f"{at.year:04d}" + at.strftime(form)[-22:][: 15 + fraction + bool(fraction)]),
    )


FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
FLOAT64 = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.tuples(st.integers(-(10**17), 10**17), st.integers(-340, 300)).map(lambda pair: float(f"{pair[0]}e{pair[1]}")),
).filter(math.isfinite)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "tinyint": _integers(-(1 << 7), (1 << 7) - 1),
    "smallint unsigned": _integers(0, (1 << 16) - 1),
    "mediumint": _integers(-(1 << 23), (1 << 23) - 1),
    "int": _integers(-(1 << 31), (1 << 31) - 1),
    "bigint": _integers(-(1 << 63), (1 << 63) - 1),
    "bigint unsigned": _integers(0, (1 << 64) - 1),
    "year": _integers(1901, 2155),
    "bit(3)": _integers(0, 7),
    "bit(64)": _integers(0, (1 << 64) - 1),
    "float": FLOAT32,
    "double": FLOAT64,
    "decimal(65,30)": _decimals(65, 30),
    "decimal(65,0)": _decimals(65, 0),
    "decimal(10,2)": _decimals(10, 2),
    "date": st.one_of(st.just("0000-00-00"), st.dates().map(str)),
    "datetime": _moments(0),
    "timestamp(6)": _moments(6),
    "time(3)": st.sampled_from(["-838:59:59.000", "838:59:59.999", "00:00:00.000", "-01:02:03.004"]),
    "varchar(40)": TEXT,
    "longtext": TEXT,
    "varbinary(40)": st.binary(max_size=9),
    "longblob": st.binary(max_size=9),
    "enum(" + ",".join("'" + each.replace("'", "''") + "'" for each in MEMBERS) + ")": st.integers(1, len(MEMBERS)),
    "set(" + ",".join("'" + each.replace("'", "''") + "'" for each in FLAGS) + ")": st.integers(
        0, (1 << len(FLAGS)) - 1
    ),
    "json": TEXT.map(lambda text: '{"a": ' + repr(text) + "}"),
    "vector": st.sampled_from(["[1,2.5,-3e-05]", "[]"]),
}


@st.composite
def tables(draw: st.DrawFn) -> TableSchema:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=0, max_size=7))
    names = draw(
        st.lists(
            TEXT.filter(lambda name: name not in ("", "id")), min_size=len(kinds), max_size=len(kinds), unique=True
        )
    )
    columns = [Column(1, "id", parse_type("bigint"), nullable=False, pk=True)]
    columns += [Column(at + 2, names[at], parse_type(kind)) for at, kind in enumerate(kinds)]
    name = draw(st.sampled_from(["t", 'a"b', "x,y", "tab\tle", "表", "back\\slash"]))
    return TableSchema("sch'ema", name, 7, 1, tuple(columns), pk_is_handle=True)


@st.composite
def changes(draw: st.DrawFn, table: TableSchema) -> list[Row]:
    by_type = {parse_type(text): values for text, values in KINDS.items()}
    image = st.fixed_dictionaries(
        {
            column.name: by_type[column.type] if not column.nullable else st.none() | by_type[column.type]
            for column in table.row_columns
        }
    )
    rows, stamp = [], 440_000_000_000_000_000
    for op in draw(st.lists(st.sampled_from([INSERT, UPDATE, DELETE]), max_size=6)):
        stamp += draw(st.sampled_from([0, 1, 1 << 18]))
        before = None if op == INSERT else draw(image)
        rows.append(Row(op, stamp, before, None if op == DELETE else draw(image)))
    return rows


OPTIONS = st.builds(
    CsvOptions,
    delimiter=st.sampled_from([",", ";", "\t", "|", "||", "|@|", "***", "é"]),
    quote=st.sampled_from(['"', '"', "'", "`", ""]),
    null=st.sampled_from(["\\N", "NULL", "", "#"]),
    terminator=st.sampled_from(["\r\n", "\n", "|\r\n", "$"]),
    include_commit_ts=st.booleans(),
    binary_encoding_method=st.sampled_from(["base64", "hex"]),
    output_old_value=st.booleans(),
    output_handle_key=st.booleans(),
    output_field_header=st.booleans(),
)
