"""Hands: each order has its receipt, and a piece that hangs is left behind without holding the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from tailrace.pipeline import hands as room
from tailrace.pipeline.carry import Order
from tailrace.pipeline.hands import Hands, left_behind
from tailrace.progress.cut import Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec

PATIENCE = 0.2


class Carrier:
    """Carries by the name of the subscription: `hangs` until it is let go, `slow` for a while, others at once."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.under_way = 0
        self.most = 0
        self._lock = threading.Lock()

    def carry(self, order: Order, gone: threading.Event) -> Receipt:
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        name = order.piece.subscription
        if name.startswith("hangs"):
            self.go.wait(10)
        time.sleep(0.3 if name.startswith("slow") else 0.002)
        with self._lock:
            self.under_way -= 1
        return Receipt(order.piece.number, rows=1)


@pytest.fixture
def carrier(monkeypatch: pytest.MonkeyPatch) -> Iterator[Carrier]:
    made = Carrier()
    monkeypatch.setattr(room, "carry", made.carry)
    yield made
    made.go.set()
    end = time.monotonic() + 5
    while left_behind():
        assert time.monotonic() < end, "an attempt that was left behind did not end"
        time.sleep(0.01)


def order(number: int, name: str, size: int = 0) -> Order:
    piece = Piece(name, 1, 1, number, "log", 7, 0, (), 1, 2, bytes=size)
    return Order(piece, UpstreamSpec("memory://hands"), SinkSpec(name, "blackhole://"))


def kinds(receipts: Sequence[Receipt]) -> list[str]:
    return [receipt.error["kind"] if receipt.error else "" for receipt in receipts]


def test_each_order_has_its_receipt_in_its_place(carrier: Carrier) -> None:
    orders = [order(at, "well", size=at % 3 * room.LARGE_BYTES) for at in range(30)]
    receipts = Hands(orders, PATIENCE).receipts()
    assert [receipt.piece for receipt in receipts] == list(range(30))
    assert set(kinds(receipts)) == {""}


def test_large_pieces_are_carried_one_after_another(carrier: Carrier) -> None:
    Hands([order(at, "well", room.LARGE_BYTES) for at in range(8)], PATIENCE).receipts()
    assert carrier.most == 1


def test_pieces_that_hang_are_left_behind_and_the_others_are_there(carrier: Carrier) -> None:
    names = [f"hangs {at}" if at % 5 == 0 else f"well {at}" for at in range(40)]
    begun = time.monotonic()
    receipts = Hands([order(at, name) for at, name in enumerate(names)], PATIENCE).receipts()
    assert time.monotonic() - begun < 5 * PATIENCE + 2.0
    assert kinds(receipts) == ["Overdue" if name.startswith("hangs") else "" for name in names]
    assert left_behind() == 8


def test_while_all_are_slow_none_is_left_behind(carrier: Carrier) -> None:
    receipts = Hands([order(at, f"slow {at}") for at in range(8)], PATIENCE).receipts()
    assert set(kinds(receipts)) == {""}


def test_a_large_piece_has_the_time_that_its_bytes_need(carrier: Carrier) -> None:
    assert kinds(Hands([order(0, "slow", 2 * room.BYTES_PER_SECOND)], PATIENCE).receipts()) == [""]
    assert kinds(Hands([order(0, "slow")], PATIENCE).receipts()) == ["Overdue"]


def test_of_one_subscription_only_a_few_hang_in_a_process(carrier: Carrier) -> None:
    for _ in range(room.LEFT_OF_ONE):
        Hands([order(0, "hangs")], PATIENCE).receipts()
    begun = time.monotonic()
    receipts = Hands([order(at, "hangs") for at in range(20)], PATIENCE).receipts()
    assert time.monotonic() - begun < PATIENCE
    assert set(kinds(receipts)) == {"Overdue"} and left_behind() == room.LEFT_OF_ONE
    assert "hang in a worker" in str(receipts[0].error)
