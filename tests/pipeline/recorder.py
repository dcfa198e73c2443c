"""A sink that keeps what became visible in memory, and commits by naming, as the storage sink does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, SinkSpec, Written

Row = tuple[int, int, int, Any, Any]
"""table id, op, commit ts, before, after"""


@dataclass(slots=True)
class Target:
    """What outlives a sink: staged attempts, visible rows by (cut, piece), DDL and checkpoint."""

    staged: dict[str, list[Row]] = field(default_factory=dict)
    visible: dict[str, list[Row]] = field(default_factory=dict)
    ddl: list[str] = field(default_factory=list)
    checkpoint: Ts = 0
    attempts: int = 0
    fail: list[Exception] = field(default_factory=list)
    routes: int = 0

    def rows(self) -> list[Row]:
        return [row for rows in self.visible.values() for row in rows]


class Recorder:
    def __init__(self, spec: SinkSpec, target: Target) -> None:
        self.target = target
        self.capabilities = Capabilities(
            "exactly_once", True, 0.0, 1 << 20, True, idle_seconds=0.05, routes=target.routes
        )
        self._seat: Seat | None = None

    def verify(self) -> list[Problem]:
        return []

    def open(self, seat: Seat) -> None:
        self._seat = seat

    def writer(self, piece: Piece) -> Attempt:
        self.target.attempts += 1
        return Attempt(self.target, f"{piece.name}#{self.target.attempts}")

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        assert self._seat is not None
        paid = (receipt for receipt in sorted(receipts, key=lambda each: each.piece) if receipt.payload)
        staged = [json.loads(receipt.payload) for receipt in paid]
        naming = json.dumps([[f"{cut.number:06}-{at:03}", name] for at, name in enumerate(staged)])
        self._seat.save_naming(cut, naming)
        self.recover(cut, naming)

    def recover(self, cut: Cut, naming: str) -> None:
        for final, staged in json.loads(naming):
            if staged in self.target.staged:
                self.target.visible[final] = self.target.staged.pop(staged)

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        self.target.ddl += [event.query for event in events if event.query not in self.target.ddl]

    def advance(self, to_ts: Ts) -> None:
        assert to_ts >= self.target.checkpoint
        self.target.checkpoint = to_ts

    def abort(self, cut: Cut) -> None:
        pass

    def close(self) -> None:
        pass


class Attempt:
    def __init__(self, target: Target, name: str) -> None:
        self._target = target
        self._name = name
        self._rows: list[Row] = []

    def write(self, batch: ChangeBatch) -> None:
        if self._target.fail:
            raise self._target.fail.pop()
        columns = (batch.op, batch.commit_ts, batch.before, batch.after)
        rows = zip(*(column.to_pylist() for column in columns), strict=True)
        self._rows += [(batch.table.table_id, *row) for row in rows]

    def close(self) -> Written:
        self._target.staged[self._name] = self._rows
        return Written(len(self._rows), 0, json.dumps(self._name))

    def discard(self) -> None:
        self._target.staged.pop(self._name, None)
