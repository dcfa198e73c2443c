"""A meta database with the server's objects around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.progress.database import MetaDatabase
from tailrace.server.requests import SubscribeRequest
from tailrace.server.subscriptions import Subscriptions
from tests.progress.ledgers import CLUSTER, file_database
from tests.server.carriers import new_store


@pytest.fixture
def meta(tmp_path: Path) -> Iterator[MetaDatabase]:
    with file_database(tmp_path) as meta:
        yield meta


@pytest.fixture
def subscriptions(meta: MetaDatabase) -> Subscriptions:
    return Subscriptions(meta, CLUSTER)


@pytest.fixture
def upstream() -> str:
    return new_store()[0]


@pytest.fixture
def request_of_orders(upstream: str) -> SubscribeRequest:
    return SubscribeRequest("orders", upstream, "blackhole://", rules=("shop.orders",))
