"""Runners: what carries the orders of a job, and the one that needs no Spark.

A `Runner` guarantees one receipt for each order, in the order of the orders, or an exception for the whole job.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from tailrace.pipeline.carry import Order, carry
from tailrace.pipeline.spread import carry_here, divided
from tailrace.progress.cut import Receipt


@dataclass(frozen=True, slots=True)
class Terms:
    """What a job may take: so many tasks, and so many seconds before a task goes on without a piece."""

    slots: int
    patience: float


class Runner(Protocol):
    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        ...

    def open(self) -> None:
        """Have everything started before the first piece comes; `run` does without."""
        ...

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        """Raises WorkerLost when the job failed as a whole."""
        ...

    def close(self) -> None: ...


class InProcessRunner:
    """Carries pieces in threads of this process: for one command on one machine, where a JVM would cost more than the
    work. Arrow's kernels let go of the interpreter, so a few threads do overlap."""

    def __init__(self, slots: int = 2) -> None:
        self.slots = slots
        self._pool = ThreadPoolExecutor(slots, thread_name_prefix="piece")

    def open(self) -> None:
        """There is nothing to start."""

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        """A piece is waited for as long as it takes: nobody else's stands behind it."""
        return divided(orders, self._carry, carry_here)

    def _carry(self, orders: Sequence[Order]) -> list[Receipt]:
        if len(orders) == 1:
            return [carry(orders[0])]
        return list(self._pool.map(carry, orders))

    def close(self) -> None:
        self._pool.shutdown(wait=True)
