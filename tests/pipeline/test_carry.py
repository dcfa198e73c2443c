"""One piece: pages until its share is full, errors as receipts, nothing left of an attempt that failed."""

from __future__ import annotations

import itertools

import pytest

from tailrace import plugins
from tailrace.change.ranges import Range
from tailrace.errors import SinkAway
from tailrace.pipeline import carry as room
from tailrace.pipeline.carry import Order, carry
from tailrace.progress.cut import Piece, Span
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.memory import MemoryStore, memory_store
from tests.pipeline.conftest import shop_table
from tests.pipeline.recorder import Recorder, Target

_numbers = itertools.count(1)


@pytest.fixture
def name() -> str:
    return f"carry-{next(_numbers)}"


@pytest.fixture
def store(name: str) -> MemoryStore:
    made = memory_store(name)
    made.create(shop_table(1, "orders"))
    made.write({1: {at: {"id": at, "v": at} for at in range(20)}})
    return made


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Target:
    made = Target()
    monkeypatch.setattr(plugins, "open_sink", lambda spec: Recorder(spec, made))
    return made


def snapshot(name: str, route: Range, version: int, limit_rows: int, after: bytes = b"") -> Order:
    piece = Piece(
        "s",
        1,
        1,
        0,
        "snapshot",
        1,
        0,
        (Span(route, after_key=after),),
        0,
        version,
        bytes=1 << 20,
        limit_rows=limit_rows,
    )
    return Order(piece, UpstreamSpec(f"memory://{name}"), SinkSpec("s", f"recorder://{name}"))


def log(name: str, route: Range, upto: int, size: int = 0) -> Order:
    piece = Piece("s", 1, 1, 0, "log", 1, 0, (Span(route),), 0, upto, bytes=size)
    return Order(piece, UpstreamSpec(f"memory://{name}"), SinkSpec("s", f"recorder://{name}"))


def test_a_snapshot_piece_stops_when_its_share_is_full_and_says_where(
    name: str, store: MemoryStore, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "PAGE_ROWS", 4)
    [route] = store.tables[1].ranges
    first = carry(snapshot(name, route, store.tso(), 8))
    assert (first.rows, first.reached[0].end, first.error) == (8, False, None)
    rest = carry(snapshot(name, route, store.tso(), 100, after=first.reached[0].last_key))
    assert (rest.rows, rest.reached[0].end) == (12, True)


@pytest.mark.parametrize("size", [0, 1 << 30])
def test_small_and_large_pieces_carry_the_same_rows(name: str, store: MemoryStore, target: Target, size: int) -> None:
    [route] = store.tables[1].ranges
    receipt = carry(log(name, route, store.tso(), size))
    assert (receipt.rows, receipt.error) == (20, None)
    assert {"pull", "write", "close"} <= receipt.seconds.keys()


@pytest.mark.parametrize("size", [0, 1 << 30])
def test_what_goes_wrong_is_a_receipt_with_its_place_and_leaves_nothing(
    name: str, store: MemoryStore, target: Target, size: int
) -> None:
    target.fail = [SinkAway("the bucket does not answer")]
    [route] = store.tables[1].ranges
    receipt = carry(log(name, route, store.tso(), size))
    assert receipt.error is not None
    assert receipt.error["kind"] == "SinkAway"
    assert (receipt.error["subscription"], receipt.error["table"], receipt.error["position"]) == ("s", "1", "s/1/1/0")
    assert target.staged == {}


def test_a_bug_is_a_receipt_too(name: str, store: MemoryStore, target: Target) -> None:
    target.fail = [ZeroDivisionError("division by zero")]
    [route] = store.tables[1].ranges
    receipt = carry(log(name, route, store.tso()))
    assert receipt.error is not None
    assert receipt.error["kind"] == "WorkerLost"
    assert "ZeroDivisionError" in receipt.error["message"]


def test_history_that_is_lost_is_said_and_never_read_anew(name: str, store: MemoryStore, target: Target) -> None:
    [route] = store.tables[1].ranges
    store.lost[route.id] = store.tso()
    receipt = carry(log(name, route, store.tso()))
    assert receipt.error is not None
    assert receipt.error["kind"] == "PositionLost"
