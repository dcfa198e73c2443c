"""A store of real processes that are killed: nothing acknowledged is lost, nothing half is ever seen."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.dataserver import transaction
from tailrace.dataserver.client import StoreClient
from tailrace.errors import Locked, TailraceError, UpstreamAway
from tailrace.testing.cluster import Store, start_store
from tailrace.upstream.base import Mark, log_batches
from tests.dataserver.stores import image, table

pytestmark = pytest.mark.faults


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with start_store(tmp_path / "store", options=["--no-fsync"]) as running:
        yield running


@pytest.fixture
def client(store: Store) -> StoreClient:
    made = store.client()
    made.create_schema("shop")
    return made


def two_ranges(client: StoreClient) -> tuple[TableSchema, list[Range]]:
    known = client.create_table(table(), ranges=2, handles=(0, 2000))
    return known, client.upstream.routes(known)


def await_resolved(client: StoreClient, ranges: list[Range], ts: int, seconds: float = 30.0) -> None:
    limit = time.monotonic() + seconds
    while min(f.resolved_ts for f in client.upstream.frontier([Mark(r, 0, ts) for r in ranges], 0.0)) < ts:
        assert time.monotonic() < limit, "a range is not resolved any further"
        time.sleep(0.05)


def logged(client: StoreClient, ranges: list[Range], upto: int) -> dict[int, set[int]]:
    """Ids by commit ts, as the logs have them."""
    found: dict[int, set[int]] = {}
    for known in ranges:
        for batch in log_batches(client.upstream, known, 0, 0, upto, 1 << 20):
            for ts, row in zip(batch.commit_ts.to_pylist(), batch.after.to_pylist(), strict=True):
                found.setdefault(ts, set()).add(row["id"])
    return found


class Writer(threading.Thread):
    """Writes pairs (n, n + 1000), one row in each range, and remembers what it was told."""

    def __init__(self, store: Store, known: TableSchema, number: int) -> None:
        super().__init__()
        self._client, self._table, self._number = store.client(), known, number
        self.acknowledged: dict[int, int] = {}
        self.unknown: set[int] = set()
        self.done = threading.Event()

    def run(self) -> None:
        at = self._number
        while not self.done.is_set() and at < 1000:
            try:
                txn = self._client.begin()
                txn.insert(self._table, image(self._table, [at, at + 1000]))
                self.acknowledged[at] = txn.commit()
            except Locked:
                self.unknown.discard(at)
            except TailraceError:
                self.unknown.add(at)
                time.sleep(0.05)
            at += 4


@pytest.mark.parametrize("victim", [0, 1])
def test_kills_at_any_moment_lose_nothing_and_show_nothing_half(store: Store, client: StoreClient, victim: int) -> None:
    known, ranges = two_ranges(client)
    for each in ranges:
        client.upstream.register(each, "test")
    writers = [Writer(store, known, number) for number in range(4)]
    for writer in writers:
        writer.start()
    dice = random.Random(victim)
    stamps = [client.now()]
    for _ in range(3):
        time.sleep(dice.uniform(0.1, 0.6))
        store.kill(victim)
        time.sleep(dice.uniform(0.0, 0.3))
        store.restart(victim)
        stamps.append(transaction.patiently(client.now))
    assert stamps == sorted(set(stamps))
    for writer in writers:
        writer.done.set()
        writer.join()
    upto = client.now()
    await_resolved(client, ranges, upto)
    found = logged(client, ranges, upto)
    rows = set(client.read(known, upto).column("id").to_pylist())
    assert sum(len(writer.acknowledged) for writer in writers) > 20
    for writer in writers:
        for at, commit_ts in writer.acknowledged.items():
            assert found[commit_ts] == {at, at + 1000}
    assert all(len(ids) == 2 and max(ids) - min(ids) == 1000 for ids in found.values())
    assert rows == {each for ids in found.values() for each in ids}


@pytest.mark.parametrize("committed", [False, True])
def test_a_client_that_dies_leaves_all_or_nothing(
    store: Store, client: StoreClient, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "TTL_S", 0.8)
    known, ranges = two_ranges(client)
    txn = client.begin()
    txn.insert(known, image(known, [1, 1001]))
    txn.inner.flush()
    commit_ts = 0
    if committed:
        primary = txn.inner._primary
        assert primary is not None
        commit_ts = txn.inner._take([(known.table_id, known.version)])
        txn.inner._finish(primary, commit_ts)
    txn.inner.abandon()
    await_resolved(client, ranges, client.now())
    assert logged(client, ranges, client.now() - 1) == ({commit_ts: {1, 1001}} if committed else {})
    assert client.read(known).num_rows == (2 if committed else 0)
    again = client.begin()
    again.insert(known, image(known, [2, 1002]))
    again.commit()


def test_a_transaction_whose_client_lives_is_not_ended_however_long_it_takes(
    store: Store, client: StoreClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "TTL_S", 0.8)
    known, _ = two_ranges(client)
    txn = client.begin()
    txn.insert(known, image(known, [1, 1001]))
    txn.inner.flush()
    time.sleep(2.5)
    txn.commit()
    assert client.read(known).num_rows == 2


def test_a_prewritten_transaction_survives_the_death_of_its_servers(store: Store, client: StoreClient) -> None:
    known, _ = two_ranges(client)
    txn = client.begin()
    txn.insert(known, image(known, [1, 1001]))
    txn.inner.flush()
    for number in (1, 0):
        store.kill(number)
    for number in (0, 1):
        store.restart(number)
    commit_ts = txn.commit()
    assert client.read(known, commit_ts).num_rows == 2
    assert client.read(known, commit_ts - 1).num_rows == 0


def test_a_lost_server_is_named_and_found_again(store: Store, client: StoreClient) -> None:
    known, ranges = two_ranges(client)
    away = next(each for each in ranges if each.leader == store.address(1))
    store.kill(1)
    with pytest.raises(UpstreamAway, match=store.address(1)):
        client.upstream.register(away, "s")
    store.restart(1)
    transaction.patiently(lambda: client.upstream.register(away, "s"))
    client.bulk_insert(known, image(known, range(5)))


def test_snapshots_go_on_at_their_version_after_a_restart(store: Store, client: StoreClient) -> None:
    known, ranges = two_ranges(client)
    client.bulk_insert(known, image(known, range(500)))
    away = next(each for each in ranges if each.leader == store.address(0))
    version = client.upstream.register(away, "s").ts
    first = client.upstream.pull_snapshot(away, version, b"", b"", 100)
    ids = [row["id"] for batch in first.batches for row in batch.after.to_pylist()]
    gone = client.begin()
    gone.delete(known, image(known, range(500)))
    gone.commit()
    store.kill(0)
    store.restart(0)
    rest = client.upstream.pull_snapshot(away, version, first.last_key, b"", 10_000)
    ids += [row["id"] for batch in rest.batches for row in batch.after.to_pylist()]
    assert ids == [each for each in range(500) if (each < 1000) == (away is ranges[0])]


def test_no_process_outlives_its_parent(tmp_path: Path) -> None:
    program = (
        "import sys, time, pathlib\n"
        "from tailrace.testing.cluster import Store\n"
        f"store = Store(pathlib.Path({str(tmp_path)!r}), options=['--no-fsync'])\n"
        "store.start()\n"
        "print(store.pid(0), store.pid(1), flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        children = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(children, timeout=20)
    assert len(children) == 2 and not alive
