"""The consumer: files replayed into the blackhole and into SQLite, rows by CPU second, and the peak of memory.

The limit is the decoder alone over the same files, in the same run: what is between the two is the price of planning,
pulling, filtering and recording.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa

from bench.report import Report, arguments
from bench.storage_folder import CONFIG, OPTIONS, TABLES, rows_folder
from tailrace.change.tso import Ts
from tailrace.codec.csv import CsvDecoder
from tailrace.pipeline import worker
from tailrace.pipeline.assignment import Assignment
from tailrace.pipeline.runner import InProcessRunner
from tailrace.server.solo import Solo
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec

NAME = "bench"


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("consume", argv, _extend)
    report = Report("consume")
    for name in options.tables:
        rows = options.rows if name == "narrow" else options.rows // 4
        with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as folder:
            _measure(report, name, rows, options.file_mb << 20, Path(folder), options.sqlite)
    report.finish(options.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=2_000_000, help="narrow rows; a quarter of them wide")
    parser.add_argument("--file-mb", type=int, default=64, help="how large a file is")
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--sqlite", action="store_true", help="into SQLite as well")


def _measure(report: Report, name: str, rows: int, file_bytes: int, folder: Path, sqlite: bool) -> None:
    root = folder / "storage"
    # In a process of its own, so that what it takes is not counted.
    maker = multiprocessing.get_context("spawn").Process(target=rows_folder, args=(root, name, rows, file_bytes))
    maker.start()
    maker.join()
    limit = f"csv_decode_{name}.rows_per_cpu_s"
    report.limit(limit, rows / _decode_seconds(root, name))
    targets = {"blackhole": "blackhole://"} | ({"sqlite": f"sqlite:///{folder / 'target.db'}"} if sqlite else {})
    for target, uri in targets.items():
        spent, wall, peak = _replay(root, uri, folder / target, rows)
        report.add(f"consume.{target}.{name}.rows_per_cpu_s", rows / spent, limit)
        report.add(f"consume.{target}.{name}.rows_per_s", rows / wall)
        report.add(f"consume.{target}.{name}.peak_rss_mib", peak / (1 << 20))


def _decode_seconds(root: Path, name: str) -> float:
    begun = time.process_time()
    decoder, table = CsvDecoder(OPTIONS), TABLES[name]()
    for file in sorted(root.rglob("*.csv")):
        with pa.memory_map(str(file)) as source:
            for _ in decoder.decode(source.read_buffer(), table, file.name):
                pass
    return time.process_time() - begun


def _replay(root: Path, target: str, state: Path, rows: int) -> tuple[float, float, int]:
    """CPU seconds, seconds and peak memory of one replay, in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        carried, spent, wall, peak = pool.submit(_carry, root, target, state).result()
    shutil.rmtree(state, ignore_errors=True)
    if carried != rows:
        raise SystemExit(f"bench: {carried} rows were carried, not {rows}")
    return spent, wall, peak


def _carry(root: Path, target: str, state: Path) -> tuple[int, float, float, int]:
    upstream = UpstreamSpec(f"file://{root}", "UTC", CONFIG)
    end: Ts = worker.upstreams.get(upstream).now()
    solo = Solo(state / "progress.db", lambda report: None, lambda error: None)
    begun, wall = time.process_time(), time.monotonic()
    order = Assignment(NAME, 0, upstream, SinkSpec(NAME, target), ("*.*",), start="1", end_ts=end)
    done = solo.carry(order, InProcessRunner())
    spent, wall = time.process_time() - begun, time.monotonic() - wall
    return done.report.rows, spent, wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    main()
