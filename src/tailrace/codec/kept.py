"""What is compiled for a table version, kept for the next batch of it: as many as a worker has tables at a time.

The oldest goes first. A version is known by its name, id and version; two that differ in anything else are told apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from tailrace.change.schema import TableSchema

_MOST = 256


class Compiled(Protocol):
    @property
    def table(self) -> TableSchema: ...


Kind = TypeVar("Kind", bound=Compiled)


@dataclass(frozen=True, slots=True)
class Kept(Generic[Kind]):
    make: Callable[[TableSchema], Kind]
    held: dict[tuple[str, str, int, int], Kind] = field(default_factory=dict, compare=False, repr=False)

    def of(self, table: TableSchema) -> Kind:
        key = (table.schema, table.name, table.table_id, table.version)
        found = self.held.get(key)
        if found is None or (found.table is not table and found.table != table):
            while len(self.held) >= _MOST:
                del self.held[next(iter(self.held))]
            found = self.held[key] = self.make(table)
        return found
