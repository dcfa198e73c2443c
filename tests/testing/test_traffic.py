"""Random traffic goes on through deaths of the store and changes of its tables, and never asks for what cannot be."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column
from tailrace.testing import shop
from tailrace.testing.cluster import start_store
from tailrace.testing.traffic import Traffic


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.faults
def test_it_outlives_a_kill_a_new_column_and_a_truncate(tmp_path: Path) -> None:
    with start_store(tmp_path, 1, ("--no-fsync",)) as store:
        client = store.client()
        client.create_schema("shop")
        for definition in shop.tables().values():
            client.create_table(definition, ranges=2, handles=(0, 3_000_000))
        with Traffic(client, "shop", seed=3, per_second=200) as traffic:
            until(lambda: traffic.transactions > 30)
            client.add_column("shop", "orders", Column(0, "more", parse_type("int")))
            client.truncate_table("shop", "items")
            seen = traffic.transactions
            until(lambda: traffic.transactions > seen + 30)
            store.kill(0)
            store.restart(0)
            seen = traffic.transactions
            until(lambda: traffic.transactions > seen + 30)
            traffic.hold(True)
            time.sleep(0.5)
            seen = traffic.transactions
            time.sleep(0.2)
            assert traffic.transactions == seen
        assert traffic.rows >= traffic.transactions
        assert client.read(client.table("shop", "orders")).num_rows
        assert "more" in client.read(client.table("shop", "orders")).column_names
