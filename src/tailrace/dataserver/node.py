"""A data server's ranges: made, dropped, found again after a restart.

Guarantees that whatever was acknowledged before the process died is there after `Node` has opened the folder again:
rows that were merged from LMDB, everything later from the log. Two processes never hold one folder.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tailrace.change.tso import Ts
from tailrace.dataserver.commits import Commits
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.meta import Database, RangeMeta
from tailrace.dataserver.payload import decode
from tailrace.dataserver.rows import sort_keys
from tailrace.dataserver.timestamps import Timestamps
from tailrace.dataserver.wal import Kind, Place, Record, WriteAheadLog
from tailrace.errors import AlreadyExists, DecodeError, StaleRoute


class Node:
    def __init__(self, folder: Path, clock: Timestamps, fsync: bool = True, versions_ms: int = 0) -> None:
        """With `versions_ms` row versions that are older are given up, also where a snapshot needs them."""
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / "lock")
        self.database = Database(folder / "rows", fsync)
        self.wal = WriteAheadLog(folder / "log", fsync)
        self.clock, self.versions_ms = clock, versions_ms
        self.commits = Commits()
        # Serials of blocks only have to differ, also from those of an earlier process.
        self.serial = itertools.count(time.time_ns())
        self._mutex = threading.Lock()
        self._leaders = {meta.range_id: self._leader(meta) for meta in self.database.ranges()}
        self._absent = self.database.absent()
        for record, place in self.wal.replay():
            self._replay_one(record, place)
        self.wal.start()

    def leader(self, range_id: int) -> RangeLeader:
        found = self._leaders.get(range_id)
        if found is None:
            raise StaleRoute(f"range {range_id} is not led here; ask for the routes again")
        return found

    def check_own(self) -> None:
        """Raises where another server has taken over what is in this folder."""
        if self.wal.sealed:
            raise StaleRoute("another server took over from this one; ask for the routes again")

    def leaders(self) -> list[RangeLeader]:
        return list(self._leaders.values())

    def lead(self, meta: RangeMeta, log: Iterable[tuple[Record, Place]]) -> None:
        """Lead a range that is written down already, from its log in this server's own."""
        leader = self._leader(meta)
        with leader.mutex:
            for record, place in log:
                self._replay(leader, record, place)
        with self._mutex:
            self._leaders[meta.range_id] = leader
        self.commits.tell()

    def forget(self, range_id: int) -> None:
        """Let go of a range; one that is not here stays unknown."""
        with self._mutex:
            self.database.forget(range_id)
            leader = self._leaders.pop(range_id, None)
        if leader is not None:
            leader.closed()

    def keep_only(self, led: set[int]) -> None:
        """Let go of ranges that are led elsewhere, or were never finished. Heirs of which the master may not know yet
        are kept with their parents."""
        while (
            unsaid := {
                heir
                for leader in self.leaders()
                if leader.meta.range_id in led and not leader.meta.settled
                for heir in leader.meta.heirs
            }
            - led
        ):
            led = led | unsaid
        for range_id in set(self._leaders) - led:
            self.forget(range_id)

    def create(self, meta: RangeMeta) -> None:
        """Make a range; making it again changes nothing."""
        with self._mutex:
            if meta.range_id not in self._leaders:
                self.database.save(meta)
                self._leaders[meta.range_id] = self._leader(meta)

    def drop(self, range_id: int, dropped_ts: Ts) -> None:
        """No more writes and snapshots; the log stays for those who have it pinned.

        A range that is not here has nothing to drop."""
        with self._mutex:
            leader = self._leaders.get(range_id)
            if leader is None or leader.meta.dropped_ts:
                return
            with self.database.env.begin(write=True) as txn, leader.mutex:
                leader.meta = replace(leader.meta, dropped_ts=dropped_ts)
                self.database.save(leader.meta, txn)

    def close(self) -> None:
        self.wal.close()
        self.database.close()
        os.close(self._lock)

    def _leader(self, meta: RangeMeta) -> RangeLeader:
        return RangeLeader(meta, self.wal, self.database, self.clock, self.commits)

    def _replay_one(self, record: Record, place: Place) -> None:
        leader = self._leaders.get(record.range_id)
        if leader is None and record.range_id in self._absent:
            return
        if leader is None:
            raise DecodeError(f"the log speaks of range {record.range_id}, which is not known here")
        if (place.segment, place.offset) < leader.meta.since:
            # Of a time before it was led elsewhere and came back.
            return
        with leader.mutex:
            self._replay(leader, record, place)

    def _replay(self, leader: RangeLeader, record: Record, place: Place) -> None:
        leader.next_index = max(leader.next_index, record.index + 1)
        if record.kind == Kind.LEADER:
            return
        if record.kind in (Kind.SPLIT, Kind.MERGE):
            # Where the heirs are not written down, it did not come about.
            if leader.meta.heirs:
                leader.locks.open.clear()
        elif record.kind == Kind.ROLLBACK:
            leader.apply_rollback(record.start_ts)
        elif record.kind == Kind.COMMIT:
            txn = leader.locks.open.get(record.start_ts)
            if txn is not None:
                txn.end_index = record.index
                leader.apply_commit(txn, record.commit_ts)
            elif record.index > leader.meta.applied:
                raise DecodeError(f"the log commits the transaction {record.start_ts}, whose rows are gone")
        elif record.kind in (Kind.PREWRITE, Kind.WRITE):
            rows = decode(record.form, record.rows, self.wal.read(place), str(place))
            if record.kind == Kind.PREWRITE:
                leader.apply_prewrite(record, place, rows)
            else:
                leader.apply_write(record, place, sort_keys(rows.key, leader.meta.common_handle), None)
        else:
            raise DecodeError(f"the log holds a record of kind {record.kind.name}, which this version does not know")


def _locked(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise AlreadyExists(f"another data server has {path.parent} open") from error
    return handle
