"""A server that is only paused: another takes over, and what the first does after it wakes changes nothing.

SIGSTOP beyond the lease, then SIGCONT: of the driver alone, while its executors run on, and of all its processes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tailrace.server.requests import SubscribeRequest
from tailrace.testing.cluster import Store, start_store
from tailrace.testing.server_process import ServerProcess
from tailrace.testing.shop_traffic import ShopTraffic
from tests.faults.test_kill import CONFIG, assert_equal, caught_up, fill, wait

pytestmark = [pytest.mark.faults, pytest.mark.spark]

LEASE = 2.0


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with start_store(tmp_path_factory.mktemp("store"), servers=2, options=("--no-fsync",)) as store:
        yield store


def send(server: ServerProcess, number: signal.Signals, everything: bool) -> None:
    root = psutil.Process(server.pid)
    for process in [root, *(root.children(recursive=True) if everything else ())]:
        os.kill(process.pid, number)


@pytest.mark.parametrize("everything", [False, True], ids=["driver", "driver-and-workers"])
def test_a_server_that_was_paused_past_its_lease_changes_nothing_any_more(
    source: Store, tmp_path: Path, everything: bool
) -> None:
    client, schema = source.client(), f"pause_{everything}".lower()
    sizes = fill(client, schema)
    options = ("--meta", f"sqlite:///{tmp_path / 'meta.db'}", "--lease", str(LEASE), "--master", "local[2,4]")
    sink = f"file://{tmp_path}/copy?protocol=csv&flush-interval=2s"
    with ServerProcess(tmp_path / "one", "--name", "one", *options) as one:
        with one.client() as caller:
            caller.subscribe(SubscribeRequest(schema, source.uri, sink, CONFIG, (f"{schema}.*",)))
        with ShopTraffic(client, sizes, schema=schema):
            wait(one, schema, caught_up(1))
            with ServerProcess(tmp_path / "two", "--name", "two", *options) as two:
                time.sleep(1.0)
                with two.client() as caller:
                    before = caller.status(schema)[0].subscription
                paused, other = (one, two) if before.owner.startswith("one:") else (two, one)
                send(paused, signal.SIGSTOP, everything)
                wait(other, schema, lambda status: status.subscription.epoch > before.epoch)
                wait(other, schema, caught_up(client.now()))
                send(paused, signal.SIGCONT, everything)
                time.sleep(3 * LEASE)
                with other.client() as caller:
                    after = caller.status(schema)[0].subscription
                assert after.owner.partition(":")[0] != before.owner.partition(":")[0]
                end = client.now()
                wait(other, schema, caught_up(end))
                assert paused.alive and other.alive
                paused.stop()
                wait(other, schema, caught_up(client.now()))
                other.stop()
    assert_equal(client, schema, tmp_path / "copy", end)
