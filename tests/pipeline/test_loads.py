"""Dealing loses nothing, doubles nothing, and spreads the weight."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailrace.pipeline.carry import Order
from tailrace.pipeline.loads import deal
from tailrace.progress.cut import Piece
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec


def order(number: int, size: int) -> Order:
    piece = Piece("s", 1, 1, number, "log", 7, 0, (), 1, 2, bytes=size)
    return Order(piece, UpstreamSpec("memory://loads"), SinkSpec("s", "blackhole://"))


@given(st.lists(st.integers(0, 1 << 30), max_size=50), st.integers(1, 8))
def test_every_order_is_dealt_once(sizes: list[int], slots: int) -> None:
    loads = deal([order(number, size) for number, size in enumerate(sizes)], slots)
    assert sorted(index for load in loads for index in load) == list(range(len(sizes)))
    assert len(loads) == min(slots, len(sizes))
    assert all(loads)


def test_large_pieces_do_not_share_a_slot_while_another_is_free() -> None:
    loads = deal([order(0, 1 << 30), order(1, 1), order(2, 1 << 30), order(3, 1)], 2)
    assert {0, 2} not in [set(load) for load in loads]
