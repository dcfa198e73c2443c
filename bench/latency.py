"""`scripts/bench latency`: how soon a committed row is durable, at 1,000 rows/s.

In a complete file with `metadata` past it (flush-interval 2s), and at the blackhole sink. Percentiles of all commits
of the run; the first seconds, in which Spark warms up, are left out.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.lag import LagProbe, metadata_checkpoint
from bench.pipeline import sink_uri
from bench.report import Report, arguments
from bench.rig import Rig, rig
from bench.tables import narrow_table
from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.testing.cluster import start_store
from tailrace.testing.images import random_image

PER_SECOND = 100
ROWS_EACH = 10
WARM_SECONDS = 5.0


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments("latency", argv, _extend)
    report = Report("latency")
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as folder:
        place = Path(folder)
        with start_store(place / "store") as store, rig(place, store.uri) as server:
            client = store.client()
            client.create_schema("bench")
            _measure(report, server, client, "blackhole", "blackhole://", args.seconds, None)
            copy = place / "copy"
            _measure(report, server, client, "storage", sink_uri(copy), args.seconds, metadata_checkpoint(copy))
    report.finish(args.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each sink is measured (default: 60)")


def _measure(
    report: Report,
    server: Rig,
    client: StoreClient,
    name: str,
    sink: str,
    seconds: float,
    checkpoint: Callable[[], Ts] | None,
) -> None:
    server.subscribe(name, sink, ("bench.*",), "now")
    server.wait(name, 1)
    look = checkpoint or (lambda: server.tally(name).report.to_ts)
    with LagProbe(look) as probe:
        commits = steady_writes(client, f"steady_{name}", WARM_SECONDS + seconds)
        probe.wait(commits[-1])
    lags = probe.lags(commits[int(WARM_SECONDS * PER_SECOND) :])
    for percent in (50, 90, 99, 100):
        key = "max" if percent == 100 else f"p{percent}"
        report.add(f"latency.{name}.{key}_ms", float(np.percentile(lags, percent)) * 1000)
    report.add(f"latency.{name}.rows_per_s", PER_SECOND * ROWS_EACH)
    server.cancel(name)


def steady_writes(client: StoreClient, table_name: str, seconds: float) -> list[Ts]:
    """The commit ts of each of `PER_SECOND` transactions a second, `ROWS_EACH` rows each."""
    table = client.create_table(replace(narrow_table(), name=table_name), ranges=2, handles=(0, 1 << 20))
    random, commits, pause = np.random.default_rng(3), [], threading.Event()
    begun = time.monotonic()
    for number in range(int(seconds * PER_SECOND)):
        rows = random_image(table, ROWS_EACH, random, nulls=False, first=1 + number * ROWS_EACH)
        commits.append(client.bulk_insert(table, rows))
        pause.wait(max(0.0, begun + (number + 1) / PER_SECOND - time.monotonic()))
    return commits


if __name__ == "__main__":
    main()
