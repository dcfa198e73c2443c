"""A server as a process: what it carries is seen on its HTTP port."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

from tailrace.server.requests import SubscribeRequest
from tailrace.testing.server_process import ServerProcess
from tests.observe.shown import samples
from tests.server.carriers import until


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: bytes = answer.read()
    return found


@pytest.mark.spark
def test_metrics_and_probes_of_a_server_that_carries(tmp_path: Path) -> None:
    options = ("--http", "127.0.0.1:0", "--master", "local[1,4]", "--log-format", "text")
    with ServerProcess(tmp_path, *options) as server, server.client() as client:
        url = server.http
        assert get(f"{url}/healthz") == b"ok\n"
        client.subscribe(SubscribeRequest("orders", "memory://served", "blackhole://u:hunter2@h/"))
        orders = (("subscription", "orders"),)
        normal = ("tailrace_subscription_state", (("state", "normal"), *orders))
        until(lambda: normal in samples(get(f"{url}/metrics")), 60)
        assert get(f"{url}/readyz") == b"ok\n"
        found = samples(get(f"{url}/metrics"))
        assert ("tailrace_delivered_lag_seconds", orders) in found
        assert found["tailrace_claims_held", ()] == 1
        assert b"hunter2" not in get(f"{url}/metrics")
