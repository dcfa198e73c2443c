"""The leader of a range: its transactions, its log, its history and its row versions under one mutex.

Guarantees:

* *Two-phase*: a transaction's rows appear, all at once and at its commit ts, when its commit is durable; a rollback
  that came first is final. Prewrite, commit, rollback and write may be repeated with the same result.
* *Resolved*: nothing is committed at or below a resolved ts that was returned. For an open transaction commits
  only at or above its `min_commit_ts`, which is in the log with it, and one that opens later gets a commit ts above
  every timestamp that was known.
* *Before images*: under the locks the newest version cannot change, so `before` is what the commit replaces.

Records enter the log under the mutex, so their index order is their order in the log. Waiting for the disk is done
outside of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.tso import Ts
from tailrace.dataserver.commits import Commits
from tailrace.dataserver.history import History, Page
from tailrace.dataserver.keys import PREFIX_BYTES, bound
from tailrace.dataserver.locks import Held, Locks, OpenTxn
from tailrace.dataserver.meta import Database, RangeMeta
from tailrace.dataserver.payload import decode, encode
from tailrace.dataserver.rows import Rows, SortKeys, ascending, sort_keys
from tailrace.dataserver.timestamps import Timestamps
from tailrace.dataserver.versions import Run, Versions
from tailrace.dataserver.wal import Kind, Pending, Place, Record, WriteAheadLog
from tailrace.errors import AlreadyExists, Locked, NotFound, SchemaMismatch, StaleRoute, TableGone
from tailrace.observe.failpoints import reach

INSERT, UPDATE, DELETE = 0, 1, 2
KEPT_BYTES = 64 << 10
DEFAULT_TTL_S = 3.0
ROLLED_BACK: Ts = 0


class RangeLeader:
    def __init__(
        self, meta: RangeMeta, wal: WriteAheadLog, database: Database, clock: Timestamps, commits: Commits
    ) -> None:
        self.meta = meta
        self.prefix = meta.start[:PREFIX_BYTES]
        self.mutex = threading.Condition()
        self.locks = Locks()
        self.history = History(meta.pruned_ts, meta.pruned_index)
        self.versions = Versions(database.env, database.rows, meta.range_id, self.prefix, meta.common_handle)
        self.fates: dict[Ts, Ts] = {}
        self.frozen = False
        self._merging = threading.Lock()
        self.next_index = meta.next_index
        self._wal, self._database, self._clock, self._commits = wal, database, clock, commits

    def check_epoch(self, version: int, leader: int) -> None:
        epoch = self.meta.epoch
        if (version, leader) != (epoch.version, epoch.leader):
            raise StaleRoute(
                f"range {self.meta.range_id} is at epoch {epoch.version}.{epoch.leader}, not {version}.{leader}"
            )

    def resolved(self, known: Ts) -> Ts:
        """Nothing will be committed at or below. `known` was handed out before this call."""
        with self.mutex:
            return self.resolved_now(known)

    def resolved_now(self, known: Ts) -> Ts:
        """The same, for who holds the mutex. A range that became others speaks for them up to `closed_ts`."""
        floor = self.locks.min_commit_ts
        known = min(known, self.meta.closed_ts) if self.meta.heirs else known
        return known if floor is None else min(known, floor - 1)

    def freeze(self, seconds: float) -> None:
        """Admit nothing more, and wait until what was admitted is durable; open transactions stay open."""
        limit = time.monotonic() + seconds
        with self.mutex:
            self._check_open()
            self.frozen = True
            while any(txn.finishing or not txn.durable for txn in self.locks.open.values()):
                if not self.mutex.wait(limit - time.monotonic()):
                    self.thaw()
                    raise Locked(f"range {self.meta.range_id} did not come to rest in {seconds:.0f} s; ask again")

    def thaw(self) -> None:
        with self.mutex:
            self.frozen = False
            self.mutex.notify_all()

    def closed(self) -> None:
        """Its locks are others' now, or another server's; whoever waits for one asks again."""
        with self.mutex:
            self.frozen = False
            self.locks.open.clear()
            self.mutex.notify_all()
        self._commits.tell()

    def prewrite(self, start_ts: Ts, sequence: int, primary: int, ttl_s: float, rows: Rows, version: Ts) -> Ts:
        """Lock the keys of a page and log it; returns the lowest ts at which the transaction may commit."""
        with self.mutex:
            fate = self.fate(start_ts)
            if fate is not None:
                raise Locked(f"the transaction {start_ts} is over ({_ended(fate)}); begin a new one")
            self._check_open()
            txn = self.locks.open.get(start_ts)
            if txn is not None and (known := txn.page(sequence)) is not None and known.durable:
                return txn.min_commit_ts
            if txn is not None and (known is not None or txn.finishing):
                raise Locked(f"the transaction {start_ts} is being written; ask again", retry_after=0.05)
            rows, keys = self._admit(rows, start_ts)
            if txn is None:
                floor = max(self._clock.known, start_ts) + 1
                txn = self.locks.open[start_ts] = OpenTxn(start_ts, floor, primary, 0.0)
            txn.deadline = time.monotonic() + (ttl_s or DEFAULT_TTL_S)
            form, payload = encode(rows)
            record = Record(
                Kind.PREWRITE, self.meta.range_id, self._index(), start_ts, txn.min_commit_ts, version, len(rows),
                form, 0, sequence, primary,
            )  # fmt: skip
            held = Held(record, keys, rows if len(payload) <= KEPT_BYTES else None)
            txn.pages.append(held)
            pending = self._wal.submit(record, payload)
            held.place = pending.place
        pending.wait()
        reach("store-prewritten")
        with self.mutex:
            held.durable = True
            self.mutex.notify_all()
            return txn.min_commit_ts

    def commit(self, start_ts: Ts, commit_ts: Ts) -> Ts:
        """Make a prewritten transaction visible at `commit_ts`."""
        with self.mutex:
            txn = self._settled(start_ts)
            if txn is None:
                fate = self.fate(start_ts)
                if fate == commit_ts:
                    return commit_ts
                if fate is None:
                    self._check_open()
                raise Locked(f"the transaction {start_ts} cannot commit: {_ended(fate)}; begin a new one")
            self._check_open()
            if commit_ts < txn.min_commit_ts:
                raise SchemaMismatch(
                    f"the commit ts {commit_ts} is below {txn.min_commit_ts}; take it from the TSO after the prewrites"
                )
            if not txn.durable:
                raise Locked(f"the transaction {start_ts} is being written; ask again", retry_after=0.05)
            pending = self._finish(txn, Kind.COMMIT, commit_ts)
        pending.wait()
        reach("store-committed")
        with self.mutex:
            self.apply_commit(txn, commit_ts)
            return commit_ts

    def rollback(self, start_ts: Ts) -> Ts:
        """End a transaction without effect, also one that was never seen; returns its commit ts if that came first."""
        with self.mutex:
            txn = self._settled(start_ts)
            fate = self.fate(start_ts)
            if txn is None and fate is not None:
                return fate
            self._check_open()
            if txn is None:
                txn = OpenTxn(start_ts, self._clock.known + 1, self.meta.range_id, 0.0)
                self.locks.open[start_ts] = txn
            pending = self._finish(txn, Kind.ROLLBACK, ROLLED_BACK)
        pending.wait()
        with self.mutex:
            self.apply_rollback(start_ts)
            return ROLLED_BACK

    def check(self, start_ts: Ts, extend_s: float) -> Ts | None:
        """What became of a transaction whose primary lies here: None while it lives. One that is out of time, or
        unknown, is rolled back first, so that the answer is final."""
        with self.mutex:
            txn = self.locks.open.get(start_ts)
            if txn is not None and extend_s:
                txn.deadline = max(txn.deadline, time.monotonic() + extend_s)
            if txn is None and extend_s:
                # Its own client says that it lives: its first prewrite may be still on the way.
                return self._fate_or_heirs(start_ts)
            if txn is not None and (txn.finishing or txn.deadline > time.monotonic()):
                return None
        return self.rollback(start_ts)

    def write(self, start_ts: Ts, each: bool, rows: Rows, version: Ts) -> Ts:
        """One transaction, or one for each row, that lies in this range alone: locked, timed and logged in one go.
        Returns the (first) commit ts."""
        with self.mutex:
            done = self.history.written_by(start_ts)
            if done:
                return done
            self._check_open()
            if start_ts in self.locks.open:
                raise Locked(f"the transaction {start_ts} is being written; ask again", retry_after=0.05)
            rows, keys = self._admit(rows, start_ts)
            form, payload = encode(rows)
            count = len(rows) if each else 1
            record = Record(
                Kind.WRITE, self.meta.range_id, self.next_index, start_ts, 0, version, len(rows), form, int(each)
            )
            txn = OpenTxn(start_ts, max(self._clock.known, start_ts) + 1, self.meta.range_id, 0.0, finishing=True)
            txn.pages.append(Held(record, keys, rows))
            self.locks.open[start_ts] = txn
        try:
            first = self._clock.take(count, [(self.meta.table_id, version)])
            with self.mutex:
                txn.end_index = self._index()
                record = replace(record, index=txn.end_index, commit_ts=first)
                pending = self._wal.submit(record, payload)
                txn.pages[0].place = pending.place
            place = pending.wait()
            reach("store-written")
        except BaseException:
            with self.mutex:
                self._over(start_ts)
            raise
        with self.mutex:
            self.apply_write(record, place, keys, rows if len(payload) <= KEPT_BYTES else None)
            self._over(start_ts)
        return first

    def wait_unlocked(self, version: Ts, seconds: float) -> None:
        """Return when nothing can be committed at or below `version` any more; Locked when that takes longer."""
        limit = time.monotonic() + seconds
        with self.mutex:
            while (floor := self.locks.min_commit_ts) is not None and floor <= version:
                if not self.mutex.wait(limit - time.monotonic()) and self.locks.open:
                    blocking = min(self.locks.open.values(), key=lambda txn: txn.min_commit_ts)
                    raise Locked(f"range {self.meta.range_id} waits for the transaction {blocking.start_ts}")

    def check_held(self) -> None:
        """Raises where its rows are not served any more."""
        self.check_rows_here()
        if self.meta.dropped_ts:
            raise TableGone(f"range {self.meta.range_id} of table {self.meta.table_id} was dropped")

    def check_rows_here(self) -> None:
        if self.meta.heirs:
            heirs = " and ".join(map(str, self.meta.heirs))
            raise StaleRoute(f"range {self.meta.range_id} became {heirs}; ask for the routes again", retry_after=0.05)
        if self.meta.yielded:
            raise StaleRoute(f"range {self.meta.range_id} moves to another server; ask again", retry_after=0.1)

    def fate(self, start_ts: Ts) -> Ts | None:
        """The commit ts of a transaction that is over, 0 where it was rolled back, None where it is not known."""
        if start_ts in self.fates:
            return self.fates[start_ts]
        return self.history.written_by(start_ts) or self._database.fate(self.meta.range_id, start_ts)

    def merge(self, serial: Iterator[int], safe_ts: Ts) -> int:
        """Fold fresh runs into blocks; returns how many rows that were."""

        def note(txn: Any, merging: frozenset[int]) -> None:
            with self.mutex:
                # What is on its way into the fresh list counts as pending, too.
                ends = [open_txn.end_index for open_txn in self.locks.open.values() if open_txn.end_index]
                lowest = min([self.versions.lowest_index(self.next_index, merging), *ends])
                self.meta = replace(self.meta, applied=max(self.meta.applied, lowest - 1), safe_ts=safe_ts)
            self._database.save(self.meta, txn)
            reach("store-merge")

        with self._merging:
            return self.versions.merge(safe_ts, serial, note)

    # What follows is also how the log is replayed.

    def apply_prewrite(self, record: Record, place: Place, rows: Rows) -> None:
        held = Held(record, sort_keys(rows.key, self.meta.common_handle), None, place, durable=True)
        txn = self.locks.open.get(record.start_ts)
        if txn is None:
            deadline = time.monotonic() + DEFAULT_TTL_S
            txn = OpenTxn(record.start_ts, record.commit_ts, record.primary, deadline)
            self.locks.open[record.start_ts] = txn
        txn.pages.append(held)

    def apply_commit(self, txn: OpenTxn, commit_ts: Ts) -> None:
        for held in txn.pages:
            assert held.place is not None
            record = held.record
            if not record.rows:
                continue
            self.history.add(
                Page(commit_ts, txn.start_ts, record.index, record.version, record.rows, record.form, 0, held.place)
            )
            if txn.end_index > self.meta.applied:
                ts = np.broadcast_to(np.int64(commit_ts), record.rows)
                fetch = self._fetch(record, held.place, held.rows)
                self.versions.add(Run(held.keys, ts, fetch, txn.end_index, held.place.segment))
        if txn.primary == self.meta.range_id or txn.primary in self.meta.decides:
            self.fates[txn.start_ts] = commit_ts
        self._over(txn.start_ts)

    def apply_rollback(self, start_ts: Ts) -> None:
        self.fates[start_ts] = ROLLED_BACK
        self._over(start_ts)

    def apply_write(self, record: Record, place: Place, keys: SortKeys, rows: Rows | None) -> None:
        first, step = record.commit_ts, record.step
        self.history.add(
            Page(first, record.start_ts, record.index, record.version, record.rows, record.form, step, place)
        )
        if record.index > self.meta.applied:
            ts = first + step * np.arange(record.rows, dtype=np.int64)
            self.versions.add(Run(keys, ts, self._fetch(record, place, rows), record.index, place.segment))

    def _over(self, start_ts: Ts) -> None:
        self.locks.open.pop(start_ts, None)
        self.mutex.notify_all()
        self._commits.tell()

    def _check_open(self) -> None:
        self.check_rows_here()
        if self.frozen:
            raise Locked(f"range {self.meta.range_id} is about to split, merge or move; ask again", retry_after=0.05)

    def _fate_or_heirs(self, start_ts: Ts) -> Ts | None:
        fate = self.fate(start_ts)
        if fate is None:
            self.check_rows_here()
        return fate

    def _settled(self, start_ts: Ts) -> OpenTxn | None:
        """The open transaction, once nothing else is ending it."""
        while (txn := self.locks.open.get(start_ts)) is not None and txn.finishing:
            if not self.mutex.wait(DEFAULT_TTL_S):
                raise Locked(f"the transaction {start_ts} is being ended; ask again")
        return txn

    def _finish(self, txn: OpenTxn, kind: Kind, commit_ts: Ts) -> Pending:
        txn.finishing = True
        record = Record(kind, self.meta.range_id, self._index(), txn.start_ts, commit_ts, primary=txn.primary)
        txn.end_index = record.index
        return self._wal.submit(record)

    def _index(self) -> int:
        self.next_index += 1
        return self.next_index - 1

    def _fetch(self, record: Record, place: Place, rows: Rows | None) -> partial[tuple[pa.BinaryArray, pa.BinaryArray]]:
        if rows is not None:
            return partial(_both, rows)
        return partial(self._load, record, place)

    def _load(self, record: Record, place: Place) -> tuple[pa.BinaryArray, pa.BinaryArray]:
        return _both(decode(record.form, record.rows, self._wal.read(place), str(place)))

    def _admit(self, rows: Rows, start_ts: Ts) -> tuple[Rows, SortKeys]:
        """The rows with what they replace; raises where they cannot be written now."""
        self.check_held()
        keys = sort_keys(rows.key, self.meta.common_handle)
        self._check_keys(rows, keys)
        self.locks.check_free(keys, start_ts)
        found = self.versions.lookup(keys, rows.key)
        if (found.ts > start_ts).any():
            raise Locked(f"a key was written after the transaction {start_ts} began; begin a new one", retry_after=0.01)
        live = found.value.is_valid().to_numpy(zero_copy_only=False)
        inserted = rows.op == INSERT
        if (inserted & live).any():
            key = rows.key[int(np.flatnonzero(inserted & live)[0])].as_py()
            raise AlreadyExists(f"the key {key.hex()} exists; it can only be updated or deleted")
        if (~inserted & ~live).any():
            key = rows.key[int(np.flatnonzero(~inserted & ~live)[0])].as_py()
            raise NotFound(f"the key {key.hex()} does not exist; it can only be inserted")
        value = pc.if_else(pa.array(rows.op == DELETE), pa.scalar(None, pa.binary()), rows.value)
        return Rows(rows.op, rows.key, value, found.value), keys

    def _check_keys(self, rows: Rows, keys: SortKeys) -> None:
        if not len(keys):
            raise SchemaMismatch("a page has no rows; it needs at least one")
        if not all(rows.key[at].as_py().startswith(self.prefix) for at in (0, -1)):
            raise SchemaMismatch(f"a key does not belong to the physical table {self.meta.physical_id}")
        if not ascending(keys):
            raise SchemaMismatch("the keys of a page are not strictly ascending; sort them, each key once")
        meta = self.meta
        start = bound(meta.start, self.prefix, meta.common_handle)
        end = bound(meta.end, self.prefix, meta.common_handle)
        if start.position(keys) > 0 or (meta.end and end.position(keys) < len(keys)):
            raise StaleRoute(f"a key lies outside of range {meta.range_id}; ask for the routes again")


def _both(rows: Rows) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    return rows.key, rows.value


def _ended(fate: Ts | None) -> str:
    return {None: "it is not known", ROLLED_BACK: "rolled back"}.get(fate, f"committed at {fate}")
