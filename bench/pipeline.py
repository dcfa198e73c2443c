"""`scripts/bench pipeline [--master URL]`: rows/s from the data servers to CSV files, of the log and of a snapshot, and
of a log that is shuffled by route; each stage's seconds on the workers, and its share of them.

Everything is in the measured time: data servers, gRPC, Spark with its JVM, encoding, staging, naming, the ledger. The
limit is `pyarrow.csv.write_csv` of the same table in memory, on one core, measured in the same run. Each phase runs
three times and the fastest counts, as with the limit; how long the first took, when nothing was warm, is printed too.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench.processes import ProcessPeaks
from bench.report import Report, arguments, best_seconds
from bench.rig import Rig, rig
from bench.tables import batch, narrow_table, wide_table
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.pipeline.session import SessionOptions
from tailrace.pipeline.tally import Tally
from tailrace.testing.cluster import start_store
from tailrace.testing.images import random_image

CHUNK_ROWS = 100_000
ROUNDS = 3
PHASES = ("log", "snapshot", "spread")
ROUTES = "blackhole://?routes=8"
LIMIT = "csv.write.narrow.rows_per_s"
TABLES = {"narrow": narrow_table, "wide": wide_table}


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments("pipeline", argv, _extend)
    report = Report("pipeline")
    report.limit(LIMIT, write_csv_rate())
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-", dir=args.folder) as folder:
        place = Path(folder)
        with ProcessPeaks() as peaks, start_store(place / "store", options=("--no-fsync",)) as store:
            source = _load(report, store.client(), args.table, args.rows)
            for workers in (1, 2) if args.master else (0,):
                with rig(place / f"{workers}", store.uri, _options(args.master, workers)) as server:
                    _measure(
                        report,
                        server,
                        source,
                        place / f"{workers}",
                        f".workers_{workers}" if workers else "",
                        args.phases,
                    )
        for kind, size in sorted(peaks.by_kind.items()):
            report.add(f"pipeline.memory.{args.table}.{kind}_mb", size / 1e6)
        report.add(f"pipeline.memory.{args.table}.total_mb", peaks.total / 1e6)
    report.finish(args.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the table (default: 2,000,000)")
    parser.add_argument("--table", choices=sorted(TABLES), default="narrow")
    parser.add_argument("--master", default="", help="a cluster's, which is measured with one worker and with two")
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=PHASES)
    parser.add_argument("--folder", help="where to work; the system's temporary folder when left out")


@dataclass(frozen=True, slots=True)
class Source:
    """A filled table, and the time of its changes."""

    table: str
    rows: int
    start: Ts
    end: Ts


def _options(master: str, workers: int) -> SessionOptions:
    """`workers`: how many cores, each of which is a worker of its own in the cluster of `scripts/services`."""
    cores = {"spark.cores.max": str(workers), "spark.executor.cores": "1"}
    return SessionOptions(master, conf=cores) if master else SessionOptions()


def _load(report: Report, client: StoreClient, name: str, rows: int) -> Source:
    client.create_schema("bench")
    table = client.create_table(TABLES[name](), ranges=4, handles=(0, rows))
    start = client.now()
    begun = time.perf_counter()
    load(client, table, rows)
    report.add(f"pipeline.load.{name}.rows_per_s", rows / (time.perf_counter() - begun))
    return Source(name, rows, start, client.now())


def _measure(report: Report, server: Rig, source: Source, place: Path, suffix: str, phases: Sequence[str]) -> None:
    """The log and a snapshot into files, and the log over routes, which is shuffled, into nothing."""
    for phase in phases:
        begin, upto = ("snapshot", 0) if phase == "snapshot" else (str(source.start), source.end)
        names = [f"{phase}_{number}{suffix.replace('.', '_')}" for number in range(ROUNDS)]
        rounds = [_round(server, place, name, begin, upto, source.rows) for name in names]
        key = f"pipeline.{phase}.{source.table}{suffix}"
        report.add(f"{key}.first_seconds", rounds[0][0])
        spent, tally = min(rounds, key=lambda each: each[0])
        report.add(f"{key}.rows_per_s", source.rows / spent, LIMIT)
        report.add(f"{key}.mb_per_s", tally.report.bytes / spent / 1e6)
        report.add(f"{key}.seconds", spent)
        whole = sum(tally.seconds.values())
        for stage, seconds in sorted(tally.seconds.items()):
            report.add(f"{key}.{stage}_seconds", seconds)
            report.add(f"{key}.{stage}_share", seconds / whole)


def _round(server: Rig, place: Path, subscription: str, begin: str, upto: Ts, rows: int) -> tuple[float, Tally]:
    """One subscription over all rows, into a folder that is removed again: seconds, and what it moved."""
    folder = place / subscription
    sink = ROUTES if subscription.startswith("spread") else sink_uri(folder)
    server.subscribe(subscription, sink, ("bench.*",), begin, upto)
    spent = server.wait(subscription, upto or 1)
    tally = server.tally(subscription)
    assert tally.report.rows == rows, f"{subscription} delivered {tally.report.rows} rows of {rows}"
    server.cancel(subscription)
    shutil.rmtree(folder, ignore_errors=True)
    return spent, tally


def sink_uri(folder: Path, flush: str = "2s") -> str:
    return f"file://{folder}?protocol=csv&flush-interval={flush}"


def load(client: StoreClient, table: TableSchema, rows: int) -> Ts:
    """Fill a table, a transaction for each chunk; returns the last commit ts."""
    last = 0
    for first in range(1, rows + 1, CHUNK_ROWS):
        last = client.bulk_insert(table, chunk(table, first, min(CHUNK_ROWS, rows + 1 - first)))
    return last


def chunk(table: TableSchema, first: int, rows: int) -> pa.StructArray:
    """Rows whose keys count from `first`; all else is the same in each chunk, because making it takes long."""
    keys = pa.array(np.arange(first, first + rows, dtype=np.int64))
    image = _image(table).slice(0, rows)
    return pa.StructArray.from_arrays([keys, *image.flatten()[1:]], fields=list(table.arrow_struct))


@cache
def _image(table: TableSchema) -> pa.StructArray:
    return random_image(table, CHUNK_ROWS, np.random.default_rng(1), nulls=table.name == "wide")


def write_csv_rate() -> float:
    data = pa.Table.from_struct_array(batch(narrow_table(), CHUNK_ROWS).after)
    return CHUNK_ROWS / best_seconds(lambda: pyarrow.csv.write_csv(data, pa.BufferOutputStream()))


if __name__ == "__main__":
    main()
