"""The seat of a delivery: the ledger's side of a commit, with the upstream's schemas beside it.

It is what a sink is opened with (`sink.base.Seat`), and adds nothing of its own.
"""

from __future__ import annotations

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut
from tailrace.progress.ledger import LedgerSeat
from tailrace.upstream.base import Upstream


class DeliverySeat:
    def __init__(self, ledger: LedgerSeat, upstream: Upstream) -> None:
        self._ledger = ledger
        self._upstream = upstream

    @property
    def epoch(self) -> int:
        return self._ledger.epoch

    def check(self) -> None:
        self._ledger.check()

    def save_naming(self, cut: Cut, naming: str) -> None:
        self._ledger.save_naming(cut, naming)

    def load_naming(self) -> tuple[Cut, str] | None:
        return self._ledger.load_naming()

    def last_cut(self) -> int:
        return self._ledger.last_cut()

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        return self._upstream.table_schema(table_id, version)
