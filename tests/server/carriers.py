"""A carrier that carries nothing: it remembers what it was told, and says what a test wants it to say."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.types import ColumnType
from tailrace.pipeline.assignment import Assignment, Listener
from tailrace.progress.ledger import Ledger
from tailrace.upstream.memory import MemoryStore, memory_store

_numbers = itertools.count(1)


@dataclass
class IdleCarrier:
    """`stopping` may be cleared to make `remove` wait, as a delivery does that does not stop at once."""

    ledger: Ledger
    listener: Listener
    carried: dict[str, Assignment] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)
    ready: bool = True

    def __post_init__(self) -> None:
        self.stopping.set()

    def start(self) -> None:
        self.told.append("start")

    def add(self, assignment: Assignment) -> None:
        assert assignment.subscription not in self.carried, "carried twice"
        self.carried[assignment.subscription] = assignment
        self.told.append(f"add {assignment.subscription} {assignment.epoch}")

    def remove(self, subscription: str, *, release: bool) -> None:
        self.stopping.wait(10)
        if self.carried.pop(subscription, None) is not None:
            self.told.append(f"remove {subscription}{' release' if release else ''}")

    def stop(self) -> None:
        self.carried.clear()
        self.told.append("stop")


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for something that another thread does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def table(name: str, table_id: int, schema: str = "shop") -> TableSchema:
    columns = (Column(1, "id", ColumnType("bigint"), nullable=False, pk=True), Column(2, "note", ColumnType("text")))
    return TableSchema(schema, name, table_id, 1, columns, (Index(1, "PRIMARY", ("id",), True, True),), True)


def new_store() -> tuple[str, MemoryStore]:
    """The URI of an in-memory upstream with the tables shop.orders and shop.bills, and its store."""
    name = f"server-{next(_numbers)}"
    store = memory_store(name)
    store.create(table("orders", 1))
    store.create(table("bills", 2))
    return f"memory://{name}", store
