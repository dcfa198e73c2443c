"""A subscription of real data servers whose ranges change and whose processes die: every row once, in order, all."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailrace.change.batch import UPDATE
from tailrace.change.schema import TableSchema
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.steering import Steering, key_bytes
from tailrace.errors import TailraceError
from tailrace.pipeline import delivery
from tailrace.testing.cluster import Store, start_store
from tests.dataserver.stores import image, table
from tests.pipeline.conftest import Rig, rig

__all__ = ["rig"]
pytestmark = pytest.mark.faults

ROWS = 3000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with start_store(tmp_path / "store", servers=3, options=["--no-fsync", "--version-seconds", "2"]) as running:
        yield running


@contextmanager
def traffic(client: StoreClient, known: TableSchema) -> Iterator[list[BaseException]]:
    """Transactions over all of the table, until the end of the block."""
    done, failed, dice = threading.Event(), list[BaseException](), random.Random(1)

    def work() -> None:
        value = 0
        while not done.wait(0.01):
            value += 1
            try:
                txn = client.begin()
                txn.update(known, image(known, sorted(dice.sample(range(ROWS), 5)), f"{value}-"))
                txn.commit()
            except TailraceError:
                client.forget()
            except BaseException as error:
                failed.append(error)
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield failed
    finally:
        done.set()
        thread.join()


def patiently(act: Callable[[], object], seconds: float = 40.0) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            act()
            return
        except TailraceError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def check(rig: Rig, client: StoreClient, known: TableSchema, at: int) -> None:
    rows = [row for final in sorted(rig.target.visible) for row in rig.target.visible[final]]
    times = [ts for _, _, ts, _, _ in rows]
    assert times == sorted(times), "the table went back in time"
    keys = [((after or before)["id"], ts) for _, _, ts, before, after in rows]
    assert len(keys) == len(set(keys)), "a row came twice"
    held: dict[int, object] = {}
    for _, op, ts, before, after in rows:
        if op == UPDATE and ts <= at:
            assert held[after["id"]] == before, "a change between two others is missing"
        if after is not None and ts <= at:
            held[after["id"]] = after
    assert held == {row["id"]: row for row in client.read(known, at).to_pylist()}


def change(store: Store, client: StoreClient, steering: Steering, known: TableSchema, dice: random.Random) -> None:
    routes = client.upstream.routes(known)
    act = dice.randrange(5)
    if act == 0 or len(routes) < 2:
        handle = dice.randrange(1, ROWS)
        if all(key_bytes(known, str(handle)) != route.start for route in routes):
            steering.split(known, key_bytes(known, str(handle)))
    elif act == 1:
        at = dice.randrange(len(routes) - 1)
        steering.merge(routes[at].id, routes[at + 1].id)
    else:
        steering.move(dice.choice(routes).id, dice.choice(sorted(steering.servers())))


@pytest.mark.parametrize("seed", [2, 12])
def test_nothing_is_lost_while_ranges_change(
    store: Store, rig: Rig, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(delivery, "SNAPSHOT_ROWS", 60)
    client, dice = store.client(), random.Random(seed)
    client.create_schema("shop")
    known = client.create_table(table())
    client.bulk_insert(known, image(known, range(ROWS)))
    steering, rig.upstream = Steering(client, store.address(0)), store.uri
    with traffic(store.client(), known) as failed:
        rig.start()
        for step in range(24):
            patiently(lambda: change(store, client, steering, known, dice))
            if step % 8 == 3:
                victim = dice.choice([1, 2])
                store.kill(victim)
                time.sleep(0.3)
                store.restart(victim)
            if step % 8 == 6:
                victim = dice.choice([1, 2])
                store.pause(victim)
                time.sleep(1.0)
                store.resume(victim)
            time.sleep(dice.uniform(0.05, 0.3))
    assert not failed
    last = client.now()
    rig.until(lambda: rig.target.checkpoint >= last, 90)
    rig.stop()
    check(rig, client, known, rig.target.checkpoint)
    steering.close()


def test_a_subscription_goes_on_after_its_leader_died_for_good(store: Store, rig: Rig) -> None:
    client = store.client()
    client.create_schema("shop")
    known = client.create_table(table(), ranges=3, handles=(0, ROWS))
    client.bulk_insert(known, image(known, range(ROWS)))
    steering, rig.upstream = Steering(client, store.address(0)), store.uri
    for each in client.upstream.routes(known):
        steering.move(each.id, steering.server(store.address(1)))
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0, 30)
    with traffic(store.client(), known) as failed:
        time.sleep(0.5)
        store.kill(1)
        for each in client.upstream.routes(known):
            steering.move(each.id, steering.server(store.address(2)), force=True)
        time.sleep(1.0)
    assert not failed
    last = client.now()
    rig.until(lambda: rig.target.checkpoint >= last, 60)
    rig.stop()
    check(rig, client, known, rig.target.checkpoint)
    steering.close()
