"""Ranges: the key intervals that data is captured by.

Keys are byte strings in their upstream's order; `start` is inside a range, `end` is not, and an empty `end` is the
end of the key space. An epoch only rises; two ranges of one table and one epoch never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Epoch:
    """Raised in `version` by a split or merge, in `leader` by a change of the leader."""

    version: int = 1
    leader: int = 1


@dataclass(frozen=True, slots=True)
class Range:
    """A key interval of one physical table and who leads it. `partition_id` is 0 for a table without partitions."""

    id: int
    table_id: int
    partition_id: int
    start: bytes
    end: bytes
    epoch: Epoch
    leader: str

    @property
    def physical_id(self) -> int:
        return self.partition_id or self.table_id

    def covers(self, key: bytes) -> bool:
        return self.start <= key and (not self.end or key < self.end)
