"""`scripts/bench takeover`: kill -9 of one of two servers; how soon its subscriptions are back.

Two server processes, everything at its default but flush-interval 2s, share subscriptions into folders; each table
gets a row a second. `takeover.back_s` is how long after the kill the lag of each subscription that the dead server
carried is below 5 s again, and stays so.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.lag import metadata_checkpoint
from bench.pipeline import sink_uri
from bench.report import Report, arguments
from bench.tables import narrow_table
from tailrace.change.tso import physical_ms
from tailrace.dataserver.client import StoreClient
from tailrace.server.grpc.client import Client
from tailrace.server.requests import SubscribeRequest
from tailrace.testing.cluster import start_store
from tailrace.testing.images import random_image
from tailrace.testing.server_process import ServerProcess

SMALL_LAG = 5.0
START_SECONDS = 90.0


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments("takeover", argv, _extend)
    report = Report("takeover")
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-takeover-") as folder:
        place = Path(folder)
        meta = ("--meta", f"sqlite:///{place / 'meta.db'}")
        with (
            start_store(place / "store") as store,
            ServerProcess(place / "one", "--name", "one", *meta) as one,
            ServerProcess(place / "two", "--name", "two", *meta) as two,
            one.client() as client,
        ):
            source = store.client()
            names = _subscribe(source, client, store.uri, place, args.subscriptions)
            _until_shared(client, names)
            done = threading.Event()
            writer = threading.Thread(target=_write, args=(source, names, done), daemon=True)
            writer.start()
            time.sleep(args.before)
            taken = [each.subscription.name for each in client.status() if each.subscription.owner.startswith("two:")]
            two.kill()
            killed = time.time()
            lags = _watch({name: place / name for name in taken}, args.after)
            done.set()
            writer.join()
    report.add("takeover.subscriptions_of_the_dead", len(taken))
    late = np.array([at for at, lag in lags if lag >= SMALL_LAG])
    report.add("takeover.back_s", float(late.max() - killed) if len(late) else 0.0)
    report.add("takeover.largest_lag_s", max(lag for _, lag in lags))
    report.add("takeover.lag_at_the_end_s", lags[-1][1])
    report.finish(args.json)


def _extend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subscriptions", type=int, default=20)
    parser.add_argument("--before", type=float, default=15.0, help="seconds before the kill (default: 15)")
    parser.add_argument("--after", type=float, default=30.0, help="seconds after it (default: 30)")


def _subscribe(source: StoreClient, client: Client, uri: str, place: Path, number: int) -> list[str]:
    source.create_schema("takeover")
    names = [f"t{at:03}" for at in range(number)]
    for name in names:
        source.create_table(replace(narrow_table(), schema="takeover", name=name))
        client.subscribe(SubscribeRequest(name, uri, sink_uri(place / name), rules=(f"takeover.{name}",), start="now"))
    return names


def _until_shared(client: Client, names: list[str]) -> None:
    """Until both servers carry their half and everything is delivered."""
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit:
        known = client.status()
        owners = [each.subscription.owner.partition(":")[0] for each in known]
        if all(each.subscription.checkpoint_ts for each in known) and owners.count("two") == len(names) // 2:
            return
        time.sleep(0.2)
    raise TimeoutError(f"the servers do not share after {START_SECONDS:.0f} s: {owners}")


def _write(source: StoreClient, names: list[str], done: threading.Event) -> None:
    """A row a second into each table."""
    tables = [source.table("takeover", name) for name in names]
    begun, second = time.monotonic(), 0
    while not done.is_set():
        row = random_image(tables[0], 1, np.random.default_rng(second), first=second + 1)
        for at, table in enumerate(tables):
            done.wait(max(0.0, begun + second + at / len(tables) - time.monotonic()))
            source.bulk_insert(table, row)
        second += 1


def _watch(folders: dict[str, Path], seconds: float) -> list[tuple[float, float]]:
    """(moment, the largest lag of all): how old the checkpoint of each folder is, seen ten times a second."""
    looks, found = [metadata_checkpoint(folder) for folder in folders.values()], []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        moment = time.time()
        found.append((moment, max(moment - physical_ms(look()) / 1000 for look in looks)))
        time.sleep(0.1)
    return found


if __name__ == "__main__":
    main()
