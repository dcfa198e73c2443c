"""Hands: the threads of one task, which carry its pieces, and know when to go on without one.

Small pieces are carried together, so that their waits overlap, large ones one after another, so that memory stays
bounded. Guarantees: the answer has a receipt for each order, and does not wait for a piece that hangs: one that takes
longer than `patience`, and much longer than the others did, is left behind with a receipt that says so (`Overdue`).
Its thread notices and ends at its next batch, if it ever comes to one; what it still leaves, no receipt speaks of. Of
one subscription only a few may be left behind in a process: more are refused at once, so hung threads are bounded.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from tailrace.errors import Overdue
from tailrace.pipeline.carry import Order, carry
from tailrace.progress.cut import Receipt

LARGE_BYTES = 4 << 20
THREADS, MOST_THREADS = 4, 32
# A large piece may take as long as this, and more.
BYTES_PER_SECOND = 4 << 20
# While pieces are slow altogether (a busy machine), none of them is the one to be left behind.
TIMES_THE_OTHERS = 4.0
STALLED_SECONDS = 0.5
LEFT_OF_ONE = 2

Carrier = Callable[[int, threading.Event], Receipt]

_left_behind: Counter[str] = Counter()
_counting = threading.Lock()


def left_behind() -> int:
    """How many pieces of this process were left behind and have not ended."""
    with _counting:
        return _left_behind.total()


class Hands:
    """`carrier` is given the number of an order; without one the order is carried from its upstream into its sink."""

    def __init__(self, orders: Sequence[Order], patience: float, carrier: Carrier | None = None) -> None:
        self._orders = orders
        self._carrier = carrier or (lambda at, gone: carry(orders[at], gone))
        self._patience = patience
        self._changed = threading.Condition()
        self._small = deque(at for at, order in enumerate(orders) if order.piece.bytes < LARGE_BYTES)
        self._large = deque(at for at, order in enumerate(orders) if order.piece.bytes >= LARGE_BYTES)
        self._begun: dict[int, float] = {}
        self._receipts: dict[int, Receipt] = {}
        self._spent: dict[int, float] = {}
        self._gone = [threading.Event() for _ in orders]

    def receipts(self) -> list[Receipt]:
        """One for each order, in their order."""
        self._carry_all(self._small, THREADS)
        self._carry_all(self._large, 1)
        with self._changed:
            return [self._receipts[at] for at in range(len(self._orders))]

    def _carry_all(self, queue: deque[int], threads: int) -> None:
        mine, at_work = list(queue), 0
        with self._changed:
            while any(at not in self._receipts for at in mine):
                under_way = [at for at in mine if at in self._begun and at not in self._receipts]
                now = time.monotonic()
                stalled = sum(now - self._begun[at] >= STALLED_SECONDS for at in under_way) if threads > 1 else 0
                while queue and at_work < min(threads + stalled, MOST_THREADS):
                    at_work += 1
                    threading.Thread(target=self._work, args=(queue,), name="carry", daemon=True).start()
                for at in under_way:
                    if now - self._begun[at] >= self._allowed(at):
                        self._leave(at)
                        at_work -= 1
                self._changed.wait(0.05 if under_way and self._patience < 10 else 0.25)

    def _work(self, queue: deque[int]) -> None:
        while True:
            with self._changed:
                if not queue:
                    return
                at = queue.popleft()
                self._begun[at] = time.monotonic()
            receipt = self._carry(at)
            with self._changed:
                if at in self._receipts:
                    self._forget(at)
                    return
                self._receipts[at] = receipt
                self._spent[at] = time.monotonic() - self._begun[at]
                self._changed.notify_all()

    def _carry(self, at: int) -> Receipt:
        order = self._orders[at]
        with _counting:
            hung = _left_behind[order.piece.subscription]
        if hung >= LEFT_OF_ONE:
            said = f"{hung} earlier attempts of this subscription hang in a worker; it is tried again when one ends"
            return _overdue(order, said)
        return self._carrier(at, self._gone[at])

    def _allowed(self, at: int) -> float:
        now = time.monotonic()
        others = sorted(
            [spent for each, spent in self._spent.items() if each != at]
            + [now - self._begun[each] for each in self._begun if each not in self._receipts and each != at]
        )
        usual = others[len(others) // 2] if others else 0.0
        return max(
            self._patience + self._orders[at].piece.bytes / BYTES_PER_SECOND,
            TIMES_THE_OTHERS * min(usual, self._patience),
        )

    def _leave(self, at: int) -> None:
        self._gone[at].set()
        spent = time.monotonic() - self._begun[at]
        self._receipts[at] = _overdue(self._orders[at], f"a piece was not carried within {spent:.1f} s")
        with _counting:
            _left_behind[self._orders[at].piece.subscription] += 1

    def _forget(self, at: int) -> None:
        with _counting:
            _left_behind[self._orders[at].piece.subscription] -= 1


def _overdue(order: Order, said: str) -> Receipt:
    piece = order.piece
    error = Overdue(said, subscription=piece.subscription, table=str(piece.table_id), position=piece.name)
    return Receipt(piece.number, error=error.to_fields())
