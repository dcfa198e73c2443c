"""Tables and batches that the benches share: narrow, wide and ints100.

The same table, number of rows and seed always give the same batch; what is in its rows is `testing.images`' matter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts, compose
from tailrace.change.types import ColumnType
from tailrace.testing.images import random_image

VERSION = compose(1_700_000_000_000)


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
    random, nulls = np.random.default_rng(seed), table.name == "wide"
    dice = random.random(rows)
    op = np.where(dice < updates, UPDATE, np.where(dice < updates + deletes, DELETE, INSERT)).astype(np.uint8)
    if commit_ts is None:
        commits = VERSION + ((np.arange(rows, dtype=np.int64) // transaction + 1) << 18)
    else:
        commits = np.full(rows, commit_ts, np.int64)
    images = [
        random_image(table, rows, random, nulls=nulls, present=op != DELETE),
        random_image(table, rows, random, nulls=nulls, present=op != INSERT)
        if updates or deletes
        else pa.nulls(rows, table.arrow_struct),
    ]
    columns = [pa.array(op), pa.array(commits), pa.array(commits - 1), *images]
    return ChangeBatch(table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(table)))
