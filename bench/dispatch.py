"""Bench of dispatching: an event filter and a partition rule over the changes of one table, on one core.

Rows a second of filtering by `id < 0` (nothing is left out) and of the partitions by `index-value` over one BIGINT and
by `columns` over a text of 32 characters. The limit is what the same hash costs with the library's CRC-32 called for
one value after another, whose texts are ready made: the least that any loop over rows has to pay.
"""

from __future__ import annotations

import time
import zlib
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.report import Report, arguments, best_seconds
from tailrace.change.batch import ChangeBatch, inserts
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType
from tailrace.config.values import DispatchRule, EventFilter
from tailrace.route.events import EventFilters, TableEvents
from tailrace.route.partition import Partitioner, compile_rule, parse_rule

ROWS = 262_144
PARTITIONS = 16
TEXT = ColumnType("varchar", 32, charset="utf8mb4", collation="utf8mb4_bin")
TABLE = TableSchema(
    "bench",
    "orders",
    1,
    1,
    (Column(1, "id", ColumnType("bigint", 20), nullable=False, pk=True), Column(2, "code", TEXT)),
    (Index(1, "uk", ("id",), unique=True),),
    pk_is_handle=True,
)
RULES = {
    "bigint": DispatchRule(("*.*",), "index-value", "uk", (), ""),
    "text32": DispatchRule(("*.*",), "columns", "", ("code",), ""),
}


def changes() -> ChangeBatch:
    random = np.random.default_rng(7)
    letters = random.integers(97, 123, ROWS * 32, np.uint8).tobytes()
    code = pa.StringArray.from_buffers(
        ROWS, pa.py_buffer(np.arange(0, ROWS * 32 + 1, 32, dtype=np.int32)), pa.py_buffer(letters)
    )
    columns = [pa.array(random.integers(0, 1 << 62, ROWS)), code]
    return inserts(TABLE, pa.StructArray.from_arrays(columns, fields=list(TABLE.arrow_struct)), 10)


def row_by_row(name: bytes, texts: list[bytes]) -> list[int]:
    whole, begun = zlib.crc32(b"benchorders"), zlib.crc32(name)
    return [(whole ^ zlib.crc32(text, begun)) % PARTITIONS for text in texts]


def main() -> None:
    options, report = arguments("dispatch"), Report("dispatch")
    batch = changes()
    filters = EventFilters([EventFilter(("bench.*",), insert="id < 0")]).of(TABLE)
    for name, said in RULES.items():
        partitioner = compile_rule(parse_rule(said), TABLE)
        column = "id" if name == "bigint" else "code"
        texts = [str(value).encode() for value in pc.struct_field(batch.after, column).to_pylist()]
        by_row = partial(row_by_row, column.encode(), texts)
        if partitioner.partitions(batch, PARTITIONS).tolist() != by_row():
            raise SystemExit(f"bench: the partitions by {name} are not those of the library's CRC-32")
        limit = f"crc32_row_by_row.{name}.rows_per_s"
        report.limit(limit, ROWS / best_seconds(by_row, clock=time.process_time))
        fast = best_seconds(partial(_routed, filters, partitioner, batch), clock=time.process_time)
        report.add(f"dispatch.{name}.rows_per_s", ROWS / fast, limit)
    report.finish(options.json)


def _routed(filters: TableEvents, partitioner: Partitioner, batch: ChangeBatch) -> None:
    partitioner.partitions(filters.kept(batch), PARTITIONS)


if __name__ == "__main__":
    main()
