"""gRPC: what goes over the wire is what `Subscriptions` was asked and what it said, errors too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.errors import (
    AlreadyExists,
    ConfigError,
    MetaAway,
    NotFound,
    SinkAway,
    TailraceError,
    Transient,
    UpstreamAway,
)
from tailrace.pipeline.assignment import Report
from tailrace.proto.base_pb2 import CDCSink
from tailrace.proto.server_pb2 import CancelCDCRequest, ListCDCRequest, SubscribeCDCRequest
from tailrace.proto.services import callables
from tailrace.server.grpc.client import Client
from tailrace.server.grpc.messages import (
    error_message,
    error_value,
    request_message,
    request_value,
    status_message,
    status_value,
)
from tailrace.server.grpc.servicer import SERVICE, Servicer, serve
from tailrace.server.grpc.sinks import sink_uri
from tailrace.server.records import Subscription
from tailrace.server.reports import AgedReport
from tailrace.server.requests import SubscribeRequest
from tailrace.server.subscriptions import Status, Subscriptions
from tests.progress.ledgers import CLUSTER

texts = st.text('aZ0 /:?=*\n"é漢', max_size=8)
words = texts.filter(bool)
whole = st.integers(0, (1 << 63) - 1)


@dataclass
class Calls:
    """The seed's messages, as another language's client would send them."""

    channel: grpc.Channel

    def __call__(self, method: str, request: object) -> Any:
        return callables(self.channel, SERVICE)[method](request, timeout=5)


@pytest.fixture
def address(subscriptions: Subscriptions, upstream: str) -> Iterator[str]:
    server, port = serve(Servicer(subscriptions, CLUSTER, upstream), "127.0.0.1:0")
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address) as client:
        yield client


@pytest.fixture
def calls(address: str) -> Iterator[Calls]:
    with grpc.insecure_channel(address) as channel:
        yield Calls(channel)


def test_a_subscription_is_made_listed_and_cancelled(client: Client, request_of_orders: SubscribeRequest) -> None:
    made = client.subscribe(replace(request_of_orders, config="memory-quota = 5\n", start="now"))
    assert made.subscription.tables == ("shop.orders",)
    assert client.status() == client.status("orders") == [replace(made, warnings=())]
    assert client.cancel("orders").subscription.state == "cancelling"


def test_an_error_is_the_same_on_the_other_side(client: Client, request_of_orders: SubscribeRequest) -> None:
    client.subscribe(request_of_orders)
    with pytest.raises(AlreadyExists) as taken:
        client.subscribe(request_of_orders)
    assert taken.value.subscription == "orders"
    with pytest.raises(NotFound, match="there are: orders"):
        client.cancel("nobody")
    with pytest.raises(ConfigError, match="start: 'x'"):
        client.subscribe(replace(request_of_orders, name="other", start="x"))


def test_the_seeds_messages_are_understood(calls: Calls, upstream: str) -> None:
    """A table by its names, a sink by its parts, nothing of what was added."""
    request = SubscribeCDCRequest(db_name="shop", table_name="orders", subscriber_name="orders")
    request.header.cluster_id = CLUSTER
    request.sink.CopyFrom(CDCSink(type="blackhole", config={"blackhole_host": "h", "blackhole_password": "hunter2"}))
    answer = calls("SubscribeCDC", request)
    assert not answer.HasField("error")
    assert (answer.subscriber.name, list(answer.subscriber.tables)) == ("orders", ["shop.orders"])
    assert answer.subscriber.upstream == upstream
    assert "hunter2" not in str(answer)
    cancelled = calls("CancelCDC", CancelCDCRequest(db_name="shop", table_name="orders", subscriber_name="orders"))
    assert cancelled.subscriber.state == "cancelling"


def test_field_numbers_of_the_seed_are_kept() -> None:
    fields = {field.name: field.number for field in SubscribeCDCRequest.DESCRIPTOR.fields}
    assert [fields[name] for name in ("header", "db_name", "table_name", "subscriber_name", "sink")] == [1, 2, 3, 4, 5]
    sink = {field.name: field.number for field in CDCSink.DESCRIPTOR.fields}
    assert sink == {"type": 1, "config": 2}


def test_another_clusters_request_is_refused(calls: Calls) -> None:
    request = ListCDCRequest()
    request.header.cluster_id = CLUSTER + 1
    assert error_value(calls("ListCDC", request).error).code == ConfigError.code


def test_a_fault_of_ours_does_not_show_its_text(
    client: Client, subscriptions: Subscriptions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> list[Status]:
        raise ValueError("hunter2")

    monkeypatch.setattr(subscriptions, "all", fail)
    with pytest.raises(Transient) as caught:
        client.status()
    assert "hunter2" not in str(caught.value)
    assert "hunter2" in caplog.text


def test_a_server_that_is_not_there_is_away() -> None:
    with Client("127.0.0.1:1") as client, pytest.raises(MetaAway, match="no server answers"):
        client.status()


def test_a_port_is_listened_on_once(address: str, subscriptions: Subscriptions) -> None:
    with pytest.raises(ConfigError, match="--listen"):
        serve(Servicer(subscriptions, CLUSTER), address)


@settings(max_examples=30, deadline=None)
@given(
    st.builds(
        SubscribeRequest,
        name=texts,
        upstream=texts,
        sink=words,
        config=texts,
        rules=st.lists(texts, max_size=3).map(tuple),
        start=words,
        end=texts,
        time_zone=words,
    )
)
def test_a_request_crosses_whole(request: SubscribeRequest) -> None:
    assert request_value(request_message(request)) == request


@settings(max_examples=30, deadline=None)
@given(
    st.builds(
        Subscription,
        name=texts,
        upstream=texts,
        sink=texts,
        config=st.just(""),
        rules=st.lists(texts, max_size=3).map(tuple),
        case_sensitive=st.booleans(),
        start=texts,
        end_ts=whole,
        time_zone=texts,
        tables=st.lists(texts, max_size=3).map(tuple),
        state=st.sampled_from(["new", "normal", "failed", "cancelled"]),
        owner=texts,
        epoch=whole,
        created_ms=whole,
        cut=whole,
        checkpoint_ts=whole,
    ),
    st.none()
    | st.builds(Report, rows=whole, bytes=whole, cuts=whole, ranges=st.integers(0, 99), lag_seconds=st.just(0.5)),
)
def test_a_status_crosses_whole(subscription: Subscription, report: Report | None) -> None:
    status = Status(subscription, AgedReport(report, 1.25) if report else None, ("warned",))
    assert status_value(status_message(status)) == status


@pytest.mark.parametrize(
    "error",
    [
        NotFound("no", subscription="s", table="t", position="p"),
        UpstreamAway("away", retry_after=7.5),
        SinkAway("", table="t"),
    ],
)
def test_an_error_crosses_whole(error: TailraceError) -> None:
    found = error_value(error_message(error))
    assert (type(found), str(found), found.to_fields()) == (type(error), str(error), error.to_fields())
    assert getattr(found, "retry_after", None) == getattr(error, "retry_after", None)
    json.dumps(found.to_fields())


@pytest.mark.parametrize(
    ("kind", "given", "uri"),
    [
        ("file", {"file_path": "/tmp/x", "protocol": "csv"}, "file:///tmp/x?protocol=csv"),
        (
            "mysql",
            {"mysql_host": "127.0.0.1", "mysql_port": "3306", "mysql_user": "u@", "mysql_password": "p/w"},
            "mysql://u%40:p%2Fw@127.0.0.1:3306/",
        ),
        ("kafka", {"kafka_host": "h:9092", "kafka_path": "topic", "b": "2", "a": "1"}, "kafka://h:9092/topic?a=1&b=2"),
        ("s3", {"uri": "s3://bucket/x?a=b"}, "s3://bucket/x?a=b"),
        ("", {"uri": "s3://bucket"}, "s3://bucket"),
    ],
)
def test_a_sink_by_its_parts_is_a_uri(kind: str, given: dict[str, str], uri: str) -> None:
    assert sink_uri(kind, given) == uri


@pytest.mark.parametrize(
    ("kind", "given"), [("", {}), ("mysql", {"uri": "kafka://x"}), ("s3", {"uri": "s3://x", "more": "1"})]
)
def test_a_sink_that_says_nothing_or_two_things_is_refused(kind: str, given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="sink"):
        sink_uri(kind, given)
