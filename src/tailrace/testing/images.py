"""Random rows of any table: images made column by column, for benches, the demo and the tests.

The same table, number of rows and seed always give the same image, made by NumPy and Arrow kernels and never row by
row. One string in fifty holds quotes, delimiters, line ends, backslashes or text beyond ASCII, because whoever
carries rows must carry those. Values are ordinary: the extremes of each type belong to the tests of its codec.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.schema import TableSchema
from tailrace.change.types import ColumnType

SPECIAL_SHARE = 0.02
NULL_EVERY = 13
_SPECIAL = ('say "so", he said', "comma, and\r\nline", "back\\slash\ttab", "Käse für 東京 🚀", '""', "a|b;c'd`e")
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -", np.uint8)


def random_image(
    table: TableSchema,
    rows: int,
    random: np.random.Generator,
    *,
    nulls: bool = True,
    first: int = 1,
    present: npt.NDArray[np.bool_] | None = None,
) -> pa.StructArray:
    """An image of `rows` rows: columns of the primary key count from `first` on; with `nulls` one nullable value in
    thirteen is NULL; rows that are not `present` are null."""
    arrays = []
    for at, column in enumerate(table.row_columns):
        array = pa.array(np.arange(first, first + rows)) if column.pk else _values(column.type, rows, random)
        if column.nullable and nulls:
            absent = pa.array(np.arange(rows) % NULL_EVERY == at % NULL_EVERY)
            array = pc.if_else(absent, pa.scalar(None, array.type), array)
        arrays.append(array.cast(column.type.arrow))
    mask = None if present is None or present.all() else pa.array(~present)
    return pa.StructArray.from_arrays(arrays, fields=list(table.arrow_struct), mask=mask)


def _values(kind: ColumnType, rows: int, random: np.random.Generator) -> pa.Array:
    if kind.is_integer:
        low, high = _integer_span(kind)
        return pa.array(random.integers(low, high, rows, endpoint=True))
    if kind.is_text:
        return _strings(rows, random, min(kind.length, 120))
    make: dict[str, Callable[[], pa.Array]] = {
        "year": lambda: pa.array(random.integers(1901, 2155, rows)),
        "bit": lambda: pa.array(random.integers(0, 1 << max(kind.length, 1), rows)),
        "float": lambda: pa.array((random.standard_normal(rows) * 1000).astype(np.float32)),
        "double": lambda: pa.array(np.round(random.standard_normal(rows) * 1e5, 3)),
        "decimal": lambda: _decimals(rows, random, kind.scale),
        "date": lambda: _moments(rows, random, "%Y-%m-%d", 0),
        "datetime": lambda: _moments(rows, random, "%Y-%m-%d %H:%M:%S", kind.fraction),
        "timestamp": lambda: _moments(rows, random, "%Y-%m-%d %H:%M:%S", kind.fraction),
        "time": lambda: _moments(rows, random, "%H:%M:%S", kind.fraction),
        "enum": lambda: pa.array(random.integers(1, len(kind.elems), rows, endpoint=True)),
        "set": lambda: pa.array(random.integers(0, 1 << len(kind.elems), rows)),
        "vector": lambda: _joined("[", pa.array(random.integers(-9, 9, rows)), ",2.5,-3]"),
        "json": lambda: _joined('{"n": ', pa.array(random.integers(0, 99999, rows)), ', "name": "a, b"}'),
    }
    return make[kind.name]() if kind.name in make else _bytes(rows, random, min(kind.length, 40))


def _integer_span(kind: ColumnType) -> tuple[int, int]:
    """Small values, so that the width of a row stays near that of real tables; the ends belong to the tests."""
    bits = {"tinyint": 7, "smallint": 12, "int": 10, "bigint": 36}.get(kind.name, 20)
    return (0 if kind.unsigned else -(1 << bits), (1 << bits) - 1)


def _packed(rows: int, random: np.random.Generator, longest: int, alphabet: npt.NDArray[np.uint8]) -> list[pa.Buffer]:
    lengths = random.integers(longest * 3 // 4, longest, rows, endpoint=True)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = alphabet[random.integers(0, len(alphabet), int(offsets[-1]))]
    return [pa.py_buffer(offsets), pa.py_buffer(data)]


def _strings(rows: int, random: np.random.Generator, longest: int) -> pa.StringArray:
    plain = pa.StringArray.from_buffers(rows, *_packed(rows, random, longest, _LETTERS))
    fitting = [text for text in _SPECIAL if len(text) <= longest]
    special = pa.array(fitting).take(pa.array(random.integers(0, len(fitting), rows)))
    return pc.if_else(pa.array(random.random(rows) < SPECIAL_SHARE), special, plain)


def _bytes(rows: int, random: np.random.Generator, longest: int) -> pa.BinaryArray:
    offsets, data = _packed(rows, random, longest, np.arange(256, dtype=np.uint8))
    return pa.Array.from_buffers(pa.binary(), rows, [None, offsets, data])


def _decimals(rows: int, random: np.random.Generator, scale: int) -> pa.StringArray:
    known = min(scale, 18)
    whole, part = random.integers(-99999, 99999, rows), random.integers(0, 10**known, rows)
    digits = pc.utf8_rpad(pc.utf8_lpad(pa.array(part).cast(pa.string()), known, "0"), scale, "0")
    return pc.binary_join_element_wise(pa.array(whole).cast(pa.string()), digits, ".")


def _moments(rows: int, random: np.random.Generator, form: str, fraction: int) -> pa.StringArray:
    seconds = pa.array(random.integers(0, 2_000_000_000, rows)).cast(pa.timestamp("s"))
    text = pc.strftime(seconds, format=form)
    if not fraction:
        return text
    digits = pc.utf8_lpad(pa.array(random.integers(0, 10**fraction, rows)).cast(pa.string()), fraction, "0")
    return pc.binary_join_element_wise(text, digits, ".")


def _joined(before: str, middle: pa.Array, after: str) -> pa.StringArray:
    return pc.binary_join_element_wise(before, middle.cast(pa.string()), after, "")
