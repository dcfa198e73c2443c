"""`scripts/bench scenarios`: the pipeline where it is not comfortable.

wide       30 mixed columns instead of four, log phase
hot        every change in one range of one table, most of them updates
small      single-row transactions
large      one transaction of 5,000,000 rows: rows/s, and the peak memory of every process
tables     10, 100, 1,000 tables with one change each per second at flush-interval 2s: lag and its course, cost of a cut
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bench.many_tables import measure_tables
from bench.pipeline import CHUNK_ROWS, LIMIT, chunk, load, sink_uri, write_csv_rate
from bench.processes import ProcessPeaks
from bench.report import Report, arguments
from bench.rig import Rig, rig
from bench.tables import narrow_table, wide_table
from tailrace.change.batch import INSERT, UPDATE
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.testing.cluster import start_store


@dataclass(frozen=True, slots=True)
class Stage:
    """What a scenario works with."""

    report: Report
    server: Rig
    client: StoreClient
    place: Path
    args: argparse.Namespace

    def deliver(self, name: str, rows: int, start: Ts, end: Ts) -> None:
        """Carry what was committed between two timestamps into files, and report the rate."""
        self.server.subscribe(name, sink_uri(self.place / name), ("bench.*",), str(start), end)
        spent = self.server.wait(name, end)
        tally = self.server.tally(name)
        assert tally.report.rows == rows, f"{name} delivered {tally.report.rows} rows of {rows}"
        self.report.add(f"scenarios.{name}.log.rows_per_s", rows / spent, LIMIT)
        self.report.add(f"scenarios.{name}.log.mb_per_s", tally.report.bytes / spent / 1e6)
        self.server.cancel(name)


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments("scenarios", argv, _extend)
    report = Report("scenarios")
    report.limit(LIMIT, write_csv_rate())
    for name in args.only or list(SCENARIOS):
        with tempfile.TemporaryDirectory(prefix=f"tailrace-bench-{name}-", dir=args.folder) as folder:
            place = Path(folder)
            with (
                ProcessPeaks() as peaks,
                start_store(place / "store", options=("--no-fsync",)) as store,
                rig(place, store.uri) as server,
            ):
                client = store.client()
                client.create_schema("bench")
                SCENARIOS[name](Stage(report, server, client, place, args))
            for kind, size in sorted(peaks.by_kind.items()):
                report.add(f"scenarios.{name}.memory.{kind}_mb", size / 1e6)
            report.add(f"scenarios.{name}.memory.total_mb", peaks.total / 1e6)
    report.finish(args.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", choices=list(SCENARIOS), help="this scenario; repeat for several")
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of rows (default: 1)")
    parser.add_argument("--seconds", type=float, default=120.0, help="of the scenario `tables` (default: 120)")
    parser.add_argument("--tables", type=int, nargs="+", default=[10, 100, 1000], help="how many tables")
    parser.add_argument("--folder", help="where to work; the system's temporary folder when left out")


def _wide(stage: Stage) -> None:
    rows = int(500_000 * stage.args.scale)
    table = stage.client.create_table(wide_table(), ranges=4, handles=(0, rows))
    start = stage.client.now()
    stage.deliver("wide", rows, start, load(stage.client, table, rows))


def _hot(stage: Stage) -> None:
    """Half a million rows, inserted and then updated over and over in one range."""
    table = stage.client.create_table(narrow_table())
    rows, start = int(200_000 * stage.args.scale), stage.client.now()
    end = load(stage.client, table, rows)
    for _ in range(4):
        for first in range(1, rows + 1, CHUNK_ROWS):
            end = _one(stage.client, table, UPDATE, chunk(table, first, min(CHUNK_ROWS, rows + 1 - first)))
    stage.deliver("hot", 5 * rows, start, end)


def _small(stage: Stage) -> None:
    rows = int(200_000 * stage.args.scale)
    table = stage.client.create_table(narrow_table(), ranges=4, handles=(0, rows))
    start = stage.client.now()
    begun = time.perf_counter()
    for first in range(1, rows + 1, CHUNK_ROWS):
        stage.client.write_each(table, INSERT, chunk(table, first, min(CHUNK_ROWS, rows + 1 - first)))
    stage.report.add("scenarios.small.written.transactions_per_s", rows / (time.perf_counter() - begun))
    stage.deliver("small", rows, start, stage.client.now())


def _large(stage: Stage) -> None:
    rows = int(5_000_000 * stage.args.scale)
    table = stage.client.create_table(narrow_table(), ranges=4, handles=(0, rows))
    start = stage.client.now()
    with stage.client.transaction() as transaction:
        for first in range(1, rows + 1, CHUNK_ROWS):
            transaction.insert(table, chunk(table, first, min(CHUNK_ROWS, rows + 1 - first)))
    stage.deliver("large", rows, start, stage.client.now())


def _tables(stage: Stage) -> None:
    for number in stage.args.tables:
        measure_tables(stage.report, stage.server, stage.client, stage.place, number, stage.args.seconds)


def _one(client: StoreClient, table: TableSchema, op: int, rows: pa.StructArray) -> Ts:
    transaction = client.begin()
    (transaction.update if op == UPDATE else transaction.insert)(table, rows)
    return transaction.commit()


SCENARIOS: dict[str, Callable[[Stage], None]] = {
    "wide": _wide,
    "hot": _hot,
    "small": _small,
    "large": _large,
    "tables": _tables,
}

if __name__ == "__main__":
    main()
