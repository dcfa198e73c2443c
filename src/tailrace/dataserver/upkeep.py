"""Upkeep: what a data server does beside its calls. Fold fresh rows into blocks, let go of history that nobody needs,
and end the transactions of clients that are gone.

None of it is needed for an answer to be right; all of it may stop at any line.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tailrace.change.tso import Ts
from tailrace.dataserver import retention
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.locks import OpenTxn
from tailrace.dataserver.node import Node
from tailrace.dataserver.residence import release_mapped
from tailrace.errors import TailraceError

MERGE_EVERY_S = 0.5
RESOLVE_EVERY_S = 0.25
# Small changes wait a little, so that a block is not written anew for each of them.
ENOUGH_ROWS = 8192
IDLE_ROUNDS = 8
_LOG = logging.getLogger(__name__)

# (primary range, start ts) -> the commit ts, 0 for rolled back, None while the transaction lives
AskPrimary = Callable[[int, Ts], Ts | None]


class Upkeep:
    def __init__(self, node: Node, ask_primary: AskPrimary, history_bytes: int = retention.HISTORY_BYTES) -> None:
        self._node, self._ask, self._history_bytes = node, ask_primary, history_bytes
        self._stop = threading.Event()
        self._waiting: dict[int, int] = {}
        self._threads = [
            threading.Thread(target=self._every, args=(MERGE_EVERY_S, self.tidy), name="merge", daemon=True),
            threading.Thread(target=self._every, args=(RESOLVE_EVERY_S, self.resolve), name="resolve", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def tidy(self) -> None:
        """Merge what is due, then trim the log."""
        for leader in self._node.leaders():
            while self._due(leader):
                leader.merge(
                    self._node.serial, retention.safe_ts(leader, self._node.clock.known, self._node.versions_ms)
                )
                release_mapped(self._node.database.file)
        release_mapped(self._node.database.file)
        node = self._node
        retention.trim(node.leaders(), node.wal, node.database, self._history_bytes, node.clock.known)

    def resolve(self) -> None:
        """End the transactions that are out of time as their primary says."""
        now = time.monotonic()
        for leader in self._node.leaders():
            with leader.mutex:
                late = [txn for txn in leader.locks.open.values() if txn.deadline < now and not txn.finishing]
            for txn in late:
                try:
                    self._end(leader, txn)
                except TailraceError as error:
                    # One primary that is away must not keep the locks of all others.
                    _LOG.warning("range %d: the transaction %d waits: %s", leader.meta.range_id, txn.start_ts, error)

    def _end(self, leader: RangeLeader, txn: OpenTxn) -> None:
        fate = self._ask(txn.primary, txn.start_ts)
        if fate:
            leader.commit(txn.start_ts, fate)
        elif fate is not None:
            leader.rollback(txn.start_ts)

    def _due(self, leader: RangeLeader) -> bool:
        rows = leader.versions.fresh_rows
        range_id = leader.meta.range_id
        waited = self._waiting.get(range_id, 0) + 1 if rows else 0
        due = rows >= ENOUGH_ROWS or waited > IDLE_ROUNDS
        self._waiting[range_id] = 0 if due else waited
        return due

    def _every(self, seconds: float, work: Callable[[], None]) -> None:
        while not self._stop.wait(seconds):
            try:
                work()
            except TailraceError as error:
                _LOG.warning("%s will be tried again: %s", threading.current_thread().name, error)
            except Exception:
                # A bug here must be seen, but must not end the upkeep of all other ranges.
                _LOG.exception("%s failed and will be tried again", threading.current_thread().name)
