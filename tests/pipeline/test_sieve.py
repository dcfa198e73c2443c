"""The sieve: what event filters leave out reaches no sink, be it of the log, of the snapshot or a statement."""

from __future__ import annotations

import itertools

import pytest

from tailrace import plugins
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.pipeline.carry import Order, carry
from tailrace.pipeline.sieve import open_sieve
from tailrace.progress.cut import Phase, Piece, Span
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.memory import MemoryStore, memory_store
from tests.pipeline.conftest import shop_table
from tests.pipeline.recorder import Recorder, Target

_numbers = itertools.count(1)
CONFIG = """
[[filter.event-filters]]
matcher = ["*.orders"]
ignore-event = ["drop table"]
ignore-sql = ["add column"]
ignore-insert-value-expr = "v >= 15"
"""


@pytest.fixture
def name() -> str:
    return f"sieve-{next(_numbers)}"


@pytest.fixture
def store(name: str, monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    monkeypatch.setattr(plugins, "open_sink", lambda spec: Recorder(spec, Target()))
    made = memory_store(name)
    made.create(shop_table(1, "orders"))
    made.write({1: {at: {"id": at, "v": at} for at in range(20)}})
    return made


def order(name: str, store: MemoryStore, phase: Phase, config: str) -> Order:
    [route] = store.tables[1].ranges
    upto, target = store.tso(), f"recorder://target-{next(_numbers)}"
    spans = (Span(route),)
    piece = Piece("s", 1, 1, 0, phase, 1, 0, spans, 0, upto, bytes=1 << 20, limit_rows=100)
    return Order(piece, UpstreamSpec(f"memory://{name}"), SinkSpec("s", target, config))


@pytest.mark.parametrize("phase", ["log", "snapshot"])
def test_what_is_left_out_reaches_no_sink(name: str, store: MemoryStore, phase: Phase) -> None:
    assert carry(order(name, store, phase, "")).rows == 20
    receipt = carry(order(name, store, phase, CONFIG))
    assert (receipt.error, receipt.rows) == (None, 15)


def test_an_expression_that_no_longer_fits_its_table_stops_the_piece(name: str, store: MemoryStore) -> None:
    receipt = carry(order(name, store, "log", CONFIG.replace("v >=", "gone >=")))
    assert receipt.error is not None and receipt.error["kind"] == "ConfigError"
    assert "no column gone" in receipt.error["message"]


def test_statements_that_are_left_out_are_not_heard() -> None:
    sieve = open_sieve(SinkSpec("s", "blackhole://", CONFIG))
    events = [
        DdlEvent(1, 1, 0, DdlType.DROP_TABLE, "drop table orders", "shop", "orders"),
        DdlEvent(1, 1, 1, DdlType.ADD_COLUMN, "alter table orders ADD COLUMN x int", "shop", "orders"),
        DdlEvent(1, 1, 2, DdlType.DROP_TABLE, "drop table items", "shop", "items"),
    ]
    assert sieve.statements(events) == events[2:]
