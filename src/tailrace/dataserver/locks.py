"""Locks: the open transactions of one range, which keys they hold, and the lowest ts at which they may commit.

A transaction is open from its first prewrite until its commit or rollback is durable. `min_commit_ts` is above every
timestamp that this server knew to be handed out when the transaction opened, and the commit ts is handed out after
all prewrites: so it bounds from below what may still appear. Not thread-safe: the range's mutex guards it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tailrace.change.tso import Ts
from tailrace.dataserver.rows import Rows, SortKeys
from tailrace.dataserver.wal import Place, Record
from tailrace.errors import Locked, SchemaMismatch


@dataclass(slots=True)
class Held:
    """A prewritten page. `place` is known once it is submitted; `rows` are kept while they are few."""

    record: Record
    keys: SortKeys
    rows: Rows | None = None
    place: Place | None = None
    durable: bool = False


@dataclass(slots=True)
class OpenTxn:
    """`deadline` is on the monotonic clock; `finishing` means that its last record, `end_index`, is on its way."""

    start_ts: Ts
    min_commit_ts: Ts
    primary: int
    deadline: float
    pages: list[Held] = field(default_factory=list)
    finishing: bool = False
    end_index: int = 0

    @property
    def durable(self) -> bool:
        return all(held.durable for held in self.pages)

    def page(self, sequence: int) -> Held | None:
        return next((held for held in self.pages if held.record.sequence == sequence), None)


class Locks:
    def __init__(self) -> None:
        self.open: dict[Ts, OpenTxn] = {}

    def check_free(self, keys: SortKeys, start_ts: Ts) -> None:
        """Raises Locked where another transaction holds one of the keys, SchemaMismatch where this one does."""
        for txn in self.open.values():
            for held in txn.pages:
                if not _share(held.keys, keys):
                    continue
                if txn.start_ts == start_ts:
                    raise SchemaMismatch(f"a key appears twice in the transaction {start_ts}; a key may change once")
                raise Locked(f"a key is held by the transaction {txn.start_ts}", retry_after=0.01)

    @property
    def min_commit_ts(self) -> Ts | None:
        """Nothing that is open can commit below; None: nothing is open."""
        return min((txn.min_commit_ts for txn in self.open.values()), default=None)

    def first_index(self, otherwise: int) -> int:
        """The smallest log index of an open prewrite."""
        return min((held.record.index for txn in self.open.values() for held in txn.pages), default=otherwise)

    def first_segment(self, otherwise: int) -> int:
        places = (held.place for txn in self.open.values() for held in txn.pages)
        return min((place.segment for place in places if place is not None), default=otherwise)


def _share(held: SortKeys, keys: SortKeys) -> bool:
    if not len(held) or not len(keys) or held[-1] < keys[0] or keys[-1] < held[0]:
        return False
    few, many = (keys, held) if len(keys) < len(held) else (held, keys)
    at = np.searchsorted(many, few)
    at[at == len(many)] = 0
    return bool((many[at] == few).any())
