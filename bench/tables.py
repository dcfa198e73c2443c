"""Tables and batches that the benches share: narrow, wide and ints100.

The same table, number of rows and seed always give the same batch. Batches are made by NumPy and Arrow kernels, never
row by row. One string in fifty holds quotes, delimiters, line ends, backslashes or text beyond ASCII, because a
codec's fast path must survive them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts, compose
from tailrace.change.types import ColumnType

SPECIAL_SHARE = 0.02
NULL_EVERY = 13
VERSION = compose(1_700_000_000_000)
_SPECIAL = ('say "so", he said', "comma, and\r\nline", "back\\slash\ttab", "Käse für 東京 🚀", '""', "a|b;c'd`e")
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ -", np.uint8)


def _table(name: str, types: list[tuple[str, ColumnType]]) -> TableSchema:
    columns = [Column(at + 1, label, kind, nullable=at > 0, pk=at == 0) for at, (label, kind) in enumerate(types)]
    return TableSchema("bench", name, 100 + len(types), VERSION, tuple(columns), pk_is_handle=True)


def narrow_table() -> TableSchema:
    """Four columns, about 200 bytes a row."""
    types = [("id", ColumnType("bigint", 20)), ("k", ColumnType("int", 11))]
    types += [("c", _text("char", 120)), ("pad", _text("char", 60))]
    return _table("narrow", types)


def wide_table() -> TableSchema:
    """Thirty columns, one or more of every kind."""
    types = [("id", ColumnType("bigint", 20))]
    types += [(f"i_{name}", ColumnType(name, 11)) for name in ("tinyint", "smallint", "mediumint", "int", "bigint")]
    types += [(f"u_{name}", ColumnType(name, 10, unsigned=True)) for name in ("tinyint", "int", "bigint")]
    types += [("y", ColumnType("year", 4)), ("b", ColumnType("bit", 17))]
    types += [("f", ColumnType("float", 12)), ("d", ColumnType("double", 22)), ("d2", ColumnType("double", 22))]
    types += [("price", ColumnType("decimal", 12, 2)), ("amount", ColumnType("decimal", 30, 10))]
    types += [("day", ColumnType("date", 10)), ("at", ColumnType("datetime", 19, 0))]
    types += [("at6", ColumnType("timestamp", 26, 6)), ("t3", ColumnType("time", 14, 3))]
    types += [("v20", _text("varchar", 20)), ("v60", _text("varchar", 60)), ("c10", _text("char", 10))]
    types += [("body", _text("text", 65535)), ("vb", ColumnType("varbinary", 24, charset="binary"))]
    types += [("blob", ColumnType("blob", 65535, charset="binary"))]
    types += [("e", ColumnType("enum", elems=("red", "green", "blue, dark", 'o"dd')))]
    types += [("s", ColumnType("set", elems=("a", "b", "c", "d")))]
    types += [("j", ColumnType("json")), ("flag", ColumnType("tinyint", 1))]
    return _table("wide", types)


def ints100_table() -> TableSchema:
    """A hundred small integers."""
    types = [("id", ColumnType("bigint", 20))]
    types += [(f"n{at}", ColumnType("int", 11)) for at in range(1, 100)]
    return _table("ints100", types)


def _text(name: str, length: int) -> ColumnType:
    return ColumnType(name, length, charset="utf8mb4", collation="utf8mb4_bin")


def batch(
    table: TableSchema,
    rows: int,
    seed: int = 1,
    commit_ts: Ts | None = None,
    *,
    updates: float = 0.0,
    deletes: float = 0.0,
    transaction: int = 100,
) -> ChangeBatch:
    """Changes in commit order, inserts but for the shares of updates and deletes.

    With `commit_ts` all rows are of that one commit; else each `transaction` rows are one, a millisecond apart.
    """
    random = np.random.default_rng(seed)
    dice = random.random(rows)
    op = np.where(dice < updates, UPDATE, np.where(dice < updates + deletes, DELETE, INSERT)).astype(np.uint8)
    if commit_ts is None:
        commits = VERSION + ((np.arange(rows, dtype=np.int64) // transaction + 1) << 18)
    else:
        commits = np.full(rows, commit_ts, np.int64)
    images = [
        _image(table, rows, random, op != DELETE),
        _image(table, rows, random, op != INSERT) if updates or deletes else pa.nulls(rows, table.arrow_struct),
    ]
    columns = [pa.array(op), pa.array(commits), pa.array(commits - 1), *images]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))


def _image(
    table: TableSchema, rows: int, random: np.random.Generator, present: npt.NDArray[np.bool_]
) -> pa.StructArray:
    arrays = []
    for at, column in enumerate(table.row_columns):
        values = (np.arange(rows) + 1).astype(np.int64) if column.pk else None
        array = pa.array(values) if values is not None else _values(column.type, rows, random)
        if column.nullable:
            absent = pa.array(np.arange(rows) % NULL_EVERY == at % NULL_EVERY) if table.name == "wide" else None
            array = array if absent is None else pc.if_else(absent, pa.scalar(None, array.type), array)
        arrays.append(array.cast(column.type.arrow))
    mask = None if present.all() else pa.array(~present)
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
    whole, part = random.integers(-99999, 99999, rows), random.integers(0, 10**scale, rows)
    digits = pc.utf8_lpad(pa.array(part).cast(pa.string()), scale, "0")
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
