"""A sink into this process's memory, the simplest that keeps every guarantee, and what breaks when a line is left out.

A shelf holds staged pieces, and the cuts that readers see. It is written to be read beside `sink.base`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, Sink, Written
from tailrace.testing.conformance.items import SCHEMA, Change, changes_of, state_after


@dataclass
class Shelf:
    """`staged` by (epoch, cut, attempt), `cuts` by number; an item is a table's changes, or the name of a table that
    was dropped."""

    staged: dict[str, tuple[str, list[Change]]] = field(default_factory=dict)
    cuts: dict[int, dict[str, tuple[str, list[Change]]]] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    attempts: int = 0

    def visible(self) -> Mapping[str, Mapping[int, str | None]]:
        tables: dict[str, list[Change]] = {}
        for number in sorted(self.cuts):
            for name, changes in self.cuts[number].values():
                tables.setdefault(name, []).extend(changes)
        states = {name: state_after(changes) for name, changes in tables.items() if name not in self.dropped}
        return {name: state for name, state in states.items() if state}

    def rows_seen(self) -> int | None:
        return sum(len(changes) for cut in self.cuts.values() for _, changes in cut.values())


class ShelfSink:
    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.seat: Seat | None = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("exactly_once", ddl=True, cut_seconds=0, piece_bytes=1 << 20, merged=False)

    def verify(self) -> list[Problem]:
        return []

    def open(self, seat: Seat) -> None:
        seat.check()
        self.seat = seat

    def writer(self, piece: Piece) -> ShelfWriter:
        self.shelf.attempts += 1
        return ShelfWriter(self.shelf, f"{piece.name}/{self.shelf.attempts}")

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        assert self.seat is not None
        naming = json.dumps([receipt.payload for receipt in receipts])
        self.seat.save_naming(cut, naming)
        self.recover(cut, naming)

    def recover(self, cut: Cut, naming: str) -> None:
        self.shelf.cuts[cut.number] = {name: self.shelf.staged[name] for name in json.loads(naming)}

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        self.shelf.dropped |= {f"{SCHEMA}.{e.table_name}" for e in events if e.type == DdlType.DROP_TABLE}

    def advance(self, to_ts: Ts) -> None:
        """Readers of a shelf do not ask for the time."""

    def abort(self, cut: Cut) -> None:
        """What is staged counts only when a naming says so."""

    def close(self) -> None:
        self.seat = None


class ShelfWriter:
    def __init__(self, shelf: Shelf, name: str) -> None:
        self.shelf = shelf
        self.name = name
        self.table = ""
        self.changes: list[Change] = []

    def write(self, batch: ChangeBatch) -> None:
        self.table = batch.table.full_name
        self.changes += changes_of([batch])

    def close(self) -> Written:
        self.shelf.staged[self.name] = (self.table, self.changes)
        return Written(len(self.changes), 0, self.name)

    def discard(self) -> None:
        self.shelf.staged.pop(self.name, None)


@dataclass
class ShelfTarget(Shelf):
    """A shelf as the suite's target; `kind` is the sink that writes to it."""

    kind: type[ShelfSink] = ShelfSink

    def sink(self) -> Sink:
        return self.kind(self)
