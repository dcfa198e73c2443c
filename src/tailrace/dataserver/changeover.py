"""Changeovers: a range becomes two, two become one, or a range gets another leader.

Guarantees of each of them, whatever dies at any line: either all of it happened or nothing, and the range is served
by whoever led it before until it did. One LMDB transaction decides. What was written into the log for it before is
skipped by a replay when that transaction is not there.

* *Succession* (split, merge): the parents come to rest, all their rows are in blocks, and a record that names the
  heirs is the last of their logs. An heir's log begins with the prewrites that are open, its rows are the parents'
  blocks, cut to its keys. The parents' logs stay for those who need them.
* *Adoption* (move): blocks, fates and log of the range are copied from its old leader's folder, indexes and all.

It never answers anybody before the transaction is durable.
"""

from __future__ import annotations

import itertools
import struct
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tailrace.change.ranges import Epoch
from tailrace.change.tso import Ts
from tailrace.dataserver.archive import Archive
from tailrace.dataserver.blocks import RangeBlocks
from tailrace.dataserver.keys import PREFIX_BYTES, bound
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.locks import Held
from tailrace.dataserver.meta import RangeMeta, clear
from tailrace.dataserver.node import Node
from tailrace.dataserver.payload import decode, encode
from tailrace.dataserver.retention import safe_ts
from tailrace.dataserver.rows import Rows, sort_keys
from tailrace.dataserver.wal import Kind, Pending, Record
from tailrace.errors import ConfigError
from tailrace.observe.failpoints import reach

REST_S = 5.0
COPIED = 4096


@dataclass(frozen=True, slots=True)
class Heir:
    """A range to be: its number, its keys and its first epoch."""

    range_id: int
    start: bytes
    end: bytes
    epoch: Epoch


class Changeover:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._one = threading.Lock()

    def succeed(self, parents: Sequence[int], heirs: Sequence[Heir]) -> list[RangeMeta]:
        """Make the heirs of ranges that are led here; they are made once, whoever asks again."""
        with self._one:
            leaders = [self._node.leader(each) for each in parents]
            known = leaders[0].meta.heirs
            if known and all(leader.meta.heirs == known for leader in leaders):
                return [self._node.leader(each).meta for each in known]
            _check_bounds([leader.meta for leader in leaders], heirs)
            for leader in leaders:
                self._merge(leader)
            with ExitStack() as rest:
                for leader in leaders:
                    leader.freeze(REST_S)
                    rest.callback(leader.thaw)
                for leader in leaders:
                    self._merge(leader)
                return self._succeeded(leaders, heirs)

    def yield_range(self, range_id: int) -> None:
        """Lead it no more, so that another server may adopt it as it is in the folder."""
        with self._one:
            leader = self._node.leader(range_id)
            if leader.meta.yielded:
                return
            if not leader.meta.heirs:
                leader.freeze(REST_S)
            self._change(leader, yielded=True)
            leader.thaw()

    def resume(self, range_id: int) -> None:
        with self._one:
            self._change(self._node.leader(range_id), yielded=False)

    def forget(self, range_id: int) -> None:
        """Another server leads it: nothing of it is kept here."""
        with self._one:
            self._node.forget(range_id)

    def adopt(self, range_id: int, folder: Path, epoch_leader: int, seal: bool) -> None:
        """Lead a range from what its old leader left in `folder`; a copy that was here before goes.

        Of heirs that the old leader may have told nobody about nobody else can take care, so they come along."""
        with self._one, Archive(folder, seal) as archive:
            wanted = [range_id]
            for each in wanted:
                found = archive.meta(each)
                self._adopt(archive, found, epoch_leader if each == range_id else found.epoch.leader)
                wanted += [heir for heir in found.heirs if not found.settled and heir not in wanted]

    def settled(self, leader: RangeLeader) -> None:
        """The master knows what the range became."""
        self._change(leader, settled=True)

    def _adopt(self, archive: Archive, found: RangeMeta, epoch_leader: int) -> None:
        node, range_id = self._node, found.range_id
        node.forget(range_id)
        log = node.wal
        mark = Record(Kind.LEADER, range_id, 0, 0)
        pending = [(mark, log.submit(mark))]
        for record, payload in archive.records(found):
            pending.append((record, log.submit(record, payload)))
            if len(pending) % COPIED == 0:
                pending[-1][1].wait()
        placed = [(record, each.wait()) for record, each in pending]
        since = placed[0][1]
        epoch = Epoch(found.epoch.version, epoch_leader)
        meta = replace(found, epoch=epoch, yielded=False, since=(since.segment, since.offset))
        reach("adopt-before-commit")
        with node.database.env.begin(write=True) as txn:
            node.database.take_over(archive.database, txn, range_id)
            node.database.save(meta, txn)
        node.lead(meta, placed[1:])

    def _succeeded(self, leaders: Sequence[RangeLeader], heirs: Sequence[Heir]) -> list[RangeMeta]:
        node = self._node
        known = node.clock.take()
        closed_ts = min(leader.resolved(known) for leader in leaders)
        for heir in heirs:
            node.database.mark_absent(heir.range_id)
        made = [self._heir(leaders, heir, first=heir is heirs[0]) for heir in heirs]
        written = [self._open_log(leaders, heir) for heir in made]
        kind = Kind.SPLIT if len(leaders) == 1 else Kind.MERGE
        payload = struct.pack(f"<{len(heirs)}Q", *(heir.range_id for heir in heirs))
        ends = [node.wal.submit(Record(kind, each.meta.range_id, each.next_index, known), payload) for each in leaders]
        for _, waiting in [each for one in written for each in one]:
            waiting.wait()
        for end in ends:
            end.wait()
        before = [leader.meta for leader in leaders]
        try:
            reach("succeed-before-commit")
            with node.database.env.begin(write=True, buffers=True) as txn:
                self._move_blocks(txn, [leader.meta for leader in leaders], made)
                made = self._close(txn, leaders, made, closed_ts)
        except BaseException:
            for leader, meta in zip(leaders, before, strict=True):
                leader.meta = meta
            raise
        reach("succeed-after-commit")
        for meta, records in zip(made, written, strict=True):
            node.lead(meta, [(record, waiting.place) for record, waiting in records])
            self._keep_deadlines(leaders, node.leader(meta.range_id))
        for leader in leaders:
            leader.closed()
        return made

    def _heir(self, leaders: Sequence[RangeLeader], heir: Heir, first: bool) -> RangeMeta:
        like = leaders[0].meta
        decides: list[int] = []
        for leader in leaders if first else ():
            decides += [leader.meta.range_id, *leader.meta.decides]
        return RangeMeta(
            heir.range_id, like.table_id, like.physical_id, heir.start, heir.end, like.common_handle, heir.epoch,
            max(leader.meta.created_ts for leader in leaders), decides=tuple(decides),
        )  # fmt: skip

    def _open_log(self, leaders: Sequence[RangeLeader], heir: RangeMeta) -> list[tuple[Record, Pending]]:
        """Begin an heir's log with its part of the prewrites that are open."""
        written: list[tuple[Record, Pending]] = []
        for leader in leaders:
            for txn in leader.locks.open.values():
                pages = [(held.record, self._cut(held, heir)) for held in txn.pages]
                decided = txn.primary in heir.decides
                pages = [each for each in pages if len(each[1])] or (pages[:1] if decided else [])
                for record, rows in pages:
                    form, payload = encode(rows)
                    record = replace(
                        record, range_id=heir.range_id, index=len(written) + 1, rows=len(rows), form=form,
                        commit_ts=txn.min_commit_ts,
                    )  # fmt: skip
                    written.append((record, self._node.wal.submit(record, payload)))
        return written

    def _cut(self, held: Held, heir: RangeMeta) -> Rows:
        assert held.place is not None
        record = held.record
        rows = held.rows or decode(record.form, record.rows, self._node.wal.read(held.place), str(held.place))
        low, high = _span(sort_keys(rows.key, heir.common_handle), heir)
        cut = slice(low, high)
        columns = (each.slice(low, max(high - low, 0)) for each in (rows.key, rows.value, rows.before))
        return Rows(rows.op[cut], *columns)

    def _move_blocks(self, txn: Any, parents: Sequence[RangeMeta], heirs: Sequence[RangeMeta]) -> None:
        rows = self._node.database.rows
        for parent in parents:
            source = RangeBlocks(txn, parent.range_id, rows)
            firsts = source.firsts()
            for first, beyond in zip(firsts, [*firsts, parent.end][1:], strict=True):
                block = source.get(first)
                assert block is not None
                whole = next((heir for heir in heirs if heir.start <= first and _ends_by(beyond, heir.end)), None)
                if whole is not None:
                    source.copy(first, whole.range_id)
                    continue
                # A copy: what the transaction writes may move the page that the block lies on.
                cells = replace(block, data=memoryview(bytes(block.data))).cells(parent.common_handle)
                for heir in heirs:
                    low, high = _span(cells.keys, heir)
                    if high > low:
                        RangeBlocks(txn, heir.range_id, rows).put(cells.slice(low, high), next(self._node.serial))
            clear(txn, rows, parent.range_id)

    def _close(
        self, txn: Any, leaders: Sequence[RangeLeader], heirs: Sequence[RangeMeta], closed_ts: Ts
    ) -> list[RangeMeta]:
        """Write down the heirs and the end of their parents."""
        database = self._node.database
        pins: dict[str, Ts] = {}
        ids = tuple(heir.range_id for heir in heirs)
        for leader in leaders:
            with leader.mutex:
                meta = leader.meta
                for name, ts in meta.pins.items():
                    pins[name] = min(ts, pins.get(name, ts))
                leader.next_index += 1
                leader.meta = replace(
                    meta, heirs=ids, closed_ts=closed_ts, next_index=leader.next_index,
                    last_ts=max(leader.history.last_ts, leader.history.pruned_ts), applied=leader.next_index - 1,
                )  # fmt: skip
                database.save(leader.meta, txn)
        safe = max(leader.meta.safe_ts for leader in leaders)
        dropped = max(leader.meta.dropped_ts for leader in leaders)
        made = [replace(heir, pins=pins, safe_ts=safe, dropped_ts=dropped) for heir in heirs]
        for heir in made:
            database.save(heir, txn)
        return made

    def _keep_deadlines(self, leaders: Sequence[RangeLeader], heir: RangeLeader) -> None:
        with heir.mutex:
            for start_ts, txn in heir.locks.open.items():
                before = [leader.locks.open[start_ts] for leader in leaders if start_ts in leader.locks.open]
                txn.deadline = max((each.deadline for each in before), default=txn.deadline)

    def _merge(self, leader: RangeLeader) -> None:
        while leader.versions.fresh_rows:
            leader.merge(self._node.serial, safe_ts(leader, self._node.clock.known, self._node.versions_ms))

    def _change(self, leader: RangeLeader, **fields: bool) -> None:
        with self._node.database.env.begin(write=True) as txn, leader.mutex:
            leader.meta = replace(leader.meta, next_index=leader.next_index, **fields)  # type: ignore[arg-type]
            self._node.database.save(leader.meta, txn)


def _span(keys: Any, heir: RangeMeta) -> tuple[int, int]:
    prefix = heir.start[:PREFIX_BYTES]
    low = bound(heir.start, prefix, heir.common_handle).position(keys)
    return low, bound(heir.end or b"\xff", prefix, heir.common_handle).position(keys)


def _ends_by(key: bytes, end: bytes) -> bool:
    return not end or (key != b"" and key <= end)


def _check_bounds(parents: Sequence[RangeMeta], heirs: Sequence[Heir]) -> None:
    edges = [heirs[0].start, *(heir.end for heir in heirs)]
    starts = [heir.start for heir in heirs]
    fits = (
        starts == edges[:-1]
        and (edges[0], edges[-1]) == (parents[0].start, parents[-1].end)
        and all(heir.start < heir.end or not heir.end for heir in heirs)
        and all(left.end == right.start for left, right in itertools.pairwise(parents))
    )
    if not fits:
        names = ", ".join(str(parent.range_id) for parent in parents)
        raise ConfigError(f"what {names} should become does not cover the same keys")
