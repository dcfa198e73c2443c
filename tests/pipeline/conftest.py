"""A whole pipeline in one process: an in-memory upstream, a ledger in a file, a recorder for a sink."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import insert

from tailrace import plugins
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import MAX_TS
from tailrace.change.types import ColumnType
from tailrace.errors import TailraceError
from tailrace.pipeline.assignment import Assignment, Report, State
from tailrace.pipeline.conductor import Conductor
from tailrace.pipeline.job import LocalRunner
from tailrace.progress.database import open_meta
from tailrace.progress.ledger import Ledger
from tailrace.progress.tables import subscription
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.memory import MemoryStore, memory_store
from tests.pipeline.recorder import Recorder, Target

_numbers = itertools.count(1)


def shop_table(table_id: int, name: str, *more: str) -> TableSchema:
    columns = [Column(1, "id", ColumnType("bigint"), nullable=False, pk=True), Column(2, "v", ColumnType("int"))]
    columns += [Column(3 + at, extra, ColumnType("int")) for at, extra in enumerate(more)]
    return TableSchema("shop", name, table_id, 0, tuple(columns), pk_is_handle=True)


@dataclass
class Rig:
    store: MemoryStore
    target: Target
    ledger: Ledger
    uri: str
    states: list[tuple[State, TailraceError | None]] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    conductor: Conductor | None = None
    upstream: str = ""
    """Where it reads from, when not from `store`."""

    def on_state(self, subscription: str, state: State, error: TailraceError | None) -> None:
        self.states.append((state, error))

    def on_report(self, subscription: str, report: Report) -> None:
        self.reports.append(report)

    def start(self, *, start: str = "snapshot", end_ts: int = MAX_TS, rules: tuple[str, ...] = ("shop.*",)) -> None:
        self.conductor = Conductor(LocalRunner(), self.ledger, self)
        self.conductor.start()
        sink = SinkSpec("s", "recorder://" + self.uri)
        upstream = UpstreamSpec(self.upstream or "memory://" + self.uri)
        self.conductor.add(Assignment("s", 1, upstream, sink, rules, start=start, end_ts=end_ts))

    def stop(self) -> None:
        if self.conductor is not None:
            self.conductor.stop()
            self.conductor = None

    def until(self, done: Callable[[], bool], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"it did not come: {self.states[-3:]} {self.reports[-1:]}"
            time.sleep(0.005)

    def until_delivered(self, ts: int) -> None:
        self.until(lambda: self.target.checkpoint >= ts)

    def copy(self, table_id: int) -> dict[int, dict[str, int | None]]:
        """The table that a reader of the target ends up with, who takes every row once and in order."""
        rows: dict[int, dict[str, int | None]] = {}
        for final in sorted(self.target.visible):
            for of, _, _, before, after in self.target.visible[final]:
                if of == table_id and before is not None:
                    rows.pop(before["id"], None)
                if of == table_id and after is not None:
                    rows[after["id"]] = {name: value for name, value in after.items() if value is not None}
        return rows


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    uri = f"rig-{next(_numbers)}"
    target = Target()
    meta = open_meta(f"sqlite:///{tmp_path}/meta.db")
    with meta.writing() as connection:
        texts = dict.fromkeys(("owner", "upstream", "sink", "config", "time_zone", "error"), "")
        numbers = {"cluster_id": 1, "epoch": 1, "lease_until": 0, "writes": 0, "end_ts": MAX_TS, "created": 0}
        row = {"name": "s", "rules": "[]", "start": "snapshot", "state": "normal", "case_sensitive": 0}
        connection.execute(insert(subscription).values(texts | numbers | row))
    monkeypatch.setattr(plugins, "open_sink", lambda spec: Recorder(spec, target))
    made = Rig(memory_store(uri), target, Ledger(meta), uri)
    yield made
    made.stop()
