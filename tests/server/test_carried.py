"""Services with real conductors on one meta database: whoever carries, each change arrives once and in order."""

from __future__ import annotations

import itertools
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailrace import plugins
from tailrace.pipeline.assignment import Listener
from tailrace.pipeline.conductor import Conductor
from tailrace.pipeline.job import LocalRunner
from tailrace.progress import database
from tailrace.progress.ledger import Ledger
from tailrace.server.requests import SubscribeRequest
from tailrace.server.service import Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions
from tailrace.sink.base import SinkSpec
from tailrace.upstream.memory import memory_store
from tests.pipeline.conftest import shop_table
from tests.pipeline.recorder import Recorder, Target
from tests.server.carriers import until as until_within

_numbers = itertools.count(1)


def until(done: Callable[[], bool]) -> None:
    """Ample: what counts here is what has arrived in the end."""
    until_within(done, 30.0)


class Town:
    """Subscriptions of one table, each into a target of its own; servers come and go; somebody writes all the time."""

    def __init__(self, folder: Path, number: int) -> None:
        self.name = f"carried-{next(_numbers)}"
        self.meta = database.open_meta(f"sqlite:///{folder}/meta.db")
        self.store = memory_store(self.name)
        self.store.create(shop_table(1, "orders"))
        self.targets = {f"{self.name}-{at}": Target() for at in range(number)}
        self.services: dict[str, Service] = {}
        self.commits: list[int] = []
        self.largest_wait = 0.0
        self._done = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)
        self.subscriptions = Subscriptions(self.meta, 1)

    def begin(self) -> None:
        for name in self.targets:
            self.subscriptions.subscribe(SubscribeRequest(name, f"memory://{self.name}", "blackhole://", start="now"))
        self._writer.start()

    def start(self, name: str, lease: float = 2.0) -> None:
        def make(ledger: Ledger, listener: Listener) -> Conductor:
            return Conductor(LocalRunner(), ledger, listener)

        service = Service(self.meta, ServiceOptions(name, 1, lease, poll_seconds=0.05), make)
        service.start()
        self.services[name] = service

    def stop(self, name: str) -> None:
        self.services.pop(name).stop()

    def owners(self) -> dict[str, int]:
        owners = [each.subscription.owner for each in self.subscriptions.all()]
        return {owner: owners.count(owner) for owner in set(owners)}

    def end(self) -> None:
        """Nobody writes any more, and everything has arrived: once, in order, whole."""
        self._done.set()
        self._writer.join()
        last = self.commits[-1]
        until(lambda: all(target.checkpoint >= last for target in self.targets.values()))
        for name, target in self.targets.items():
            seen = [ts for final in sorted(target.visible) for _, _, ts, _, _ in target.visible[final]]
            first = self.commits.index(seen[0])
            assert seen == self.commits[first:], f"{name} misses or doubles a change"

    def _write(self) -> None:
        value = itertools.count(1)
        while not self._done.wait(0.05):
            ts = self.store.write({1: {1: {"id": 1, "v": next(value)}}})
            self.commits.append(ts)


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.3)
    made = Town(tmp_path, 6)

    def opened(spec: SinkSpec) -> Recorder:
        return Recorder(spec, made.targets[spec.subscription])

    monkeypatch.setattr(plugins, "open_sink", opened)
    made.begin()
    yield made
    made._done.set()
    for name in list(made.services):
        made.stop(name)
    made.meta.close()


def test_servers_that_come_and_go_lose_nothing_and_double_nothing(town: Town) -> None:
    town.start("one")
    until(lambda: town.owners() == {"one": 6})
    town.start("two")
    until(lambda: town.owners() == {"one": 3, "two": 3})
    town.start("three")
    until(lambda: town.owners() == {"one": 2, "two": 2, "three": 2})
    town.stop("one")
    until(lambda: town.owners() == {"two": 3, "three": 3})
    town.stop("three")
    until(lambda: town.owners() == {"two": 6})
    town.end()


def test_a_meta_database_that_is_locked_past_the_lease_costs_time_and_nothing_else(town: Town, tmp_path: Path) -> None:
    town.start("one")
    until(lambda: all(target.visible for target in town.targets.values()))
    holder = sqlite3.connect(tmp_path / "meta.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    time.sleep(3.0)
    holder.execute("ROLLBACK")
    holder.close()
    before = len(town.commits)
    until(lambda: len(town.commits) > before + 10)
    town.end()
    until(lambda: {each.subscription.state for each in town.subscriptions.all()} == {"normal"})
    assert all(each.subscription.epoch > 1 for each in town.subscriptions.all())


def test_a_table_that_is_gone_and_comes_back_costs_time_and_nothing_else(town: Town, tmp_path: Path) -> None:
    town.start("one")
    until(lambda: all(target.visible for target in town.targets.values()))
    holder = sqlite3.connect(tmp_path / "meta.db", isolation_level=None)
    holder.execute("ALTER TABLE subscription RENAME TO away")
    time.sleep(3.0)
    holder.execute("ALTER TABLE away RENAME TO subscription")
    holder.close()
    town.end()
    until(lambda: {each.subscription.state for each in town.subscriptions.all()} == {"normal"})
