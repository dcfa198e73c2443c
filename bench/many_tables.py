"""Many tables, each changed once a second: the lag of the changes, its course, and what a cut costs.

The lag is seen from outside, by `metadata`; it rises where the second half's p99 lies above the first half's.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.lag import LagProbe, metadata_checkpoint
from bench.pipeline import sink_uri
from bench.report import Report
from bench.rig import Rig
from bench.tables import narrow_table
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.testing.images import random_image

WARM_SECONDS = 10.0
WRITERS = 4


def measure_tables(report: Report, server: Rig, client: StoreClient, place: Path, number: int, seconds: float) -> None:
    name = f"tables_{number}"
    client.create_schema(name)
    tables = [client.create_table(replace(narrow_table(), schema=name, name=f"t{at:04}")) for at in range(number)]
    server.subscribe(name, sink_uri(place / name), (f"{name}.*",), "now")
    server.wait(name, 1)
    with LagProbe(metadata_checkpoint(place / name), every_seconds=0.05) as probe:
        commits, late = _write(client, tables, WARM_SECONDS + seconds)
        probe.wait(commits[-1], seconds=120)
    tally = server.tally(name)
    lags = probe.lags(commits)[int(WARM_SECONDS) * number :]
    first, last = np.array_split(lags, 2)
    for key, values in (("p50", np.percentile(lags, 50)), ("p99", np.percentile(lags, 99)), ("max", lags.max())):
        report.add(f"scenarios.{name}.lag.{key}_ms", float(values) * 1000)
    report.add(f"scenarios.{name}.lag.p99_of_first_half_ms", float(np.percentile(first, 99)) * 1000)
    report.add(f"scenarios.{name}.lag.p99_of_last_half_ms", float(np.percentile(last, 99)) * 1000)
    report.add(f"scenarios.{name}.writer.behind_s", late)
    for stage, spent in sorted(tally.cut_seconds.items()):
        report.add(f"scenarios.{name}.cut.{stage}_ms", spent / max(tally.report.cuts, 1) * 1000)
    server.cancel(name)


def _write(client: StoreClient, tables: list[TableSchema], seconds: float) -> tuple[list[Ts], float]:
    """A row into each table each second; all commit timestamps in order, and how late the writer was at the end."""
    rows = [random_image(tables[0], 1, np.random.default_rng(at), first=at + 1) for at in range(int(seconds))]
    pause, begun, commits = threading.Event(), time.monotonic(), []
    with ThreadPoolExecutor(WRITERS) as pool:
        for second, row in enumerate(rows):
            commits += sorted(pool.map(lambda table, row=row: client.bulk_insert(table, row), tables))
            pause.wait(max(0.0, begun + second + 1 - time.monotonic()))
    return commits, max(0.0, time.monotonic() - begun - len(rows))
