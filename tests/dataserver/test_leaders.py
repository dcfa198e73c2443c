"""Leaders that die or stop: their ranges are taken over, and nothing that was acknowledged is lost or shown twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.steering import Steering, key_bytes
from tailrace.dataserver.transaction import patiently
from tailrace.errors import NotFound, TailraceError, UpstreamAway
from tailrace.observe import failpoints
from tailrace.testing.cluster import Store, start_store
from tailrace.upstream.base import Mark
from tests.dataserver.stores import image, table
from tests.dataserver.test_faults import Writer, await_resolved, logged

pytestmark = pytest.mark.faults


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with start_store(tmp_path / "store", servers=3, options=["--no-fsync"]) as running:
        yield running


@pytest.fixture
def client(store: Store) -> StoreClient:
    made = store.client()
    made.create_schema("shop")
    return made


@pytest.fixture
def steering(store: Store, client: StoreClient) -> Iterator[Steering]:
    made = Steering(client, store.address(0))
    yield made
    made.close()


def placed(store: Store, client: StoreClient, steering: Steering) -> tuple[TableSchema, Range]:
    """A table of one range that server 1 leads."""
    known = client.create_table(table())
    (only,) = client.upstream.routes(known)
    (moved,) = steering.move(only.id, steering.server(store.address(1)))
    return known, moved


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_a_leader_that_is_gone_is_replaced_by_force(
    store: Store, client: StoreClient, steering: Steering, how: str
) -> None:
    known, led = placed(store, client, steering)
    writers = [Writer(store, known, number) for number in range(4)]
    for writer in writers:
        writer.start()
    time.sleep(0.4)
    (store.kill if how == "killed" else store.pause)(1)
    target = steering.server(store.address(2))
    with pytest.raises(UpstreamAway, match="--force"):
        steering.move(led.id, target)
    (moved,) = steering.move(led.id, target, force=True)
    assert moved.leader == store.address(2)
    time.sleep(0.4)
    if how == "stopped":
        store.resume(1)
        with pytest.raises(TailraceError):
            client.upstream.frontier([Mark(led, 0, 0)], 0.0)
    time.sleep(0.4)
    for writer in writers:
        writer.done.set()
    for writer in writers:
        writer.join()
    if how == "stopped":
        limit = time.monotonic() + 10
        while "taken over" not in store.log(1):
            assert time.monotonic() < limit, "a server that was shut out goes on"
            time.sleep(0.1)
        store.kill(1)
    store.restart(1)
    with pytest.raises(TailraceError):
        patiently(lambda: client.upstream.frontier([Mark(led, 0, 0)], 0.0))
    upto = client.now()
    await_resolved(client, [moved], upto)
    found = logged(client, [moved], upto)
    assert sum(len(writer.acknowledged) for writer in writers) > 20
    for writer in writers:
        for at, commit_ts in writer.acknowledged.items():
            assert found[commit_ts] == {at, at + 1000}
    assert all(len(ids) == 2 for ids in found.values())
    assert set(client.read(known, upto).column("id").to_pylist()) == {each for ids in found.values() for each in ids}
    steering.move(moved.id, steering.server(store.address(1)))
    client.bulk_insert(known, image(known, range(5000, 5010)))


@pytest.mark.parametrize("point", ["succeed-before-commit", "succeed-after-commit"])
def test_a_server_that_dies_in_a_split_has_split_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.setenv(failpoints.VARIABLE, f"{point}=kill")
    monkeypatch.setenv(failpoints.FOLDER, str(tmp_path))
    with start_store(tmp_path / "store", options=["--no-fsync"]) as store:
        client = store.client()
        client.create_schema("shop")
        steering = Steering(client, store.address(0))
        known, _led = placed(store, client, steering)
        client.bulk_insert(known, image(known, range(100)))
        txn = client.begin()
        txn.insert(known, image(known, [1000, 2000]))
        txn.inner.flush()
        with pytest.raises(UpstreamAway):
            steering.split(known, key_bytes(known, "1500"))
        store.kill(1)
        store.restart(1)
        if point == "succeed-after-commit":
            limit = time.monotonic() + 20
            while len(client.upstream.routes(known)) < 2:
                assert time.monotonic() < limit, "the master never heard of the split"
                time.sleep(0.1)
        ts = txn.commit()
        routes = client.upstream.routes(known)
        assert len(routes) == (2 if point == "succeed-after-commit" else 1)
        await_resolved(client, routes, ts)
        everything = [*routes, *client.upstream.closed_routes(known, 1)]
        assert sorted(len(ids) for ids in logged(client, everything, ts).values()) == [2, 100]
        assert client.read(known, ts).num_rows == 102
        steering.close()


def test_a_move_to_a_server_that_is_away_leaves_the_leader_as_it_was(
    store: Store, client: StoreClient, steering: Steering
) -> None:
    known, led = placed(store, client, steering)
    client.bulk_insert(known, image(known, range(100)))
    store.kill(2)
    with pytest.raises(UpstreamAway):
        steering.move(led.id, steering.server(store.address(2)))
    assert client.read(known).num_rows == 100
    client.bulk_insert(known, image(known, range(100, 110)))
    store.restart(2)
    (moved,) = steering.move(led.id, steering.server(store.address(2)))
    assert client.read(known).num_rows == 110
    with pytest.raises(NotFound):
        steering.merge(moved.id, 12345)
