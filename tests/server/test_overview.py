"""The lag of a subscription is known in every state, and nothing that a server cannot see now is hidden."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import pytest
from sqlalchemy import insert, update

from tailrace import __version__
from tailrace.change.tso import compose
from tailrace.observe.metrics import Meter, Reading
from tailrace.pipeline.assignment import Report
from tailrace.progress import tables
from tailrace.progress.database import MetaDatabase
from tailrace.server import overview as overview_module
from tailrace.server.overview import FRESH_SECONDS, Overview, service_readings
from tailrace.server.records import State
from tailrace.server.requests import SubscribeRequest
from tailrace.server.service import Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions
from tests.progress.ledgers import CLUSTER, add_subscription
from tests.server.carriers import IdleCarrier, until

NOW = 1_700_000_000.0


class Clocks:
    """The time of day, and how much of it went by; a look is always a fresh one."""

    def __init__(self) -> None:
        self.now = NOW
        self.spent = 0.0

    def monotonic(self) -> float:
        self.spent += FRESH_SECONDS
        return self.spent


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def overview(meta: MetaDatabase, clocks: Clocks) -> Iterator[Overview]:
    made = Overview(meta, CLUSTER, Meter(), lambda: clocks.now, clocks.monotonic)
    yield made
    made.close()


def seen(readings: Iterator[Reading]) -> dict[tuple[str, ...], float]:
    return {(each.metric.name.removeprefix("tailrace_"), *each.labels): each.value for each in readings}


def stand(
    meta: MetaDatabase, state: str, *, start: str = "snapshot", to_ts: int = 0, report: Report | None = None
) -> None:
    """A subscription `s`, made 100 s ago, in a state."""
    add_subscription(meta, "s")
    key = {"cluster_id": CLUSTER, "subscribe_name": "s"}
    with meta.writing() as connection:
        fields = {"state": state, "start": start, "created": int((NOW - 100) * 1000)}
        connection.execute(update(tables.subscription).values(fields))
        if to_ts:
            connection.execute(insert(tables.checkpoint).values(key | {"cut": 3, "to_ts": to_ts}))
        said = json.dumps(asdict(report)) if report else ""
        connection.execute(insert(tables.report).values(key | {"made": 0, "report": said}))


def ago(seconds: float) -> int:
    return compose(int((NOW - seconds) * 1000))


@pytest.mark.parametrize("state", sorted({*get_args(get_args(State)[0]), "new", "cancelling", "paused"} - {"finished"}))
def test_lag_is_there_in_every_state_and_grows_while_nothing_happens(
    meta: MetaDatabase, overview: Overview, clocks: Clocks, state: str
) -> None:
    stand(meta, state, to_ts=ago(20), report=Report(to_ts=ago(20), resolved_ts=ago(5)))
    first = seen(overview.readings())
    assert first["captured_lag_seconds", "s"] == pytest.approx(5)
    assert first["delivered_lag_seconds", "s"] == pytest.approx(20)
    assert first["subscription_state", "s", state] == 1
    clocks.now += 60
    later = seen(overview.readings())
    assert (later["captured_lag_seconds", "s"], later["delivered_lag_seconds", "s"]) == pytest.approx((65, 80))


@pytest.mark.parametrize(("start", "lag"), [("snapshot", 100), (str(ago(40)), 40)])
def test_before_the_first_delivery_it_is_as_old_as_what_was_asked_for(
    meta: MetaDatabase, overview: Overview, start: str, lag: float
) -> None:
    stand(meta, "new", start=start)
    found = seen(overview.readings())
    assert (found["captured_lag_seconds", "s"], found["delivered_lag_seconds", "s"]) == pytest.approx((lag, lag))


def test_progress_that_only_time_has_made_counts_before_it_is_saved(meta: MetaDatabase, overview: Overview) -> None:
    stand(meta, "normal", to_ts=ago(30), report=Report(to_ts=ago(2), resolved_ts=ago(1)))
    assert seen(overview.readings())["delivered_lag_seconds", "s"] == pytest.approx(2)


def test_in_the_snapshot_what_is_left_is_shown(meta: MetaDatabase, overview: Overview) -> None:
    stand(meta, "snapshot", report=Report(ranges=5, snapshot_ranges_left=3))
    assert seen(overview.readings())["snapshot_ranges_left", "s"] == 3


def test_one_that_has_finished_misses_nothing(meta: MetaDatabase, overview: Overview) -> None:
    stand(meta, "finished", to_ts=ago(5000))
    found = seen(overview.readings())
    assert (found["delivered_lag_seconds", "s"], found["subscription_orphaned", "s"]) == (0, 0)


def test_one_that_was_cancelled_is_gone(meta: MetaDatabase, overview: Overview) -> None:
    stand(meta, "cancelled")
    assert set(seen(overview.readings())) == {("build_info", __version__), ("meta_up",)}


def test_an_orphan_is_one_that_should_be_carried_and_is_not(meta: MetaDatabase, overview: Overview) -> None:
    stand(meta, "normal")
    assert seen(overview.readings())["subscription_orphaned", "s"] == 1
    with meta.writing() as connection:
        lease = {"owner": "one", "lease_until": int(time.time() * 1000) + 60_000}
        connection.execute(update(tables.subscription).values(lease))
    assert seen(overview.readings())["subscription_orphaned", "s"] == 0
    with meta.writing() as connection:
        connection.execute(update(tables.subscription).values(lease_until=1))
    assert seen(overview.readings())["subscription_orphaned", "s"] == 1
    with meta.writing() as connection:
        connection.execute(update(tables.subscription).values(state="failed", owner=""))
    assert seen(overview.readings())["subscription_orphaned", "s"] == 0


def test_while_the_database_is_away_the_last_answer_stands(
    meta: MetaDatabase, overview: Overview, clocks: Clocks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand(meta, "normal", to_ts=ago(1))
    assert seen(overview.readings())["meta_up",] == 1
    monkeypatch.setattr(overview_module, "PATIENCE_SECONDS", 0.05)
    waiting = _blocked(overview, monkeypatch)
    clocks.now += 30
    began = time.monotonic()
    found = seen(overview.readings())
    assert time.monotonic() - began < 1.0
    assert found["meta_up",] == 0
    assert found["delivered_lag_seconds", "s"] == pytest.approx(31)
    assert overview.trouble() is not None
    waiting.set()
    until(lambda: overview.trouble() is None)


def _blocked(overview: Overview, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The next question hangs until the event is set, as with a database that accepts and does not answer."""
    let, ask = threading.Event(), overview._ask

    def hang() -> list[overview_module.Standing]:
        assert let.wait(10)
        return ask()

    monkeypatch.setattr(overview, "_ask", hang)
    return let


def test_a_database_that_refuses_is_said(meta: MetaDatabase, overview: Overview, tmp_path: Path) -> None:
    stand(meta, "normal", to_ts=ago(1))
    overview.trouble()
    with sqlite3.connect(tmp_path / "meta.db") as other:
        other.execute("ALTER TABLE report RENAME TO gone")
    trouble = overview.trouble()
    assert trouble is not None and trouble.code == "TR-5102"
    assert seen(overview.readings())["delivered_lag_seconds", "s"] == pytest.approx(1)


def test_the_database_is_asked_at_most_once_in_a_while(meta: MetaDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    overview = Overview(meta, CLUSTER, Meter(), monotonic=lambda: 5.0)
    asked, ask = [0], overview._ask

    def counting() -> list[overview_module.Standing]:
        asked[0] += 1
        return ask()

    monkeypatch.setattr(overview, "_ask", counting)
    for _ in range(5):
        seen(overview.readings())
    assert asked == [1]
    overview.close()


def test_a_server_shows_its_leases(meta: MetaDatabase, request_of_orders: SubscribeRequest) -> None:
    service = Service(meta, ServiceOptions("one", CLUSTER, 9.0, poll_seconds=0.02), IdleCarrier)
    assert seen(service_readings(service)).keys() == {("claims_held",), ("round_age_seconds",)}
    service.start()
    try:
        Subscriptions(meta, CLUSTER, service.wake).subscribe(request_of_orders)
        until(lambda: seen(service_readings(service))["claims_held",] == 1)
        found = seen(service_readings(service))
        assert 0 < found["lease_left_seconds",] <= 6.0
        until(lambda: seen(service_readings(service))["round_age_seconds",] < 0.5)
    finally:
        service.stop()


def test_no_reading_holds_a_secret(meta: MetaDatabase, overview: Overview, upstream: str) -> None:
    sink, config = "blackhole://root:hunter2@h/", "[sink]\n"
    request = SubscribeRequest("orders", upstream, sink, config=config, rules=("shop.orders",))
    Subscriptions(meta, CLUSTER).subscribe(request)
    text = Meter().exposition([overview.readings]).decode()
    assert 'subscription="orders"' in text
    assert "hunter" not in text and "blackhole" not in text and "shop" not in text
