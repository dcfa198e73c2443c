"""Traffic in the shop: transactions over several tables and a DDL, while somebody captures the changes.

A thread that writes until it is told to stop, as fast as it is asked to. Every transaction makes an order with its
items, changes products and customers, and now and then deletes an old order with its items; so each kind of change
of each kind of key goes by. What it did can be counted; what it meant is only in the store.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column
from tailrace.dataserver.client import StoreClient
from tailrace.errors import Locked
from tailrace.testing import shop

ITEMS_EACH = 3
DELETE_EVERY = 5


@dataclass(slots=True)
class Done:
    transactions: int = 0
    rows: int = 0
    ddl: int = 0


class ShopTraffic:
    """`with ShopTraffic(client, tables, sizes): ...`; an error of the thread is raised when the block ends."""

    def __init__(
        self, client: StoreClient, sizes: dict[str, int], per_second: float = 20.0, schema: str = shop.SCHEMA
    ) -> None:
        self._client = client
        self._sizes = sizes
        self._schema = schema
        self._pause = 1.0 / per_second
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="shop-traffic", daemon=True)
        self.done = Done()

    def __enter__(self) -> ShopTraffic:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def add_column(self, name: str, column: str, kind: str) -> None:
        """Alter a table while the traffic goes on."""
        self._client.add_column(self._schema, name, Column(0, column, parse_type(kind)))
        self.done.ddl += 1

    def _run(self) -> None:
        number = 0
        try:
            while not self._stop.is_set():
                try:
                    self._transact(number)
                except Locked:
                    continue  # a DDL, or another writer, came first: the same transaction again
                number += 1
                self._stop.wait(self._pause)
        except BaseException as error:
            self._error = error

    def _transact(self, number: int) -> None:
        orders, items, products, customers = (
            self._client.table(self._schema, name) for name in ("orders", "items", "products", "customers")
        )
        first_order = self._sizes["orders"] + 1 + number
        first_item = self._sizes["items"] + 1 + number * ITEMS_EACH
        touched = 1 + number % (self._sizes["products"] - 1)
        deletes = number % DELETE_EVERY == 0
        with self._client.transaction() as transaction:
            transaction.insert(orders, shop.image(orders, 1, first=first_order))
            transaction.insert(items, shop.image(items, ITEMS_EACH, first=first_item))
            transaction.update(products, shop.image(products, 1, first=touched, seed=number + 2))
            transaction.update(customers, shop.image(customers, 2, first=touched, seed=number + 2))
            if deletes:
                transaction.delete(items, shop.image(items, ITEMS_EACH, first=1 + number * ITEMS_EACH))
                transaction.delete(orders, shop.image(orders, 1, first=1 + number))
        self.done.transactions += 1
        self.done.rows += 4 + ITEMS_EACH + (1 + ITEMS_EACH if deletes else 0)
