"""The world that a nemesis harms: a scene, a shop with traffic, subscriptions into folders, and readers of them.

A copy is one subscription with the folder that it fills and the watch that reads it. Copies come and go while
everything else goes wrong, so snapshots are taken under fire as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from tailrace.codec.csv.options import CsvOptions
from tailrace.errors import AlreadyExists, ConfigError, NotFound, TableGone, Transient
from tailrace.observe import clock
from tailrace.route.filter import TableFilter
from tailrace.server.requests import SubscribeRequest
from tailrace.testing import shop
from tailrace.testing.reader import FolderForm
from tailrace.testing.scene import Scene
from tailrace.testing.traffic import Traffic
from tailrace.testing.validators import Finding, FolderWatch

SCHEMA = "storm"
RULE = f"{SCHEMA}.*"
ROWS = 2_000
HANDLES = (0, 3_000_000)
CONFIG = '[sink]\nschema-dialect = "new"\n[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true\n'
FORM = FolderForm(CsvOptions(include_commit_ts=True, output_old_value=True))
# What a statement or a request may end in while servers die; the outcome of some of them stays unknown.
EXPECTED = (Transient, NotFound, TableGone, AlreadyExists, ConfigError)


@dataclass(slots=True)
class Copy:
    name: str
    folder: Path
    watch: FolderWatch
    asked: Future[None] | None = None


@dataclass(slots=True)
class Extra:
    """A table beside the shop's, which statements make, fill, rename and drop."""

    name: str
    columns: int = 0


class World:
    """`with World(folder, seed) as world: ...`."""

    def __init__(self, folder: Path, seed: int, per_second: float) -> None:
        self.folder = folder
        self._clock = folder / "clock"
        env = {clock.VARIABLE: str(self._clock)}
        self.scene = Scene(folder, ("--master", "local[2,4]"), lease=3.0, env=env)
        self.copies: list[Copy] = []
        self.extras: list[Extra] = []
        self.jump_ms = 0
        self.statements = 0
        self._numbers = itertools.count(1)
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="nemesis")
        self._opened = ExitStack()
        self._seed, self._per_second = seed, per_second
        self.asked: list[Future[None]] = []

    def __enter__(self) -> Self:
        self._opened.enter_context(self.scene)
        self._opened.callback(self._pool.shutdown)
        client, sizes = self.scene.client, shop.sizes(ROWS)
        client.create_schema(SCHEMA)
        for name, definition in shop.tables(SCHEMA).items():
            table = client.create_table(definition, ranges=3, handles=HANDLES)
            client.bulk_insert(table, shop.image(table, sizes[name]))
        self.traffic = Traffic(client, SCHEMA, self._seed, self._per_second)
        self._opened.enter_context(self.traffic)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.jump(0)
        self.scene.arm("")
        self.scene.store.resume_all()
        for server in self.scene.servers:
            server.resume()
        self._opened.close()

    def jump(self, milliseconds: int) -> None:
        """Let the clocks of all processes be so far from this machine's."""
        self.jump_ms = milliseconds
        swap = self._clock.with_suffix(".new")
        swap.write_text(str(milliseconds))
        swap.replace(self._clock)

    # --- copies

    def open_copy(self) -> Copy:
        """Begin a subscription; the request is repeated until it is answered."""
        name = f"copy{next(self._numbers)}"
        copy = Copy(name, self.folder / name, FolderWatch(self.folder / name, FORM))
        copy.asked = self._pool.submit(self._subscribe, copy)
        self.copies.append(copy)
        return copy

    def close_copy(self, copy: Copy) -> None:
        self.copies.remove(copy)
        self.scene.patiently(lambda: self.scene.call(lambda client: client.cancel(copy.name)))
        self.scene.until(lambda: self.scene.ended(copy.name), f"{copy.name} is not cancelled")

    def _subscribe(self, copy: Copy) -> None:
        sink = f"file://{copy.folder}?protocol=csv&flush-interval=2s"
        request = SubscribeRequest(copy.name, self.scene.store.uri, sink, CONFIG, (RULE,))
        # It is asked for twice where the first answer was lost.
        with suppress(AlreadyExists):
            self.scene.patiently(lambda: self.scene.call(lambda client: client.subscribe(request)), revive=False)

    def look(self) -> list[Finding]:
        """What the readers of all copies find now."""
        return [
            Finding(found.rule, f"{copy.name} {found.place}", found.message)
            for copy in self.copies
            for found in copy.watch.look()
        ]

    # --- statements

    def ask(self, statement: Callable[[], object]) -> None:
        """Run a statement beside everything else; it may fail, or nobody may know whether it did."""

        def run() -> None:
            with suppress(*EXPECTED):
                statement()
                self.statements += 1

        self.asked = [each for each in self.asked if not each.done()] + [self._pool.submit(run)]

    def settle(self) -> None:
        """Wait for the statements and requests that are under way; raises what none of them may end in."""
        for asked in [*self.asked, *(copy.asked for copy in self.copies if copy.asked is not None)]:
            asked.result()
        self.asked = []

    def source(self) -> dict[str, pa.Table]:
        """The tables of the store as they are now, by full name."""
        client = self.scene.client

        def read() -> dict[str, pa.Table]:
            client.forget()
            tables = client.upstream.tables(TableFilter((RULE,), False), client.now())
            return {table.full_name: client.read(table) for table in tables}

        return self.scene.patiently(read)
