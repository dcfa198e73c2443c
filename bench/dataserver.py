"""Bench of the embedded range store: bulk writes, small transactions, log and snapshot pulls, frontiers, memory.

The limit of everything that moves pages is gRPC itself: a call that returns one ready page, measured in the same run.
Rates "per server core" divide by the processor time of the server, so that they say little about the neighbours.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np
import psutil
import pyarrow as pa

from bench.report import PeakMemory, Report, arguments
from bench.tables import batch, narrow_table
from tailrace.change.batch import UPDATE
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.proto import cdc_pb2
from tailrace.proto.services import CHANNEL_OPTIONS
from tailrace.testing.cluster import Store, start_store
from tailrace.upstream.base import Mark, log_batches
from tailrace.upstream.dataserver.wire import CDC, Wire

PAGE_BYTES = 4 << 20
CHUNK = 100_000
SECONDS = 4.0
WRITERS = 8


@dataclass(slots=True)
class Spent:
    seconds: float = 0.0
    server: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """A running store with one table of one range."""

    report: Report
    store: Store
    client: StoreClient
    table: TableSchema
    range: Range
    image: pa.StructArray

    def server_seconds(self) -> float:
        times = psutil.Process(self.store.pid(0)).cpu_times()
        return float(times.user + times.system)

    @contextmanager
    def timed(self) -> Iterator[Spent]:
        spent, began, server = Spent(), time.perf_counter(), self.server_seconds()
        yield spent
        spent.seconds, spent.server = time.perf_counter() - began, max(self.server_seconds() - server, 0.01)

    def rows(self, first: int, count: int) -> pa.StructArray:
        columns = [
            pa.array(np.arange(first, first + count)),
            *(self.image.field(at).slice(0, count) for at in (1, 2, 3)),
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self.image.type))

    def settle(self) -> None:
        """Wait until the server has nothing to do any more."""
        while True:
            with self.timed() as spent:
                time.sleep(1.0)
            if spent.server < 0.1:
                return


def echo_limit(report: Report) -> None:
    """Bytes a second of gRPC answers that cost nothing to make, by the processor time of both ends in one process."""
    page = cdc_pb2.CdcPullLogResponse(pages=[cdc_pb2.Page(arrow=bytes(PAGE_BYTES // 2))] * 2)
    handler = grpc.unary_unary_rpc_method_handler(
        lambda request, context: page, response_serializer=cdc_pb2.CdcPullLogResponse.SerializeToString
    )
    server = grpc.server(ThreadPoolExecutor(2), options=CHANNEL_OPTIONS)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("limit.Echo", {"Page": handler})])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=CHANNEL_OPTIONS) as channel:
        call = channel.unary_unary("/limit.Echo/Page", response_deserializer=cdc_pb2.CdcPullLogResponse.FromString)
        call(b"")
        began, calls = time.perf_counter(), 0
        while time.perf_counter() - began < 2.0:
            call(b"")
            calls += 1
        report.limit("grpc_bytes_per_s", calls * PAGE_BYTES / (time.perf_counter() - began))
    server.stop(0)


def bulk(stage: Stage, rows: int) -> None:
    with PeakMemory(stage.store.pid(0)) as memory, stage.timed() as spent:
        txn = stage.client.begin()
        for first in range(0, rows, CHUNK):
            txn.insert(stage.table, stage.rows(first, CHUNK))
        txn.commit()
    stage.report.add("dataserver.bulk.narrow.rows_per_s", rows / spent.seconds)
    stage.report.add("dataserver.bulk.narrow.rows_per_server_core", rows / spent.server)
    stage.report.add("dataserver.bulk.narrow.server_peak_mib", memory.bytes / (1 << 20))


def pull(stage: Stage, what: str, size: float, calls: Callable[[], int]) -> None:
    with stage.timed() as spent:
        rows = calls()
    key = f"dataserver.{what}.narrow"
    stage.report.add(f"{key}.rows_per_s", rows / spent.seconds)
    stage.report.add(f"{key}.rows_per_server_core", rows / spent.server)
    stage.report.add(f"{key}.bytes_per_s", rows * size / spent.seconds, "grpc_bytes_per_s")


def log_pages(stage: Stage, from_ts: Ts, upto_ts: Ts) -> int:
    """Pull as the wire has it: no page is opened."""
    wire, rows, token = Wire(), 0, b""
    while True:
        request = cdc_pb2.CdcPullLogRequest(
            range_id=stage.range.id,
            from_ts=from_ts,
            upto_ts=upto_ts,
            limit_bytes=PAGE_BYTES,
            token=token,
            columnar=True,
        )
        request.range_epoch.version = request.range_epoch.leader = 1
        answer = wire.call(stage.range.leader, CDC, "CdcPullLog", request)
        rows, token = rows + sum(page.rows for page in answer.pages), answer.next
        if not token:
            return int(rows)


def snapshot_pages(stage: Stage, version: Ts) -> int:
    wire, rows, after, end = Wire(), 0, b"", False
    while not end:
        request = cdc_pb2.CdcPullSnapshotRequest(
            range_id=stage.range.id, current_snapshot_version=version, last_key=after, limit_rows=32_768, columnar=True
        )
        request.range_epoch.version = request.range_epoch.leader = 1
        answer = wire.call(stage.range.leader, CDC, "CdcPullSnapshot", request)
        rows, after, end = rows + sum(page.rows for page in answer.pages), answer.last_key, answer.end
    return rows


def decoded(stage: Stage, from_ts: Ts, upto_ts: Ts) -> int:
    batches = log_batches(stage.client.upstream, stage.range, 0, from_ts, upto_ts, PAGE_BYTES)
    return sum(each.num_rows for each in batches)


def small(stage: Stage) -> None:
    """Transactions of one row, each committed by itself by one of several writers; then many in a call."""
    counts, until = [0] * WRITERS, time.perf_counter() + SECONDS

    def write(number: int) -> None:
        while time.perf_counter() < until:
            txn = stage.client.begin()
            txn.insert(stage.table, stage.rows((number + 10) * 10_000_000 + counts[number], 1))
            txn.commit()
            counts[number] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    with stage.timed() as spent:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    stage.report.add("dataserver.small.single.transactions_per_s", sum(counts) / spent.seconds)
    with stage.timed() as spent:
        for first in range(0, 40_000, 4000):
            stage.client.write_each(stage.table, UPDATE, stage.rows(first, 4000))
    stage.report.add("dataserver.small.batched.transactions_per_s", 40_000 / spent.seconds)


def run(report: Report, rows: int, fsync: bool) -> None:
    options = [] if fsync else ["--no-fsync"]
    with tempfile.TemporaryDirectory() as folder, start_store(Path(folder), 1, options) as store:
        client = store.client()
        client.create_schema("bench")
        table = client.create_table(narrow_table())
        known = client.upstream.routes(table)[0]
        stage = Stage(report, store, client, table, known, batch(narrow_table(), CHUNK).after)
        start = client.upstream.register(known, "bench").ts
        bulk(stage, rows)
        stage.settle()
        upto = client.upstream.frontier([Mark(known, 0, start)], 0.0)[0].resolved_ts
        size = stage.image.nbytes / CHUNK
        pull(stage, "log.wire", size, lambda: log_pages(stage, start, upto))
        pull(stage, "log.decoded", size, lambda: decoded(stage, start, upto))
        pull(stage, "snapshot.wire", size, lambda: snapshot_pages(stage, client.now()))
        small(stage)
        after = client.upstream.frontier([Mark(known, 0, upto)], 0.0)[0].resolved_ts
        pull(stage, "small_log.decoded", size, lambda: decoded(stage, upto, after))
        resident = psutil.Process(store.pid(0)).memory_info().rss
        report.add("dataserver.end.server_resident_mib", resident / (1 << 20))


def many_ranges(report: Report) -> None:
    """One frontier call for a thousand ranges."""
    with tempfile.TemporaryDirectory() as folder, start_store(Path(folder), 1, ["--no-fsync"]) as store:
        client = store.client()
        client.create_schema("bench")
        table = client.create_table(narrow_table(), ranges=1000)
        now = client.now()
        marks = [Mark(known, 0, now) for known in client.upstream.routes(table)]
        taken = []
        for _ in range(20):
            began = time.perf_counter()
            client.upstream.frontier(marks, 0.0)
            taken.append(time.perf_counter() - began)
        report.add("dataserver.frontier.ranges1000.milliseconds", 1000 * sorted(taken)[len(taken) // 2])


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the one large transaction")
    parser.add_argument("--fsync", action="store_true", help="survive power failures: bound by the disk")


def main() -> None:
    given = arguments("dataserver", extend=_options)
    report = Report("dataserver")
    echo_limit(report)
    run(report, given.rows, given.fsync)
    many_ranges(report)
    report.finish(given.json)


if __name__ == "__main__":
    main()
