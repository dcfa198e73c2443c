"""kill -9 at every named point, restart, compare: equal tables, no row twice, none that goes back in time.

A point on a worker kills a Spark Python worker, which Spark replaces; a point on the driver kills the server, which is
started again on the same meta database. `TAILRACE_FAULTS=all` runs each point at several passes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailrace.change.tso import Ts
from tailrace.dataserver.client import StoreClient
from tailrace.errors import MetaAway
from tailrace.observe.failpoints import FAILPOINTS
from tailrace.server.requests import SubscribeRequest
from tailrace.server.subscriptions import Status
from tailrace.testing import shop
from tailrace.testing.cluster import Store, start_store
from tailrace.testing.compare import compare
from tailrace.testing.reader import read_local
from tailrace.testing.server_process import ServerProcess
from tailrace.testing.shop_traffic import ShopTraffic

pytestmark = [pytest.mark.faults, pytest.mark.spark]

ROWS = 2_000
WAIT_SECONDS = 90.0
CONFIG = '[sink]\nschema-dialect = "new"\n[sink.csv]\ninclude-commit-ts = true\n'
WORKER = ("snapshot-page", "log-page", "piece-before-write", "stage-file", "piece-closed")
# Points in a data server are passed in `tests/dataserver/test_leaders.py`.
STORE = ("succeed-before-commit", "succeed-after-commit", "adopt-before-commit")
DRIVER = tuple(name for name in FAILPOINTS if name not in (*WORKER, *STORE))
# The first pass is in the snapshot; a DDL comes once, and a cut of one folder has few moves.
PASSES = {"before-ddl": (1,), "after-ddl": (1,)}
SHORT = [(name, PASSES.get(name, (1, 3))[-1]) for name in (*WORKER, *DRIVER)]
LONG = [(name, turn) for name in (*WORKER, *DRIVER) for turn in PASSES.get(name, (1, 2, 3, 5))]
CASES = LONG if os.environ.get("TAILRACE_FAULTS") == "all" else SHORT


@dataclass(frozen=True)
class Shop:
    store: Store
    client: StoreClient


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with start_store(tmp_path_factory.mktemp("store"), servers=2, options=("--no-fsync",)) as store:
        yield store


def fill(client: StoreClient, schema: str) -> dict[str, int]:
    sizes = shop.sizes(ROWS)
    client.create_schema(schema)
    for name, definition in shop.tables(schema).items():
        # Passes are counted in each process: with more pages than the workers have turns, one of them has its third.
        table = client.create_table(definition, ranges=4, handles=(0, sizes[name]))
        client.bulk_insert(table, shop.image(table, sizes[name]))
    return sizes


def wait(server: ServerProcess, name: str, done: Callable[[Status], bool]) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while server.alive and time.monotonic() < end:
        try:
            with server.client() as client:
                [status] = client.status(name)
        except MetaAway:
            continue  # killed while it was asked: the loop's condition sees it
        if status.subscription.state == "failed" and status.subscription.error is not None:
            raise status.subscription.error
        if done(status):
            return
        time.sleep(0.2)
    assert not server.alive, f"{name} did not come so far in {WAIT_SECONDS:.0f} s: {server.last_words()}"


def caught_up(ts: Ts) -> Callable[[Status], bool]:
    return lambda status: status.subscription.checkpoint_ts >= ts


@pytest.mark.parametrize(("point", "turn"), CASES)
def test_a_kill_at_any_point_loses_nothing_and_doubles_nothing(
    source: Store, tmp_path: Path, point: str, turn: int
) -> None:
    client, schema = source.client(), f"shop_{point}_{turn}".replace("-", "_")
    sizes = fill(client, schema)
    killed = tmp_path / "killed"
    killed.mkdir()
    env = {"TAILRACE_FAILPOINT": f"{point}=kill@{turn}", "TAILRACE_FAILPOINT_DIR": str(killed)}
    sink = f"file://{tmp_path}/copy?protocol=csv&flush-interval=2s"
    request = SubscribeRequest(schema, source.uri, sink, CONFIG, (f"{schema}.*",))
    with ServerProcess(tmp_path / "server", "--lease", "2", env=env) as server:
        with server.client() as caller:
            caller.subscribe(request)
        with ShopTraffic(client, sizes, schema=schema) as traffic:
            wait(server, schema, caught_up(1))
            traffic.add_column("customers", "nickname", "varchar(30)")
            wait(server, schema, lambda _: any(killed.iterdir()))
            wait(server, schema, caught_up(client.now()))
        if not server.alive:
            server.start(env={})
        end = client.now()
        wait(server, schema, caught_up(end))
        assert server.alive
    assert_equal(client, schema, tmp_path / "copy", end)


def assert_equal(client: StoreClient, schema: str, folder: Path, at: Ts) -> None:
    copy = read_local(folder)
    assert copy.fallbacks == ()
    assert copy.gaps == ()
    for name in shop.sizes(ROWS):
        full = f"{schema}.{name}"
        result = compare(copy.tables[full], client.read(client.table(schema, name), at), copy.keys[full])
        assert result.equal, f"{full}: {result}"
