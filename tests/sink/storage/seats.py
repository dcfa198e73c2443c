"""A small ledger and seats for the tests of sinks: what `Seat` asks, kept in memory, with the fence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import Fenced, NotFound
from tailrace.progress.cut import Cut


@dataclass
class Ledger:
    """Survives crashes and owners. `epoch` is that of the newest seat."""

    epoch: int = 0
    naming: tuple[Cut, str] | None = None
    last_cut: int = 0
    tables: dict[tuple[int, Ts], TableSchema] = field(default_factory=dict)

    def add(self, tables: Iterable[TableSchema]) -> None:
        self.tables.update({(table.table_id, table.version): table for table in tables})

    def seat(self) -> MemorySeat:
        """A new owner, whose epoch fences all before it."""
        self.epoch += 1
        return MemorySeat(self, self.epoch)

    def save_progress(self, cut: Cut) -> None:
        self.last_cut, self.naming = cut.number, None


@dataclass
class MemorySeat:
    ledger: Ledger
    epoch: int

    def check(self) -> None:
        if self.epoch != self.ledger.epoch:
            raise Fenced(f"epoch {self.ledger.epoch} owns the subscription, not {self.epoch}")

    def save_naming(self, cut: Cut, naming: str) -> None:
        self.check()
        self.ledger.naming = (cut, naming)

    def load_naming(self) -> tuple[Cut, str] | None:
        return self.ledger.naming

    def last_cut(self) -> int:
        return self.ledger.last_cut

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        try:
            return self.ledger.tables[table_id, version]
        except KeyError:
            raise NotFound(f"no schema of table {table_id} at {version}") from None
