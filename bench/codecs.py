"""Codecs on one core: rows and bytes a second, encoding and decoding, for the three tables.

The limits are measured in the same run: `pyarrow.csv` writing the narrow table's columns (10.3 M rows/s on an idle
machine), and a plain copy of the bytes that the codec wrote. Another codec is one more entry of `CODECS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv as arrow_csv

from bench.report import Report, arguments, best_seconds
from bench.tables import batch, ints100_table, narrow_table, wide_table
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.base import FileDecoder, FileEncoder
from tailrace.codec.csv import CsvDecoder, CsvEncoder, CsvOptions

REFERENCE = "arrow_csv_narrow"
COPY = "copy"
_TABLES: tuple[tuple[str, Callable[[], TableSchema], int], ...] = (
    ("narrow", narrow_table, 100_000),
    ("wide", wide_table, 20_000),
    ("ints100", ints100_table, 20_000),
)


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec in one configuration: its encoder, and its decoder if it has one."""

    name: str
    encoder: FileEncoder
    decoder: FileDecoder | None
    updates: float = 0.0
    deletes: float = 0.0


def _csv(name: str, options: CsvOptions, updates: float = 0.0, deletes: float = 0.0) -> Codec:
    return Codec(name, CsvEncoder(options), CsvDecoder(options), updates, deletes)


CODECS: tuple[Codec, ...] = (
    _csv("csv", CsvOptions(include_commit_ts=True)),
    _csv("csv_mixed_ops", CsvOptions(include_commit_ts=True), 0.2, 0.1),
    _csv("csv_old_value", CsvOptions(include_commit_ts=True, output_old_value=True), 0.2, 0.1),
    _csv("csv_no_quote", CsvOptions(quote="", delimiter="|@|", include_commit_ts=True)),
)


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("codecs", argv)
    pa.set_cpu_count(1)
    report = Report("codecs")
    rows = _TABLES[0][2]
    plain = pa.Table.from_arrays(batch(narrow_table(), rows).after.flatten(), names=list("abcd"))
    report.limit(f"{REFERENCE}.rows_per_s", rows / best_seconds(lambda: _write_plain(plain)))
    for name, make, count in _TABLES:
        for codec in CODECS:
            _measure(report, codec, name, batch(make(), count, updates=codec.updates, deletes=codec.deletes))
    report.finish(options.json)


def _write_plain(table: pa.Table) -> None:
    arrow_csv.write_csv(table, pa.BufferOutputStream())


def _measure(report: Report, codec: Codec, table: str, changes: ChangeBatch) -> None:
    data = codec.encoder.encode(changes)
    copy = f"{COPY}.{codec.name}.{table}.mb_per_s"
    report.limit(copy, data.size / 1e6 / best_seconds(lambda: bytes(memoryview(data)), 0.1))
    _add(report, f"{codec.name}.encode.{table}", changes.num_rows, data.size, lambda: codec.encoder.encode(changes))
    decoder = codec.decoder
    if decoder is not None:
        _add(
            report,
            f"{codec.name}.decode.{table}",
            changes.num_rows,
            data.size,
            lambda: list(decoder.decode(data, changes.table, "bench")),
        )


def _add(report: Report, key: str, rows: int, size: int, work: Callable[[], object]) -> None:
    seconds = best_seconds(work)
    codec, _, table = key.split(".")
    report.add(f"{key}.rows_per_s", rows / seconds, f"{REFERENCE}.rows_per_s")
    report.add(f"{key}.mb_per_s", size / 1e6 / seconds, f"{COPY}.{codec}.{table}.mb_per_s")


if __name__ == "__main__":
    main()
