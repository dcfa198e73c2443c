"""Loads: the orders of one job, dealt out to as many tasks as there are slots. Pure, and what a task does with its own.

Invariant: dealing loses nothing and doubles nothing. A load is a list of orders as bytes, because that is what
travels in a cell of a DataFrame; its answer is the list of receipts in the same order.
"""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Sequence

from tailrace.pipeline.carry import Order
from tailrace.pipeline.hands import Hands
from tailrace.progress.cut import Receipt

OVERHEAD_BYTES = 256 << 10


def deal(orders: Sequence[Order], slots: int) -> list[list[int]]:
    """The indices of the orders, spread so that each slot has about the same weight; the largest are dealt first."""
    heap = [(0, slot) for slot in range(min(slots, len(orders)))]
    loads: list[list[int]] = [[] for _ in heap]
    for index in sorted(range(len(orders)), key=lambda each: -orders[each].piece.bytes):
        weight, slot = heapq.heappop(heap)
        loads[slot].append(index)
        heapq.heappush(heap, (weight + orders[index].piece.bytes + OVERHEAD_BYTES, slot))
    return loads


def pack(orders: Sequence[Order], patience: float) -> bytes:
    """`patience`: after how many seconds a task may go on without a piece."""
    return pickle.dumps((list(orders), patience), protocol=5)


def unpack_receipts(answer: bytes) -> list[Receipt]:
    receipts: list[Receipt] = pickle.loads(answer)
    return receipts


def carry_load(load: bytes) -> bytes:
    """Carry all orders of a load, but for those that take too long."""
    orders, patience = pickle.loads(load)
    return pickle.dumps(Hands(orders, patience).receipts(), protocol=5)
