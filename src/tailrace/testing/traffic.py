"""Random traffic in the shop that outlives faults: transactions of every kind, from a seed, on threads of their own.

Each writer has keys of its own and remembers which of them are there. After an error whose outcome is unknown it looks
into the store before it goes on, so it never asks for what cannot be, however often servers die or tables change
under it. What is true is only in the store.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Collection
from dataclasses import dataclass, field

from tailrace.change.schema import TableSchema
from tailrace.dataserver.client import StoreClient, StoreTransaction
from tailrace.errors import NotFound, TableGone, TailraceError, Transient
from tailrace.testing import shop

KEYS_EACH = 1_000_000
LONGEST_RUN = 6
IN_A_ROW = 400
AFTER_ERROR_S = 0.1


@dataclass(slots=True)
class Done:
    transactions: int = 0
    rows: int = 0
    errors: int = 0


@dataclass(slots=True)
class _Keys:
    """What a writer knows of its keys of one table; `unknown`: it has to look."""

    there: set[int] = field(default_factory=set)
    next: int = 0
    unknown: bool = True


class Traffic:
    """`with Traffic(client, schema, seed): ...`; what no writer could get over is raised when the block ends."""

    def __init__(self, client: StoreClient, schema: str, seed: int, per_second: float = 30.0, writers: int = 2) -> None:
        self._client, self._schema = client, schema
        self._pause = writers / per_second
        self._stop, self._still = threading.Event(), threading.Event()
        self._errors: list[BaseException] = []
        self.done = [Done() for _ in range(writers)]
        self._threads = [
            threading.Thread(target=self._run, args=(number, f"{seed}/{number}"), name=f"traffic-{number}", daemon=True)
            for number in range(writers)
        ]

    @property
    def transactions(self) -> int:
        return sum(done.transactions for done in self.done)

    @property
    def rows(self) -> int:
        return sum(done.rows for done in self.done)

    def hold(self, still: bool) -> None:
        """Let nothing begin until it is called again."""
        if still:
            self._still.set()
        else:
            self._still.clear()

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _run(self, number: int, seed: str) -> None:
        dice, keys, failed = random.Random(seed), dict[str, _Keys](), 0
        try:
            while not self._stop.wait(self._pause):
                if self._still.is_set():
                    continue
                try:
                    self._transact(number, dice, keys)
                    failed = 0
                except TailraceError as error:
                    failed += 1
                    self.done[number].errors += 1
                    if failed > IN_A_ROW or not isinstance(error, Transient | NotFound | TableGone):
                        raise
                    for each in keys.values():
                        each.unknown = True
                    self._stop.wait(AFTER_ERROR_S)
        except BaseException as error:
            self._errors.append(error)

    def _transact(self, number: int, dice: random.Random, keys: dict[str, _Keys]) -> None:
        names = dice.sample(sorted(shop.tables(self._schema)), dice.choice((1, 1, 2, 4)))
        chosen = [(self._client.table(self._schema, name), keys.setdefault(name, _Keys())) for name in names]
        for table, known in chosen:
            if known.unknown:
                self._look(number, table, known)
        transaction = self._client.begin()
        try:
            done = [(known, *self._change(transaction, table, known, dice)) for table, known in chosen]
        except BaseException:
            transaction.rollback()
            raise
        transaction.commit()
        self.done[number].transactions += 1
        for known, came, went, changed in done:
            known.there = (known.there | set(came)) - set(went)
            self.done[number].rows += len(came) + len(went) + changed

    def _look(self, number: int, table: TableSchema, known: _Keys) -> None:
        own = range((number + 1) * KEYS_EACH, (number + 2) * KEYS_EACH)
        found = self._client.read(table).column("id").to_pylist()
        known.there = {key for key in found if key in own}
        known.next = max([own.start, known.next, *(key + 1 for key in known.there)])
        known.unknown = False

    def _change(
        self, transaction: StoreTransaction, table: TableSchema, known: _Keys, dice: random.Random
    ) -> tuple[Collection[int], Collection[int], int]:
        """One run of neighbouring keys that comes, goes or changes; which came, which went, how many changed."""
        wish = dice.choices(("insert", "update", "delete"), (4, 4, 2))[0] if known.there else "insert"
        seed = dice.randrange(1 << 30)
        if wish == "insert":
            run = range(known.next, known.next + dice.randint(1, LONGEST_RUN))
            known.next = run.stop
            transaction.insert(table, shop.image(table, len(run), first=run.start, seed=seed))
            return run, (), 0
        start = dice.choice(sorted(known.there))
        length = next((n for n in range(1, LONGEST_RUN) if start + n not in known.there), LONGEST_RUN)
        run = range(start, start + dice.randint(1, length))
        image = shop.image(table, len(run), first=run.start, seed=seed)
        if wish == "update":
            transaction.update(table, image)
            return (), (), len(run)
        transaction.delete(table, image)
        return (), run, 0
