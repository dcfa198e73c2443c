"""Placement: who leads which range, and how ranges split, merge and move. The master's.

Guarantees that the catalog names a leader, or heirs, only after the data servers have made it so, and that a change
which the master did not live to write down is told to it again by the data server (`settle`). One change at a time,
and none while a DDL runs.

A leader that does not answer keeps its ranges until somebody says `force`: then the master gives it no timestamps any
more, its log is sealed before it is read, and it leads nothing until it has registered again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from tailrace.change.ranges import Epoch, Range
from tailrace.change.tso import Ts
from tailrace.dataserver.catalog import Catalog, Placed
from tailrace.dataserver.changeover import Heir
from tailrace.errors import ConfigError, Locked, NotFound, TailraceError, UpstreamAway

_LOG = logging.getLogger(__name__)


class PlacementOrders(Protocol):
    """What is asked of data servers (`orders.Orders`)."""

    def middle(self, address: str, range_id: int) -> bytes: ...

    def succeed(self, address: str, parents: Sequence[int], heirs: Sequence[Heir]) -> tuple[list[Heir], list[Ts]]: ...

    def yield_range(self, address: str, range_id: int) -> None: ...

    def resume(self, address: str, range_id: int) -> None: ...

    def forget(self, address: str, range_id: int) -> None: ...

    def adopt(self, address: str, range_id: int, folder: str, epoch_leader: int, seal: bool) -> None: ...


class Placement:
    def __init__(self, catalog: Catalog, orders: PlacementOrders, one: threading.Lock) -> None:
        """`one` is held by whoever changes tables or ranges."""
        self._catalog, self._orders, self._one = catalog, orders, one
        self._moving: set[int] = set()

    def split(self, range_id: int, key: bytes) -> list[Placed]:
        """Two ranges in place of one; an empty `key` is the middle of its rows."""
        with self._one:
            parent = self._living(range_id)
            known = parent.range
            key = key or self._orders.middle(self._address(parent), range_id)
            if not key:
                raise ConfigError(f"range {range_id} has too few rows to be split in the middle; give a key")
            if not known.start < key or (known.end and key >= known.end):
                raise ConfigError(
                    f"the key {key.hex()} does not divide range {range_id}: it must lie above {known.start.hex()} and "
                    f"below {known.end.hex() or 'the end'}"
                )
            epoch = Epoch(known.epoch.version + 1, known.epoch.leader)
            bounds = [(known.start, key), (key, known.end)]
            return self._succeed([parent], [Heir(self._new_id(), *each, epoch) for each in bounds])

    def merge(self, left_id: int, right_id: int) -> list[Placed]:
        """One range in place of two neighbours, led by the left one's leader."""
        with self._one:
            left, right = self._living(left_id), self._living(right_id)
            if left.range.physical_id != right.range.physical_id or left.range.end != right.range.start:
                raise ConfigError(f"the ranges {left_id} and {right_id} are not neighbours; name the lower one first")
            if right.server_id != left.server_id:
                right = self._moved(right, left.server_id, force=False)
            epochs = (left.range.epoch, right.range.epoch)
            version, leader = max(each.version for each in epochs) + 1, max(each.leader for each in epochs)
            heir = Heir(self._new_id(), left.range.start, right.range.end, Epoch(version, leader))
            return self._succeed([left, right], [heir])

    def move(self, range_id: int, server_id: int, force: bool) -> list[Placed]:
        """Another leader for a range, also for one of which only the log is left."""
        with self._one:
            placed = self._catalog.range(range_id)
            servers = self._catalog.servers()
            if server_id not in servers:
                raise NotFound(f"there is no data server {server_id}; there are {sorted(servers)}")
            return [placed if placed.server_id == server_id else self._moved(placed, server_id, force)]

    def settle(self, parents: Sequence[int], heirs: Sequence[Heir], last_ts: Sequence[Ts]) -> list[Placed]:
        """A data server says what its ranges became; nothing is new where that is known."""
        with self._one:
            known = [self._catalog.range(each) for each in parents]
            return self._settled(known, heirs, last_ts)

    def check_still(self, range_id: int) -> None:
        """Raises Locked while a range is on its way to another server."""
        if range_id in self._moving:
            raise Locked(f"range {range_id} moves to another server; ask again", retry_after=0.1)

    def _succeed(self, parents: Sequence[Placed], heirs: Sequence[Heir]) -> list[Placed]:
        made, last_ts = self._orders.succeed(self._address(parents[0]), [each.range.id for each in parents], heirs)
        return self._settled(parents, made, last_ts)

    def _settled(self, parents: Sequence[Placed], heirs: Sequence[Heir], last_ts: Sequence[Ts]) -> list[Placed]:
        ids = tuple(heir.range_id for heir in heirs)
        like = parents[0].range
        if all(parent.heirs == ids for parent in parents):
            return [self._catalog.range(each) for each in ids]
        made = [
            Placed(
                Range(heir.range_id, like.table_id, like.partition_id, heir.start, heir.end, heir.epoch, ""),
                parents[0].server_id,
            )
            for heir in heirs
        ]
        ended = [replace(parent, heirs=ids, last_ts=ts) for parent, ts in zip(parents, last_ts, strict=True)]
        self._catalog.place([*ended, *made])
        return made

    def _moved(self, placed: Placed, server_id: int, force: bool) -> Placed:
        range_id, epoch = placed.range.id, placed.range.epoch
        source, target = self._address(placed), self._catalog.servers()[server_id]
        self._moving.add(range_id)
        try:
            away = not self._yielded(placed, force)
            try:
                folder = self._catalog.folder(placed.server_id)
                self._orders.adopt(target, range_id, folder, epoch.leader + 1, seal=away)
            except TailraceError:
                if not away:
                    self._orders.resume(source, range_id)
                raise
            moved = replace(placed.range, epoch=Epoch(epoch.version, epoch.leader + 1))
            led = replace(placed, range=moved, server_id=server_id)
            self._catalog.place([led])
        finally:
            self._moving.discard(range_id)
        if not away:
            self._let_go(source, range_id)
        return led

    def _yielded(self, placed: Placed, force: bool) -> bool:
        """Whether the leader has let go of the range by itself; otherwise it is shut out of everything."""
        try:
            self._orders.yield_range(self._address(placed), placed.range.id)
            return True
        except UpstreamAway as error:
            if not force:
                raise UpstreamAway(
                    f"{error.message}; --force takes the range without its leader, data server {placed.server_id}"
                ) from error
            self._catalog.shut_out(placed.server_id)
            return False

    def _let_go(self, address: str, range_id: int) -> None:
        try:
            self._orders.forget(address, range_id)
        except TailraceError as error:
            # Told again when it registers, or when it asks what became of the range.
            _LOG.warning("range %d is still kept by its old leader: %s", range_id, error)

    def _living(self, range_id: int) -> Placed:
        placed = self._catalog.range(range_id)
        if placed.heirs:
            names = " and ".join(map(str, placed.heirs))
            raise NotFound(f"range {range_id} is no more; it became {names}")
        if self._catalog.newest(placed.range.table_id) is None:
            raise NotFound(f"range {range_id} belongs to a table that was dropped")
        return placed

    def _address(self, placed: Placed) -> str:
        return self._catalog.servers()[placed.server_id]

    def _new_id(self) -> int:
        return self._catalog.take_number("range")
