"""Two servers as processes on one meta database: when the one that carries a subscription dies, the other goes on."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tailrace.server.requests import SubscribeRequest
from tailrace.testing.server_process import ServerProcess
from tests.server.carriers import until

LEASE = 2.0


def is_ready(server: ServerProcess) -> bool:
    try:
        with urllib.request.urlopen(f"{server.http}/readyz", timeout=10):
            return True
    except urllib.error.HTTPError:
        return False


@pytest.mark.spark
@pytest.mark.faults
def test_a_killed_server_is_followed_by_another_and_a_stopped_one_at_once(tmp_path: Path) -> None:
    meta = f"sqlite:///{tmp_path / 'meta.db'}"
    options = ("--meta", meta, "--lease", str(LEASE), "--master", "local[1,4]", "--http", "127.0.0.1:0")
    one, two = ServerProcess(tmp_path / "one", *options), ServerProcess(tmp_path / "two", *options)
    with one, one.client() as client:
        client.subscribe(SubscribeRequest("orders", "memory://takeover", "blackhole://"))
        until(lambda: client.status("orders")[0].subscription.state == "normal", 60)
        first = client.status("orders")[0].subscription
        with two, two.client() as other:
            until(lambda: is_ready(two), 60)
            one.kill()
            killed = time.monotonic()
            until(lambda: other.status("orders")[0].subscription.epoch > first.epoch, 30)
            assert time.monotonic() - killed < 3 * LEASE
            second = other.status("orders")[0].subscription
            assert second.owner != first.owner
            until(lambda: other.status("orders")[0].subscription.checkpoint_ts > first.checkpoint_ts, 60)
            one.start()
            until(lambda: is_ready(one), 60)
            with one.client() as again:
                two.stop()
                until(lambda: again.status("orders")[0].subscription.epoch > second.epoch, LEASE)
