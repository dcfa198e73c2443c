"""Targets: what the sink asks of a database, whichever it is. SQLite's is `sqlite.database`.

What a `Target` guarantees: everything within `transaction` is done or not done as a whole, together with the mark that
it leaves; a transaction of an older epoch than the newest that `claim` brought raises Fenced. Errors are SinkAway
(locked, full) or SinkRefused, and name the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.sink.base import Problem


@dataclass(frozen=True, slots=True)
class Mark:
    """What a subscription has done here: the last cut whose rows are in, the ts of the last DDLs that were run."""

    epoch: int = 0
    cut: int = 0
    ddl_ts: Ts = 0


class Target(Protocol):
    @property
    def place(self) -> str:
        """The database, for messages."""
        ...

    def verify(self) -> list[Problem]: ...

    def claim(self, epoch: int) -> Mark:
        """Raise the epoch, so that nobody of an older one writes any more; what was done so far."""
        ...

    def transaction(self, epoch: int) -> AbstractContextManager[Mark]:
        """A transaction behind the fence; ends in a commit, or in nothing where an error leaves it."""
        ...

    def mark(self, mark: Mark) -> None:
        """Within a transaction: what will have been done with it."""
        ...

    def apply(self, table: TableSchema, batches: Sequence[pa.RecordBatch]) -> None:
        """Within a transaction: the changes of one table, in order."""
        ...

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        """Within a transaction: all events of one commit ts."""
        ...

    def close(self) -> None: ...
