"""`scripts/bench many`: many subscriptions on one server, of which a few misbehave; idle ones; a long list.

healthy    half of the subscriptions write into folders (flush-interval 2s), half into the blackhole; each table gets a
           row a second. From second 30 on two sinks hang (one on the workers, one on the driver) and two fail. Figures
           are the lags of all others over seconds 30 to 120, and `many.healthy.p99_lag_margin`: the lesser of 3 s by
           the blackhole's p99 and 5 s by the folders'.
idle       what 1,000 idle subscriptions cost, in percent of a core, over the server and the data servers
listing    how long it takes to list 5,000, over gRPC
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

import numpy as np
import psutil
from numpy.typing import NDArray
from sqlalchemy import update

from bench.lag import metadata_checkpoint
from bench.pipeline import sink_uri
from bench.report import Report, arguments
from bench.rig import Rig, rig
from bench.tables import narrow_table
from tailrace.change.tso import LOGICAL_BITS, Ts
from tailrace.dataserver.client import StoreClient
from tailrace.pipeline.assignment import Report as CarrierReport
from tailrace.progress.database import open_meta
from tailrace.progress.tables import subscription
from tailrace.server.grpc.client import Client
from tailrace.server.grpc.servicer import Servicer, serve
from tailrace.server.records import Records, Subscription
from tailrace.server.reports import Reports
from tailrace.server.subscriptions import Subscriptions
from tailrace.testing.bad_sink import bad_uri, make_known
from tailrace.testing.cluster import start_store
from tailrace.testing.images import random_image

BLACKHOLE_LIMIT, FOLDER_LIMIT = 3.0, 5.0
BAD = (("write", "hang"), ("commit", "hang"), ("write", "away"), ("commit", "refuse"))
SETTLE_SECONDS = 45.0


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments("many", argv, _extend)
    if args.write:
        _write(args.write, args.tables, args.seconds)
        return
    report = Report("many")
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-many-", ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        make_known(place / "known")
        if "listing" in args.only:
            _listing(report, place, 5000)
        if {"healthy", "idle"} & set(args.only):
            with start_store(place / "store") as store, rig(place, store.uri) as server:
                client = store.client()
                client.create_schema("many")
                for at in range(args.tables):
                    client.create_table(replace(narrow_table(), schema="many", name=f"t{at:04}"))
                if "idle" in args.only:
                    _idle(report, server, args.tables, 1000)
                if "healthy" in args.only:
                    _healthy(report, server, store.uri, place, args)
    report.finish(args.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts (default: all)")
    parser.add_argument("--subscriptions", type=int, default=200)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long the writers write (default: 120)")
    parser.add_argument("--bad-from", type=float, default=30.0, help="the second at which sinks go bad (default: 30)")
    parser.add_argument("--write", metavar="URI", default="", help=argparse.SUPPRESS)


PARTS = ("healthy", "idle", "listing")


class Probe:
    """Looks at all checkpoints in turn, on one thread; `lags` as `bench.lag` defines them."""

    def __init__(self, looks: dict[str, Callable[[], Ts]], every_seconds: float = 0.1) -> None:
        self._looks = looks
        self._every = every_seconds
        self._seen: dict[str, list[tuple[float, Ts]]] = {name: [] for name in looks}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="probe", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        self._thread.join()

    def lags(self, name: str, commits: Sequence[Ts]) -> NDArray[np.float64]:
        """Of each commit; one that is not seen yet has waited until now."""
        wanted = np.array(commits, np.int64)
        times = np.array([*(at for at, _ in self._seen[name]), time.time()])
        shown = np.array([ts for _, ts in self._seen[name]], np.int64)
        lags: NDArray[np.float64] = times[np.searchsorted(shown, wanted)] - (wanted >> LOGICAL_BITS) / 1000.0
        return lags

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            for name, look in self._looks.items():
                ts = look()
                if not self._seen[name] or ts > self._seen[name][-1][1]:
                    self._seen[name].append((time.time(), ts))


def _healthy(report: Report, server: Rig, uri: str, place: Path, args: argparse.Namespace) -> None:
    folders, looks = _subscribe(server, place, args.subscriptions, args.tables)
    begun = time.monotonic()
    for name in looks:
        server.wait(name, 1)
    report.add("many.healthy.first_seconds", time.monotonic() - begun)
    print(f"all {args.subscriptions} are carried; writing for {args.seconds:.0f} s", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "bench.many", "--write", uri]
    command += ["--tables", str(args.tables), "--seconds", str(args.seconds)]
    with Probe(looks) as probe, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        start = float(writer.stdout.readline())
        threading.Timer(start + args.bad_from - time.time(), _go_bad, (place,)).start()
        commits: list[tuple[int, Ts]] = []
        for line in writer.stdout:
            table, ts = line.split()
            commits.append((int(table), int(ts)))
        _settle(looks, commits)
    late = [(table, ts) for table, ts in commits if (ts >> LOGICAL_BITS) / 1000 >= start + args.bad_from]
    report.add("many.healthy.commits", len(late))
    of_kind = {"blackhole": [name for name in looks if name not in folders], "folders": folders}
    p99 = {kind: _lags(report, kind, probe, names, late, args.tables) for kind, names in of_kind.items()}
    margin = min(BLACKHOLE_LIMIT / p99["blackhole"], FOLDER_LIMIT / p99["folders"])
    report.add("many.healthy.p99_lag_margin", margin)
    # To stop a server with sinks that hang takes a while: who is impatient has the figures already.
    print(report.table(), file=sys.stderr, flush=True)
    for at in range(len(BAD)):
        (place / f"order-{at}").unlink(missing_ok=True)
    for at in range(args.subscriptions):
        server.cancel(f"many-{at:04}")


def _subscribe(server: Rig, place: Path, number: int, tables: int) -> tuple[list[str], dict[str, Callable[[], Ts]]]:
    """All subscriptions; returns the healthy ones that write into folders, and how to look at each healthy one."""
    folders: list[str] = []
    looks: dict[str, Callable[[], Ts]] = {}
    for at in range(number):
        name = f"many-{at:04}"
        to_folder, rule = at % 2 == 0, f"many.t{at // 2 % tables:04}"
        sink = sink_uri(place / name) if to_folder else "blackhole://"
        if at < len(BAD):
            sink = bad_uri(sink, place / f"order-{at}")
        elif to_folder:
            folders.append(name)
            looks[name] = metadata_checkpoint(place / name)
        else:
            looks[name] = _carried(server, name)
        server.subscribe(name, sink, (rule,), "now")
    return folders, looks


def _carried(server: Rig, name: str) -> Callable[[], Ts]:
    return lambda: server.tally(name).report.to_ts


def _go_bad(place: Path) -> None:
    for at, (where, how) in enumerate(BAD):
        (place / f"order-{at}").write_text(f"{where} {how}")


def _settle(looks: dict[str, Callable[[], Ts]], commits: list[tuple[int, Ts]]) -> None:
    last, limit = max(ts for _, ts in commits), time.monotonic() + SETTLE_SECONDS
    while any(look() < last for look in looks.values()) and time.monotonic() < limit:
        time.sleep(0.2)
    time.sleep(0.5)


def _lags(
    report: Report, kind: str, probe: Probe, names: list[str], commits: list[tuple[int, Ts]], tables: int
) -> float:
    of_table: dict[int, list[Ts]] = {}
    for table, ts in commits:
        of_table.setdefault(table, []).append(ts)
    lags = np.concatenate([probe.lags(name, of_table[int(name[5:]) // 2 % tables]) for name in names])
    for key, value in (("p50", 50), ("p90", 90), ("p99", 99), ("max", 100)):
        report.add(f"many.healthy.{kind}.lag.{key}_s", float(np.percentile(lags, value)))
    return float(np.percentile(lags, 99))


def _write(uri: str, tables: int, seconds: float) -> None:
    """The writer, a process of its own: a row into each table each second; prints its start, then each commit."""
    client = StoreClient(uri)
    known = [client.table("many", f"t{at:04}") for at in range(tables)]
    rows = [random_image(known[0], 1, np.random.default_rng(at), first=at + 1) for at in range(int(seconds))]
    print(time.time(), flush=True)
    begun = time.monotonic()
    for second, row in enumerate(rows):
        for at, table in enumerate(known):
            time.sleep(max(0.0, begun + second + at / tables - time.monotonic()))
            print(at, client.bulk_insert(table, row), flush=True)
    client.close()


def _idle(report: Report, server: Rig, tables: int, number: int, seconds: float = 40.0) -> None:
    """The processor time of this process and of everything that it started, with and without idle subscriptions."""
    report.add("many.idle.none.percent_of_core", _percent_of_core(seconds / 2))
    begun = time.monotonic()
    names = [f"idle-{at:04}" for at in range(number)]
    for at, name in enumerate(names):
        server.subscribe(name, "blackhole://", (f"many.t{at % tables:04}",), "now")
    report.add("many.idle.subscribe_s", time.monotonic() - begun)
    for name in names:
        server.wait(name, 1)
    report.add("many.idle.all_carried_s", time.monotonic() - begun)
    time.sleep(10.0)
    report.add(f"many.idle.{number}.percent_of_core", _percent_of_core(seconds))
    for name in names:
        server.cancel(name)
    time.sleep(10.0)


def _percent_of_core(seconds: float) -> float:
    root = psutil.Process()
    processes = [root, *root.children(recursive=True)]
    before = {process.pid: sum(process.cpu_times()[:2]) for process in processes}
    time.sleep(seconds)
    spent = {process.pid: sum(process.cpu_times()[:2]) - before[process.pid] for process in processes}
    for process in processes:
        print(f"  {spent[process.pid] / seconds:7.2%}  {' '.join(process.cmdline())[:100]}", file=sys.stderr)
    return sum(spent.values()) / seconds * 100


def _listing(report: Report, place: Path, number: int) -> None:
    meta = open_meta(f"sqlite:///{place}/listing.db")
    records, table = Records(meta, 1), narrow_table()
    made = Subscription("", "dataserver://127.0.0.1:1", "file:///tmp/x?protocol=csv", "", ("a.b",), False, "now", 9, "")
    for at in range(number):
        records.add(replace(made, name=f"listed-{at:05}"), [table])
    report_of = CarrierReport(rows=1, to_ts=1, lag_seconds=0.1)
    with meta.writing() as connection:
        connection.execute(update(subscription).values(epoch=1))
    Reports(meta, 1).save({(f"listed-{at:05}", 1): report_of for at in range(number)})
    answering, port = serve(Servicer(Subscriptions(meta, 1), 1), "127.0.0.1:0")
    with Client(f"127.0.0.1:{port}") as client:
        client.status("listed-00000")
        begun = time.perf_counter()
        assert len(client.status()) == number
        report.add(f"many.listing.{number}.seconds", time.perf_counter() - begun)
    answering.stop(None)
    meta.close()


if __name__ == "__main__":
    main()
