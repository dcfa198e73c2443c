"""The row codec on one core: rows a second from TiDB's keys and values to columns and back.

The limit of every figure is measured in the same run: a plain copy of the table's keys and values, in rows a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from bench.report import Report, arguments, best_seconds
from bench.tables import batch, ints100_table, narrow_table, wide_table
from tailrace.change.schema import TableSchema
from tailrace.upstream.rowcodec import decode_rows, encode_keys, encode_rows

TABLES: dict[str, tuple[Callable[[], TableSchema], int]] = {
    "narrow": (narrow_table, 65_536),
    "wide": (wide_table, 16_384),
    "ints100": (ints100_table, 16_384),
}


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("rowcodec", argv)
    pa.set_cpu_count(1)
    report = Report("rowcodec")
    for name, (make, rows) in TABLES.items():
        _measure(report, name, make(), rows)
    report.finish(options.json)


def _measure(report: Report, name: str, table: TableSchema, rows: int) -> None:
    image = batch(table, rows).after
    keys, values = encode_keys(table, image, table.table_id), encode_rows(table, image)
    stored = np.concatenate([np.frombuffer(part.buffers()[2], np.uint8) for part in (keys, values)])
    limit = f"copy_{name}.rows_per_s"
    report.limit(limit, rows / best_seconds(stored.copy, 0.3))
    report.add(
        f"rowcodec.decode.{name}.rows_per_s", rows / best_seconds(lambda: decode_rows(table, keys, values)), limit
    )
    report.add(f"rowcodec.encode.{name}.rows_per_s", rows / best_seconds(lambda: encode_rows(table, image)), limit)
    report.add(
        f"rowcodec.encode_keys.{name}.rows_per_s",
        rows / best_seconds(lambda: encode_keys(table, image, table.table_id), 0.3),
        limit,
    )
    report.add(f"rowcodec.value.{name}.bytes_per_row", len(values.buffers()[2]) / rows)


if __name__ == "__main__":
    main()
