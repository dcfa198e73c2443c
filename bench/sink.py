"""Bench of the storage sink: decoded rows in memory to CSV files that have their names and their index.

Rows per CPU second of the whole way (encode, stage, name, index), for the narrow and the wide table, beside
`pyarrow.csv.write_csv` of the same rows into a file of the same folder; and the time of a commit over 1, 100 and
1,000 folders. The files are on the disk at the end, because the sink flushes them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pyarrow as pa
import pyarrow.csv as pc

from bench.report import Report, arguments
from bench.tables import VERSION, batch, narrow_table, wide_table
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.sink import StorageSink

ROWS = {"narrow": 1_000_000, "wide": 200_000}
BATCH_ROWS = 65_536
FOLDERS = (1, 100, 1_000)
REPEATS = 3
_CONFIG = '[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'


class Seat:
    """A ledger that only remembers: what is measured is the sink."""

    epoch = 1

    def __init__(self, tables: Sequence[TableSchema]) -> None:
        self._tables = {(table.table_id, table.version): table for table in tables}

    def check(self) -> None:
        pass

    def save_naming(self, cut: Cut, naming: str) -> None:
        pass

    def load_naming(self) -> tuple[Cut, str] | None:
        return None

    def last_cut(self) -> int:
        return 0

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        return self._tables[table_id, version]


@contextmanager
def _sink(tables: Sequence[TableSchema]) -> Iterator[StorageSink]:
    root = mkdtemp(prefix="tailrace-bench-")
    sink = StorageSink(SinkSpec("bench", f"file://{root}", _CONFIG))
    try:
        sink.open(Seat(tables))
        yield sink
    finally:
        sink.close()
        shutil.rmtree(root)


def _cut(number: int) -> Cut:
    return Cut("bench", 1, number, "log", 0, VERSION)


def staged(sink: StorageSink, cut: Cut, number: int, batches: Sequence[ChangeBatch]) -> Receipt:
    table_id = batches[0].table.table_id
    writer = sink.writer(Piece("bench", 1, cut.number, number, "log", table_id, 0, (), 0, cut.to_ts))
    for each in batches:
        writer.write(each)
    written = writer.close()
    return Receipt(number, written.rows, written.bytes, written.payload)


def _spent(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of CPU and of the clock, the best of some calls."""
    best = (float("inf"), float("inf"))
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
    return best


def _throughput(report: Report, name: str, table: TableSchema) -> None:
    whole = batch(table, ROWS[name])
    parts = [whole.slice(at, BATCH_ROWS) for at in range(0, whole.num_rows, BATCH_ROWS)]
    with _sink([table]) as sink:
        numbers = iter(range(1, 1000))

        def deliver() -> None:
            cut = _cut(next(numbers))
            sink.commit(cut, [staged(sink, cut, 0, parts)])

        cpu, wall = _spent(deliver)
    limit = _write_csv(report, name, whole)
    report.add(f"sink.storage.{name}.rows_per_cpu_s", whole.num_rows / cpu, limit)
    report.add(f"sink.storage.{name}.rows_per_s", whole.num_rows / wall)


def _write_csv(report: Report, name: str, whole: ChangeBatch) -> str:
    """The same columns by pyarrow alone, into a file that nobody flushes."""
    columns = [whole.commit_ts, *(_plain(column) for column in whole.after.flatten())]
    rows = pa.table(columns, names=[str(at) for at in range(len(columns))])
    root = Path(mkdtemp(prefix="tailrace-bench-"))
    options = pc.WriteOptions(include_header=False, batch_size=BATCH_ROWS)
    try:
        cpu, _ = _spent(lambda: pc.write_csv(rows, root / "rows.csv", options))
    finally:
        shutil.rmtree(root)
    limit = f"write_csv_{name}"
    report.limit(limit, whole.num_rows / cpu)
    return limit


def _plain(column: pa.Array) -> pa.Array:
    """Binary columns as text of their length in base64, because `write_csv` takes no binary."""
    if not pa.types.is_binary(column.type):
        return column
    return pa.array(["x" * 32], pa.string()).take(pa.array([0] * len(column)))


def _commits(report: Report) -> None:
    shape = narrow_table()
    for folders in FOLDERS:
        tables = [
            TableSchema("bench", f"t{at}", at + 1, VERSION, shape.columns, pk_is_handle=True) for at in range(folders)
        ]
        rows = [ChangeBatch(table, batch(table, 10).data) for table in tables]
        with _sink(tables) as sink:
            for number, kind in ((1, "first"), (2, "next"), (3, "third")):
                cut = _cut(number)
                receipts = [staged(sink, cut, at, [each]) for at, each in enumerate(rows)]
                began = time.perf_counter()
                sink.commit(cut, receipts)
                if kind != "third":
                    report.add(f"sink.storage.commit_{folders}_folders.{kind}_s", time.perf_counter() - began)


def main(argv: Sequence[str] | None = None) -> None:
    asked = arguments("sink", argv)
    report = Report("sink")
    _throughput(report, "narrow", narrow_table())
    _throughput(report, "wide", wide_table())
    _commits(report)
    report.finish(asked.json)


if __name__ == "__main__":
    main()
