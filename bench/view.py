"""The view: 2,000,000 rows of a folder as a typed DataFrame, beside `spark.read.csv` of the same files.

`view.read.ratio_to_spark_csv` is how much faster all of the folder is read than by Spark's own CSV reader with a given
schema (0.5 is asked for); `view.hour.speedup` is how much faster one commit-ts hour of 24 is read than all of it (10 is
asked for). Each is the best of several runs that take turns, so both sides had the same machine. The Spark session is
a user's: its usual settings, not those of the pipeline.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bench.report import Report, arguments
from bench.tables import VERSION, batch, narrow_table, wide_table
from tailrace.change import schema_file
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts, compose, physical_ms
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.pipeline.session import SessionOptions, open_session
from tailrace.pipeline.view import register
from tailrace.pipeline.view.mapping import image_type

TABLES: dict[str, Callable[[], TableSchema]] = {"narrow": narrow_table, "wide": wide_table}
LIMIT = "spark_csv.rows_per_s"
CHUNK = 50_000
FILE_BYTES = 64 << 20
HOURS = 24
HOUR_MS = 3_600_000
FORM = CsvOptions(include_commit_ts=True)


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments("view", argv, _extend)
    report = Report("view")
    table = TABLES[args.table]()
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-view-", dir=args.folder) as name:
        folder = Path(name)
        size = write_folder(folder, table, args.rows)
        spark = open_session(SessionOptions(conf=USUAL)).spark
        register(spark)
        measure(report, spark, folder, table, args, size)
        spark.stop()
    report.finish(args.json)


USUAL = {
    "spark.master": "local[*]",
    "spark.driver.memory": "2g",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.python.daemon.module": "pyspark.daemon",
}


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--table", choices=sorted(TABLES), default="narrow")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=None, help="where the files are written for the bench")


def write_folder(root: Path, table: TableSchema, rows: int) -> int:
    """A folder of TiCDC's layout that holds a day of changes, file-size as TiCDC has it. Returns its bytes."""
    encoder, folder = CsvEncoder(FORM), root / table.schema / table.name
    data = folder / str(table.version) / "2023-11-14"
    data.mkdir(parents=True)
    (folder / "meta").mkdir()
    text, checksum = schema_file.table_file(table)
    (folder / "meta" / f"schema_{table.version}_{checksum:010d}.json").write_text(text)
    written = number = total = 0
    out = None
    for begin in range(0, rows, CHUNK):
        count = min(CHUNK, rows - begin)
        part = encoder.encode(_stamped(batch(table, count, seed=begin + 1), begin, rows))
        if out is None or written > FILE_BYTES:
            number, written = number + 1, 0
            if out is not None:
                out.close()
            out = (data / f"CDC{number:020d}.csv").open("wb")
        out.write(part)
        written, total = written + part.size, total + part.size
    if out is not None:
        out.close()
    (root / "metadata").write_text(f'{{"checkpoint-ts":{moment_of(1.0)}}}')
    return total


def _stamped(changes: ChangeBatch, begin: int, rows: int) -> ChangeBatch:
    """The same rows with commit ts spread evenly over the day."""
    at = (np.arange(begin, begin + changes.num_rows, dtype=np.int64) // 100 + 1) * 100 / (rows + 100)
    stamps = pa.array(_start() + ((at * HOURS * HOUR_MS).astype(np.int64) << 18))
    columns = [changes.op, stamps, stamps, changes.after, changes.before]
    return ChangeBatch(changes.table, pa.RecordBatch.from_arrays(columns, schema=changes.data.schema))


def _start() -> Ts:
    return compose(physical_ms(VERSION) + 1000)


def moment_of(share: float) -> Ts:
    """The commit ts at a share of the day."""
    return _start() + (round(share * HOURS * HOUR_MS) << 18)


def measure(
    report: Report, spark: SparkSession, folder: Path, table: TableSchema, args: argparse.Namespace, size: int
) -> None:
    def view(**bounds: str) -> DataFrame:
        return spark.read.format("tailrace").options(table=table.full_name, **bounds).load(str(folder))

    spark_csv = spark.read.schema(_file_type(table)).options(header=False, quote='"', escape='"', nullValue="\\N")
    data = str(folder / table.schema / table.name / str(table.version))
    hour = {"startTs": str(moment_of(0.5)), "endTs": str(moment_of(0.5 + 1 / HOURS))}
    ways: dict[str, Callable[[], DataFrame]] = {
        "csv": lambda: spark_csv.option("recursiveFileLookup", "true").csv(data),
        "read": lambda: view(),
        "hour": lambda: view(**hour),
    }
    assert view().count() == args.rows
    counted = view(**hour).count()
    assert abs(counted - args.rows / HOURS) <= 200, f"the hour has {counted} rows"
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(args.runs):
        for name, work in ways.items():
            start = time.perf_counter()
            work().write.format("noop").mode("overwrite").save()
            best[name] = min(best[name], time.perf_counter() - start)
    report.limit(LIMIT, args.rows / best["csv"])
    report.add("view.read.rows_per_s", args.rows / best["read"], LIMIT)
    report.add("view.read.mb_per_s", size / 1e6 / best["read"])
    report.add("view.read.ratio_to_spark_csv", best["csv"] / best["read"])
    report.add("view.hour.seconds", best["hour"])
    report.add("view.hour.speedup", best["read"] / best["hour"])


def _file_type(table: TableSchema) -> StructType:
    """The cells of a row as Spark's CSV reader is told of them."""
    meta = [StructField("_op", StringType()), StructField("_table", StringType()), StructField("_schema", StringType())]
    return StructType([*meta, StructField("_commit_ts", LongType()), *image_type(table.row_columns, "null")])


if __name__ == "__main__":
    main()
