"""Probes: a server that works is alive, one that can carry is ready, and what it shows is Prometheus' format."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.errors import MetaVersion, UpstreamAway
from tailrace.observe.metrics import METER
from tailrace.progress.database import MetaDatabase
from tailrace.server import health
from tailrace.server.http_port import Answer
from tailrace.server.overview import Overview
from tailrace.server.requests import SubscribeRequest
from tailrace.server.service import Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions
from tests.observe.shown import samples
from tests.progress.ledgers import CLUSTER
from tests.server.carriers import IdleCarrier, until


@pytest.fixture
def service(meta: MetaDatabase) -> Iterator[Service]:
    made = Service(meta, ServiceOptions("one", CLUSTER, poll_seconds=0.02), IdleCarrier)
    made.start()
    yield made
    made.stop()


class Fresh:
    """A clock by which every look is a new one."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def ask(service: Service, meta: MetaDatabase, page: str) -> Answer:
    overview = Overview(meta, CLUSTER, monotonic=Fresh())
    try:
        return health.pages(service, overview)[page]()
    finally:
        overview.close()


def test_a_server_that_works_is_alive_and_ready(service: Service, meta: MetaDatabase) -> None:
    for page in ("/healthz", "/readyz"):
        assert ask(service, meta, page) == Answer(b"ok\n")


def test_one_that_is_asked_to_stop_is_alive_but_not_ready(service: Service, meta: MetaDatabase) -> None:
    service.ask_to_stop()
    assert ask(service, meta, "/healthz").status == 200
    assert ask(service, meta, "/readyz") == Answer(b"the server is stopping\n", 503)


def test_one_that_cannot_carry_yet_is_alive_but_not_ready(
    service: Service, meta: MetaDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "can_carry", property(lambda self: False))
    assert ask(service, meta, "/healthz").status == 200
    assert ask(service, meta, "/readyz") == Answer(b"Spark is not up yet\n", 503)


def test_without_its_database_it_is_alive_but_not_ready(service: Service, meta: MetaDatabase, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "meta.db") as other:
        other.execute("ALTER TABLE report RENAME TO gone")
    assert ask(service, meta, "/healthz").status == 200
    found = ask(service, meta, "/readyz")
    assert (found.status, found.body) == (503, b"TR-5102: the meta database does not answer\n")


def test_a_service_that_ended_is_dead(meta: MetaDatabase, tmp_path: Path, request_of_orders: SubscribeRequest) -> None:
    Subscriptions(meta, CLUSTER).subscribe(request_of_orders)
    service = Service(meta, ServiceOptions("one", CLUSTER, 0.3, poll_seconds=0.02), IdleCarrier)
    service.start()
    until(lambda: bool(service.held))
    with sqlite3.connect(tmp_path / "meta.db") as newer:
        newer.execute("UPDATE version SET version = 99")
    with pytest.raises(MetaVersion):
        service.wait(5)
    assert ask(service, meta, "/healthz") == Answer(b"the service has ended: MetaVersion\n", 503)
    service.stop()


def test_a_service_that_hangs_is_dead(service: Service, meta: MetaDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "HUNG_SECONDS", -1.0)
    found = ask(service, meta, "/healthz")
    assert (found.status, b"the last round of the service ended" in found.body) == (503, True)


def test_metrics_tell_what_happened(service: Service, meta: MetaDatabase, request_of_orders: SubscribeRequest) -> None:
    METER.keep(())
    METER.keep(())
    Subscriptions(meta, CLUSTER, service.wake).subscribe(request_of_orders)
    until(lambda: bool(service.held))
    service.on_state("orders", "warning", UpstreamAway("not now"))
    answer = ask(service, meta, "/metrics")
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    found = samples(answer.body)
    orders = ("subscription", "orders")
    assert found["tailrace_errors_total", (("code", "TR-3101"), orders)] == 1
    assert found["tailrace_claims_held", ()] == 1
    assert found["tailrace_delivered_lag_seconds", (orders,)] >= 0
    assert found["tailrace_events_total", (("event", "subscribed"),)] >= 1
