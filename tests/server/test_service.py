"""The service: the carrier carries what is claimed, and nothing else, whatever happens to the meta database."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import inspect, select, text, update

from tailrace.change.tso import MAX_TS
from tailrace.errors import AlreadyExists, MetaVersion, SinkRefused, UpstreamAway
from tailrace.pipeline.assignment import Report
from tailrace.progress import tables
from tailrace.progress.database import MetaDatabase
from tailrace.progress.ledger import Ledger
from tailrace.progress.position import Progress
from tailrace.server.claims import Claims
from tailrace.server.members import Members
from tailrace.server.requests import SubscribeRequest
from tailrace.server.service import Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions
from tailrace.upstream.memory import MemoryUpstream
from tests.progress.ledgers import CLUSTER, positions
from tests.server.carriers import IdleCarrier, until


@contextmanager
def running(
    meta: MetaDatabase, owner: str = "one", lease: float = 10.0, name: str = ""
) -> Iterator[tuple[Service, IdleCarrier]]:
    made: list[IdleCarrier] = []

    def make(ledger: Ledger, listener: object) -> IdleCarrier:
        assert isinstance(listener, Service)
        made.append(IdleCarrier(ledger, listener))
        return made[0]

    service = Service(meta, ServiceOptions(owner, CLUSTER, lease, poll_seconds=0.02, name=name), make)
    service.start()
    try:
        yield service, made[0]
    finally:
        made[0].stopping.set()
        service.stop()


def claim_of(meta: MetaDatabase) -> tuple[str, int]:
    with meta.reading() as connection:
        row = connection.execute(select(tables.subscription.c.owner, tables.subscription.c.epoch)).one()
    return row[0], row[1]


def state_of(subscriptions: Subscriptions) -> str:
    return subscriptions.status("orders").subscription.state


def test_a_new_subscription_is_carried_at_once(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    with running(meta) as (_, carrier):
        subscriptions.subscribe(replace(request_of_orders, end="900", start="800"))
        until(lambda: "orders" in carrier.carried, 1.0)
        given = carrier.carried["orders"]
        assert (given.epoch, given.rules, given.start, given.end_ts) == (1, ("shop.orders",), "800", 900)
        assert given.upstream.uri == request_of_orders.upstream
        assert claim_of(meta) == ("one", 1)
    assert carrier.told == ["start", "add orders 1", "stop"]
    assert claim_of(meta) == ("", 1)


def test_a_server_goes_on_with_what_another_left(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta, "one") as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        with running(meta, "two") as (_, idle):
            time.sleep(0.1)
            assert idle.carried == {}
    with running(meta, "two") as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        assert carrier.carried["orders"].epoch == 2


def test_a_server_that_cannot_carry_yet_claims_nothing(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    with running(meta) as (_, carrier):
        carrier.ready = False
        subscriptions.subscribe(request_of_orders)
        time.sleep(0.1)
        assert claim_of(meta) == ("", 0)
        carrier.ready = True
        until(lambda: "orders" in carrier.carried)


def test_a_cancelled_subscription_leaves_nothing_behind(
    meta: MetaDatabase,
    subscriptions: Subscriptions,
    request_of_orders: SubscribeRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_go: list[tuple[int, str, int]] = []
    monkeypatch.setattr(
        MemoryUpstream, "release", lambda _, each, name, upto: let_go.append((each.table_id, name, upto))
    )
    subscriptions.subscribe(request_of_orders)
    with running(meta) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        ledger = Ledger(meta, CLUSTER)
        ledger.hold("orders", 1, Progress("orders", ranges=positions(3)))
        subscriptions.cancel("orders")
        until(lambda: state_of(subscriptions) == "cancelled", 1.0)
        until(lambda: claim_of(meta)[0] == "")
        assert carrier.told == ["start", "add orders 1", "remove orders release"]
        assert ledger.load("orders") is None
    assert let_go == [(1, "orders", MAX_TS)]


def test_a_cancellation_that_nobody_carried_is_carried_out(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    """Also when its upstream is gone for good."""
    subscriptions.subscribe(request_of_orders)
    subscriptions.cancel("orders")
    with meta.writing() as connection:
        connection.execute(update(tables.subscription).values(upstream="nosuch://gone"))
    with running(meta) as (_, carrier):
        until(lambda: state_of(subscriptions) == "cancelled", 1.0)
        assert carrier.carried == {}
        assert "add" not in " ".join(carrier.told)


def test_the_lease_is_kept_until_the_delivery_has_stopped(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.6) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        carrier.stopping.clear()
        subscriptions.cancel("orders")
        other = Claims(meta, CLUSTER, "two")
        for _ in range(10):
            time.sleep(0.1)
            assert other.take() == []
            assert state_of(subscriptions) == "cancelling"
        carrier.stopping.set()
        until(lambda: state_of(subscriptions) == "cancelled")


def test_states_and_errors_are_saved_and_a_failed_one_is_let_go(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta) as (service, carrier):
        until(lambda: "orders" in carrier.carried)
        service.on_state("orders", "warning", UpstreamAway("127.0.0.1:9 does not answer"))
        until(lambda: state_of(subscriptions) == "warning")
        assert isinstance(subscriptions.status("orders").subscription.error, UpstreamAway)
        service.on_state("orders", "normal", None)
        until(lambda: state_of(subscriptions) == "normal")
        assert subscriptions.status("orders").subscription.error is None
        service.on_state("orders", "failed", SinkRefused("no"))
        until(lambda: claim_of(meta)[0] == "")
        assert state_of(subscriptions) == "failed"
        time.sleep(0.1)
        assert carrier.told == ["start", "add orders 1", "remove orders"]


def test_a_finished_one_lets_go_of_its_history_and_stays_finished(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta) as (service, carrier):
        until(lambda: "orders" in carrier.carried)
        service.on_state("orders", "finished", None)
        until(lambda: claim_of(meta)[0] == "")
        assert carrier.told[-1] == "remove orders release"
    with running(meta) as (_, carrier):
        time.sleep(0.1)
        assert carrier.carried == {}
    assert state_of(subscriptions) == "finished"


def test_the_newest_report_is_saved_and_lag_goes_on(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta) as (service, carrier):
        until(lambda: "orders" in carrier.carried)
        for rows in range(1, 4):
            service.on_report("orders", Report(rows=rows, lag_seconds=2.0))
        until(lambda: (found := subscriptions.status("orders").report) is not None and found.report.rows == 3)
        first = subscriptions.status("orders").lag_seconds
        time.sleep(0.05)
        second = subscriptions.status("orders").lag_seconds
        assert first is not None and second is not None
        assert 2.0 <= first < second


def test_a_lost_lease_stops_the_delivery_and_it_is_claimed_again_after_that(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    """Somebody else took it over while this server was asleep, and left it again."""
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.3) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        with meta.writing() as connection:
            connection.execute(update(tables.subscription).values(owner="two", epoch=5, lease_until=0))
        until(lambda: carrier.told[-1] == "add orders 6")
        assert carrier.told == ["start", "add orders 1", "remove orders", "add orders 6"]


def test_a_delivery_that_has_not_stopped_yet_is_not_carried_a_second_time(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.3) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        carrier.stopping.clear()
        with meta.writing() as connection:
            connection.execute(update(tables.subscription).values(owner="two", epoch=5, lease_until=0))
        time.sleep(0.5)
        assert claim_of(meta) == ("two", 5)
        carrier.stopping.set()
        until(lambda: carrier.told[-1] == "add orders 6")


def test_deliveries_stop_in_time_while_the_meta_database_hangs_and_come_back(
    meta: MetaDatabase,
    subscriptions: Subscriptions,
    request_of_orders: SubscribeRequest,
    tmp_path: Path,
) -> None:
    """A writer waits ten seconds for a busy database; the lease is over long before."""
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.6) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        holder = sqlite3.connect(tmp_path / "meta.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        until(lambda: "remove orders" in carrier.told)
        holder.execute("ROLLBACK")
        holder.close()
        until(lambda: carrier.told[-1] == "add orders 2")


def test_a_newer_version_ends_the_server(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.3) as (service, carrier):
        until(lambda: "orders" in carrier.carried)
        with meta._engine.begin() as connection:
            connection.execute(update(tables.version).values(version=99))
        with pytest.raises(MetaVersion):
            service.wait(5)
    assert carrier.told[-1] == "stop"


def test_waiting_ends_when_the_server_is_asked_to_stop(meta: MetaDatabase) -> None:
    with running(meta) as (service, _):
        assert not service.wait(0.01)
        service.ask_to_stop()
        assert service.wait(5)


def subscribe_many(subscriptions: Subscriptions, request: SubscribeRequest, number: int) -> set[str]:
    names = {f"s{at:02}" for at in range(number)}
    for name in names:
        subscriptions.subscribe(replace(request, name=name))
    return names


def test_two_and_three_servers_share_evenly_and_nothing_is_carried_twice_or_lost(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    names = subscribe_many(subscriptions, request_of_orders, 12)
    with running(meta, "one", 1.0) as (_, first):
        until(lambda: len(first.carried) == 12)
        with running(meta, "two", 1.0) as (_, second):
            until(lambda: len(first.carried) == len(second.carried) == 6)
            with running(meta, "three", 1.0) as (_, third):
                carriers = (first, second, third)
                until(lambda: [len(each.carried) for each in carriers] == [4, 4, 4])
                assert set().union(*(each.carried for each in carriers)) == names
            until(lambda: len(first.carried) == len(second.carried) == 6)
        until(lambda: set(first.carried) == names)


def test_a_handover_waits_for_no_lease(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    """Each is carried again a moment after it was let go, though leases last a minute."""
    names = subscribe_many(subscriptions, request_of_orders, 8)
    with running(meta, "one", 60.0) as (_, first):
        until(lambda: len(first.carried) == 8)
        with running(meta, "two", 60.0) as (_, second):
            until(lambda: len(second.carried) == 4, 3.0)
            until(lambda: first.carried.keys() | second.carried.keys() == names, 0.5)


def test_a_server_that_died_counts_no_more_and_its_subscriptions_are_taken_over(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    names = subscribe_many(subscriptions, request_of_orders, 6)
    dead = Members(meta, CLUSTER, "dead", "dead", 0.6)
    dead.join()
    assert len(Claims(meta, CLUSTER, "dead", 0.6).take(most=3)) == 3
    with running(meta, "one", 0.6) as (_, carrier):
        until(lambda: len(carrier.carried) == 3)
        until(lambda: set(carrier.carried) == names, 3.0)


def test_leases_that_ran_out_tell_of_a_death_before_the_membership_does(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    names = subscribe_many(subscriptions, request_of_orders, 6)
    Members(meta, CLUSTER, "dead", "dead", 60.0).join()
    assert len(Claims(meta, CLUSTER, "dead", 1.0).take(most=3)) == 3
    with running(meta, "one", 10.0) as (_, carrier):
        until(lambda: len(carrier.carried) == 3, 0.9)
        until(lambda: set(carrier.carried) == names, 3.0)


def test_two_servers_of_one_name_are_refused_and_the_first_goes_on(
    meta: MetaDatabase, subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta, "one", 0.6, "north") as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        with pytest.raises(AlreadyExists, match=r"a server named north .* --name"), running(meta, "two", 0.6, "north"):
            pass
        assert "orders" in carrier.carried


def test_a_table_of_servers_that_is_gone_is_made_anew(
    meta: MetaDatabase,
    subscriptions: Subscriptions,
    request_of_orders: SubscribeRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.6) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        with meta.writing() as connection:
            tables.server.drop(connection)
        until(lambda: inspect(meta._engine).has_table("server"))
        time.sleep(0.2)
        assert carrier.told == ["start", "add orders 1"]
    assert any("made anew" in str(getattr(record, "fields", "")) for record in caplog.records)


def test_a_lease_table_that_is_gone_is_said_once_and_nothing_is_lost_when_it_is_back(
    meta: MetaDatabase,
    subscriptions: Subscriptions,
    request_of_orders: SubscribeRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "tailrace")
    subscriptions.subscribe(request_of_orders)
    with running(meta, lease=0.6) as (_, carrier):
        until(lambda: "orders" in carrier.carried)
        with meta.writing() as connection:
            connection.execute(text("ALTER TABLE subscription RENAME TO away"))
        until(lambda: "remove orders" in carrier.told)
        time.sleep(0.2)
        with meta.writing() as connection:
            connection.execute(text("ALTER TABLE away RENAME TO subscription"))
        until(lambda: carrier.told[-1] == "add orders 2")
        until(lambda: any(record.message == "server-recovered" for record in caplog.records))
    said = [record.fields["reason"] for record in caplog.records if record.message == "server-troubled"]  # type: ignore[attr-defined]
    assert len([reason for reason in said if "no such table: subscription" in reason]) == 1
