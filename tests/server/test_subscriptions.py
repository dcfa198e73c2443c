"""Subscriptions: what is wrong is said at once and nothing is made; what is made is whole, and shows no secrets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from tailrace import plugins
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import MAX_TS
from tailrace.change.types import ColumnType
from tailrace.errors import AlreadyExists, ConfigError, NotFound, SinkAway
from tailrace.progress import tables
from tailrace.progress.database import MetaDatabase
from tailrace.server.claims import Claims
from tailrace.server.records import Records
from tailrace.server.requests import SubscribeRequest
from tailrace.server.subscriptions import Subscriptions
from tailrace.sink.base import Problem, SinkSpec
from tailrace.sink.blackhole import BlackholeSink
from tests.progress.ledgers import CLUSTER
from tests.server.carriers import new_store


class FussySink(BlackholeSink):
    """A sink that finds something wrong with every URI of its scheme."""

    def verify(self) -> list[Problem]:
        return [Problem("bucket", "is not there"), Problem("protocol", "may be csv")]


class AwaySink(BlackholeSink):
    def verify(self) -> list[Problem]:
        raise SinkAway("nobody answers at 127.0.0.1:9")


@pytest.fixture
def fussy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins.SINKS, "blackhole", ("tests.server.test_subscriptions:FussySink", ""))


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins.SINKS, "blackhole", ("tests.server.test_subscriptions:AwaySink", ""))


def rows_of(meta: MetaDatabase, table: str) -> int:
    with meta.reading() as connection:
        return len(connection.execute(select(tables.metadata.tables[table])).all())


def test_a_subscription_is_made_with_a_row_for_each_matching_table(
    subscriptions: Subscriptions, meta: MetaDatabase, request_of_orders: SubscribeRequest
) -> None:
    status = subscriptions.subscribe(replace(request_of_orders, rules=("shop.*",)))
    made = status.subscription
    assert (made.name, made.state, made.tables) == ("orders", "new", ("shop.bills", "shop.orders"))
    assert (made.start, made.end_ts, made.time_zone) == ("snapshot", MAX_TS, "UTC")
    assert status.report is None and status.lag_seconds is None
    with meta.reading() as connection:
        rows = connection.execute(select(tables.subscribe).order_by(tables.subscribe.c.table_name)).all()
    assert [(row.db_name, row.table_name, row.table_id, row.cancel) for row in rows] == [
        ("shop", "bills", 2, 0),
        ("shop", "orders", 1, 0),
    ]


def test_the_rules_are_the_configurations_where_the_request_has_none(
    subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    config = "case-sensitive = true\n[filter]\nrules = ['shop.bills', 'shop.ORDERS']\n"
    made = subscriptions.subscribe(replace(request_of_orders, rules=(), config=config)).subscription
    assert made.tables == ("shop.bills",)
    assert (made.rules, made.case_sensitive) == (("shop.bills", "shop.ORDERS"), True)


def test_now_is_the_moment_of_the_request(subscriptions: Subscriptions, meta: MetaDatabase) -> None:
    uri, store = new_store()
    before = store.tso()
    made = subscriptions.subscribe(SubscribeRequest("orders", uri, "blackhole://", start="now")).subscription
    assert before < int(made.start) < store.tso()
    assert Records(meta, CLUSTER).get("orders").assignment(7).start == made.start


def test_tables_are_those_of_the_start(subscriptions: Subscriptions) -> None:
    uri, store = new_store()
    start = store.tso()
    store.drop(1)
    made = subscriptions.subscribe(SubscribeRequest("old", uri, "blackhole://", start=str(start)))
    assert made.subscription.tables == ("shop.bills", "shop.orders")
    assert subscriptions.subscribe(SubscribeRequest("new", uri, "blackhole://")).subscription.tables == ("shop.bills",)


def test_everything_that_is_wrong_is_said_at_once_and_nothing_is_made(
    subscriptions: Subscriptions, meta: MetaDatabase, upstream: str
) -> None:
    request = SubscribeRequest(
        name="no name/",
        upstream="nosuch://x",
        sink="blackhole://",
        config="[filter]\nrulez = ['*.*']\n",
        start="yesterday",
        end="-5",
        time_zone="Mars/Olympus",
    )
    with pytest.raises(ConfigError) as caught:
        subscriptions.subscribe(request)
    for word in ("name:", "start:", "end:", "time zone:", "config:", "rulez", "upstream:", "nosuch"):
        assert word in str(caught.value)
    assert rows_of(meta, "subscription") == rows_of(meta, "subscribe") == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "name:"),
        ({"name": "a" * 129}, "name:"),
        ({"name": "a--b"}, "name:"),
        ({"name": "../etc"}, "name:"),
        ({"start": "0"}, "start:"),
        ({"start": str(1 << 63)}, "start:"),
        ({"start": str(MAX_TS)}, "future"),
        ({"start": "20", "end": "20"}, "above the start"),
        ({"time_zone": ""}, "time zone:"),
        ({"time_zone": "../UTC"}, "time zone:"),
        ({"rules": ("shop",)}, "filter:"),
        ({"config": "[filter]\nrules = ['a.*']\n"}, "not in both"),
        ({"config": "not toml"}, "config:"),
        ({"sink": "blackhole"}, "scheme"),
        ({"sink": ""}, "scheme"),
        ({"sink": "blackhol://", "name": "no name"}, "sink: .*blackhole"),
        ({"upstream": ""}, "upstream:"),
    ],
)
def test_each_wrong_value_is_named(
    subscriptions: Subscriptions,
    meta: MetaDatabase,
    request_of_orders: SubscribeRequest,
    change: dict[str, object],
    words: str,
) -> None:
    with pytest.raises(ConfigError, match=words):
        subscriptions.subscribe(replace(request_of_orders, **change))  # type: ignore[arg-type]
    assert rows_of(meta, "subscription") == 0


@pytest.mark.usefixtures("fussy")
def test_what_the_sink_finds_wrong_is_said(subscriptions: Subscriptions, request_of_orders: SubscribeRequest) -> None:
    with pytest.raises(ConfigError, match="bucket: is not there; protocol: may be csv"):
        subscriptions.subscribe(request_of_orders)


@pytest.mark.usefixtures("away")
def test_a_sink_that_is_away_is_not_called_wrong(
    subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    with pytest.raises(SinkAway, match="nobody answers"):
        subscriptions.subscribe(request_of_orders)


def test_a_name_is_taken_once(subscriptions: Subscriptions, request_of_orders: SubscribeRequest) -> None:
    subscriptions.subscribe(request_of_orders)
    with pytest.raises(AlreadyExists, match="orders"):
        subscriptions.subscribe(replace(request_of_orders, rules=()))
    assert subscriptions.status("orders").subscription.tables == ("shop.orders",)


def test_a_cancelled_name_is_free_again_and_its_epoch_goes_on(
    subscriptions: Subscriptions, meta: MetaDatabase, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    claims, records = Claims(meta, CLUSTER, "one"), Records(meta, CLUSTER)
    first = claims.claim("orders")
    assert first is not None
    assert subscriptions.cancel("orders").subscription.state == "cancelling"
    assert subscriptions.cancel("orders").subscription.state == "cancelling"
    with pytest.raises(AlreadyExists):
        subscriptions.subscribe(request_of_orders)
    assert records.set_state("orders", first.epoch, "cancelled", None)
    claims.release("orders")
    assert subscriptions.cancel("orders").subscription.state == "cancelled"
    made = subscriptions.subscribe(replace(request_of_orders, rules=("shop.bills",))).subscription
    assert (made.state, made.tables, made.error) == ("new", ("shop.bills",), None)
    again = claims.claim("orders")
    assert again is not None and again.epoch > first.epoch


def test_a_state_is_only_its_owners_to_say_and_never_undoes_a_cancellation(
    subscriptions: Subscriptions, meta: MetaDatabase, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    claims, records = Claims(meta, CLUSTER, "one"), Records(meta, CLUSTER)
    claim = claims.claim("orders")
    assert claim is not None
    assert not records.set_state("orders", claim.epoch - 1, "normal", None)
    assert records.set_state("orders", claim.epoch, "failed", SinkAway("no", table="shop.orders"))
    failed = subscriptions.status("orders").subscription
    assert isinstance(failed.error, SinkAway) and failed.error.table == "shop.orders"
    subscriptions.cancel("orders")
    assert not records.set_state("orders", claim.epoch, "normal", None)
    assert subscriptions.status("orders").subscription.state == "cancelling"


def test_what_leaves_bears_no_secrets(
    subscriptions: Subscriptions, meta: MetaDatabase, request_of_orders: SubscribeRequest
) -> None:
    sink = "blackhole://root:hunter2@host/?secret-access-key=hunter3"
    subscriptions.subscribe(replace(request_of_orders, sink=sink))
    assert "hunter" not in repr(subscriptions.status("orders"))
    assert "hunter" not in repr(subscriptions.all())
    assert Records(meta, CLUSTER).get("orders").assignment(1).sink == SinkSpec("orders", sink)


def test_an_unknown_name_is_answered_with_the_known_ones(
    subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    subscriptions.subscribe(request_of_orders)
    for ask in (subscriptions.status, subscriptions.cancel):
        with pytest.raises(NotFound, match="there are: orders"):
            ask("odrers")


def test_a_table_without_a_key_is_a_warning_unless_it_is_wanted(subscriptions: Subscriptions) -> None:
    uri, store = new_store()
    store.create(TableSchema("shop", "notes", 3, 1, (Column(1, "note", ColumnType("text")),)))
    request = SubscribeRequest("notes", uri, "blackhole://", rules=("shop.notes",))
    assert subscriptions.subscribe(request).warnings == (
        "shop.notes has no primary key and no unique key over NOT NULL columns",
    )
    assert subscriptions.subscribe(replace(request, name="more", config="force-replicate = true")).warnings == ()
    assert subscriptions.status("notes").warnings == ()


def test_a_storage_may_be_the_upstream_from_a_timestamp_on(
    subscriptions: Subscriptions, request_of_orders: SubscribeRequest
) -> None:
    storage = Path(__file__).parents[1] / "trees" / "csv-basic" / "storage"
    upstream = f"file://{storage}?protocol=csv&include-commit-ts=true"
    wanted = replace(request_of_orders, upstream=upstream, rules=("shop.*",))
    with pytest.raises(ConfigError, match="start: this upstream has no snapshot"):
        subscriptions.subscribe(replace(wanted, start="snapshot"))
    made = subscriptions.subscribe(replace(wanted, start="470558777605357568")).subscription
    assert made.tables == ("shop.customer", "shop.orders", "shop.stock", "shop.tag")
