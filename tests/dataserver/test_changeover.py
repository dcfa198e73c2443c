"""Changeovers on one node: whatever ranges become, every change is in one log, once, and every row is found."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.ranges import Epoch
from tailrace.dataserver.changeover import Changeover, Heir
from tailrace.dataserver.keys import bound
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.log_pages import pages
from tailrace.dataserver.meta import RangeMeta
from tailrace.dataserver.node import Node
from tailrace.dataserver.retention import pin
from tailrace.dataserver.rows import ipc_batch
from tailrace.dataserver.timestamps import Timestamps
from tailrace.errors import ConfigError, Locked, PositionLost, StaleRoute, WorkerLost
from tailrace.observe import failpoints
from tests.dataserver.stores import END, START, VERSION, Clock, key, node, rows

Change = tuple[int, int, bytes | None]


class Ranges:
    """A node, the ranges that it leads, and what was written: the model."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, Clock()
        self.node: Node = node(folder, self.clock)
        self.changeover = Changeover(self.node)
        self.next_id = 2
        self.written: list[Change] = []
        self.state: dict[int, bytes] = {}
        self.open: dict[int, tuple[int, dict[int, bytes | None]]] = {}

    def reopen(self, restore: bool = True) -> None:
        self.node.close()
        self.node = Node(self.folder, Timestamps(self.clock.take), fsync=False)
        self.node.clock.take()
        self.changeover = Changeover(self.node)

    def living(self) -> list[RangeLeader]:
        return sorted((each for each in self.node.leaders() if not each.meta.heirs), key=lambda each: each.meta.start)

    def of(self, handle: int) -> RangeLeader:
        return next(each for each in self.living() if each.meta.start <= key(handle) < each.meta.end)

    def prewrite(self, changes: dict[int, bytes | None]) -> int:
        """The start ts of an open transaction; its primary is the range of the first key."""
        start = self.clock.take()
        primary = self.of(min(changes)).meta.range_id
        for sequence, handle in enumerate(sorted(changes)):
            self._prewrite(start, sequence, primary, handle, changes[handle])
        self.open[start] = (primary, changes)
        return start

    def _prewrite(self, start: int, sequence: int, primary: int, handle: int, value: bytes | None) -> None:
        op = 2 if value is None else int(handle in self.state)
        page = rows(op, [handle], value.decode() if value is not None else "")
        self.of(handle).prewrite(start, sequence, primary, 5.0, page, VERSION)

    def commit(self, start: int) -> int:
        _, changes = self.open.pop(start)
        commit_ts = self.node.clock.take()
        for leader in {self.of(handle).meta.range_id: self.of(handle) for handle in changes}.values():
            leader.commit(start, commit_ts)
        for handle, value in changes.items():
            stored = None if value is None else value + str(handle).encode()
            self.written.append((commit_ts, handle, stored))
            self.state.pop(handle, None)
            if stored is not None:
                self.state[handle] = stored
        return commit_ts

    def put(self, handle: int, value: str | None = "v") -> int:
        return self.commit(self.prewrite({handle: None if value is None else value.encode()}))

    def split(self, handle: int) -> list[RangeMeta]:
        parent = self.of(handle).meta
        epoch = Epoch(parent.epoch.version + 1, 1)
        edges = [(parent.start, key(handle)), (key(handle), parent.end)]
        return self._succeed([parent.range_id], edges, epoch)

    def merge(self, at: int) -> list[RangeMeta]:
        left, right = self.living()[at].meta, self.living()[at + 1].meta
        epoch = Epoch(max(left.epoch.version, right.epoch.version) + 1, 1)
        return self._succeed([left.range_id, right.range_id], [(left.start, right.end)], epoch)

    def _succeed(self, parents: list[int], edges: list[tuple[bytes, bytes]], epoch: Epoch) -> list[RangeMeta]:
        heirs = [Heir(self.next_id + at, *edge, epoch) for at, edge in enumerate(edges)]
        self.next_id += len(heirs)
        return self.changeover.succeed(parents, heirs)

    def log(self, leader: RangeLeader) -> list[Change]:
        found: list[Change] = []
        for page in pages(self.node.wal, leader.history.span(0, 1 << 60)):
            batch = ipc_batch(page.arrow, "page")
            own = batch.column("commit_ts").to_pylist() if "commit_ts" in batch.schema.names else None
            for at, row in enumerate(batch.to_pylist()):
                ts = own[at] if own else page.commit_ts + at * page.step
                found.append((ts, int.from_bytes(row["key"][-8:], "big") - (1 << 63), row["value"]))
        return found

    def read(self, at: int) -> dict[int, bytes]:
        found: dict[int, bytes] = {}
        for leader in self.living():
            meta = leader.meta
            first, last = bound(meta.start, leader.prefix, False), bound(meta.end, leader.prefix, False)
            for piece in leader.versions.read(at, first, last, meta.end, meta.start, 1 << 20):
                if piece.cells is not None:
                    columns = zip(piece.cells.key.to_pylist(), piece.cells.value.to_pylist(), strict=True)
                else:
                    batch = ipc_batch(piece.stored, "page")
                    columns = zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)
                for name, value in columns:
                    handle = int.from_bytes(name[-8:], "big") - (1 << 63)
                    assert handle not in found, "two ranges have the same row"
                    found[handle] = value
        return found

    def check(self) -> None:
        """Every change is in the log of one range that held its key, once and in order; every row is found."""
        logs = {leader.meta.range_id: self.log(leader) for leader in self.node.leaders()}
        for leader in self.node.leaders():
            log = logs[leader.meta.range_id]
            assert [ts for ts, _, _ in log] == sorted(ts for ts, _, _ in log)
            assert all(leader.meta.start <= key(handle) < leader.meta.end for _, handle, _ in log)
        assert sorted(each for log in logs.values() for each in log) == sorted(self.written)
        assert self.read(self.node.clock.take()) == self.state
        for leader in self.node.leaders():
            for heir in self._descendants(leader.meta):
                assert all(ts > leader.meta.closed_ts for ts, _, _ in logs[heir])

    def _descendants(self, meta: RangeMeta) -> set[int]:
        found = set(meta.heirs)
        for heir in meta.heirs:
            found |= self._descendants(self.node.leader(heir).meta)
        return found


@pytest.fixture
def ranges(tmp_path: Path) -> Ranges:
    made = Ranges(tmp_path / "node")
    for handle in range(0, 100, 10):
        made.put(handle)
    return made


def test_a_split_gives_each_row_to_one_heir(ranges: Ranges) -> None:
    left, right = ranges.split(50)
    assert (left.start, left.end, right.end) == (START, key(50), END)
    ranges.put(5)
    ranges.put(95)
    ranges.check()
    ranges.reopen()
    ranges.check()


def test_a_merge_gives_all_rows_to_the_heir(ranges: Ranges) -> None:
    ranges.split(50)
    ranges.put(51)
    (one,) = ranges.merge(0)
    assert (one.start, one.end) == (START, END)
    ranges.put(52)
    ranges.check()
    ranges.reopen()
    ranges.check()


@pytest.mark.parametrize("reopened", [False, True])
def test_an_open_transaction_goes_over_to_the_heirs(ranges: Ranges, reopened: bool) -> None:
    start = ranges.prewrite({40: b"x", 60: b"y"})
    known = ranges.node.clock.take()
    ranges.split(50)
    if reopened:
        ranges.reopen()
    for leader in ranges.living():
        assert start in leader.locks.open and leader.resolved(ranges.clock.take()) < known
        with pytest.raises(Locked):
            leader.prewrite(ranges.clock.take(), 0, 1, 5.0, rows(1, [40 if leader is ranges.of(40) else 60]), VERSION)
    ranges.commit(start)
    ranges.check()


def test_the_first_heir_decides_for_a_primary_that_is_closed(ranges: Ranges) -> None:
    done = ranges.prewrite({20: b"d"})
    ranges.commit(done)
    start = ranges.prewrite({60: b"y"})
    ranges.split(50)
    parent, left = ranges.node.leader(1), ranges.of(0)
    assert parent.check(done, 0) == ranges.written[-1][0]
    with pytest.raises(StaleRoute):
        parent.check(start, 0)
    assert left.check(start, 0) is None, "it lives, though none of its rows are there"
    left.locks.open[start].deadline = 0
    assert left.check(start, 0) == 0
    ranges.reopen()
    assert ranges.of(0).check(start, 0) == 0


def test_a_closed_range_refuses_writes_and_rows_and_keeps_its_log(ranges: Ranges) -> None:
    before = ranges.log(ranges.node.leader(1))
    ranges.split(50)
    parent = ranges.node.leader(1)
    with pytest.raises(StaleRoute):
        parent.prewrite(ranges.clock.take(), 0, 1, 5.0, rows(0, [1]), VERSION)
    with pytest.raises(StaleRoute):
        parent.write(ranges.clock.take(), False, rows(0, [1]), VERSION)
    with pytest.raises(StaleRoute):
        parent.check_held()
    assert ranges.log(parent) == before and parent.meta.last_ts == before[-1][0]


def test_pins_go_over_to_the_heirs(ranges: Ranges) -> None:
    at = ranges.node.clock.take()
    pin(ranges.node.leader(1), ranges.node.database, "s", at)
    ranges.split(50)
    ranges.reopen()
    assert [leader.meta.pins for leader in ranges.node.leaders()] == [{"s": at}] * 3
    pin(ranges.node.leader(1), ranges.node.database, "t", at - 1)
    with pytest.raises(PositionLost):
        leader = ranges.node.leader(1)
        leader.history.pruned_ts = at
        pin(leader, ranges.node.database, "u", at - 1)


def test_the_same_succession_is_made_once(ranges: Ranges) -> None:
    made = ranges.split(50)
    again = ranges.changeover.succeed([1], [Heir(98, START, key(70), Epoch()), Heir(99, key(70), END, Epoch())])
    assert [each.range_id for each in again] == [each.range_id for each in made]


def test_heirs_that_do_not_cover_their_parents_are_refused(ranges: Ranges) -> None:
    with pytest.raises(ConfigError):
        ranges.changeover.succeed([1], [Heir(8, START, key(5), Epoch()), Heir(9, key(6), END, Epoch())])
    ranges.put(1)
    ranges.check()


def test_a_split_that_is_cut_off_did_not_happen(ranges: Ranges, monkeypatch: pytest.MonkeyPatch) -> None:
    start = ranges.prewrite({40: b"x", 60: b"y"})
    failpoints.reset()
    monkeypatch.setenv(failpoints.VARIABLE, "succeed-before-commit=raise")
    with pytest.raises(WorkerLost):
        ranges.split(50)
    monkeypatch.delenv(failpoints.VARIABLE)
    ranges.put(7)
    ranges.reopen()
    assert [leader.meta.range_id for leader in ranges.living()] == [1]
    ranges.commit(start)
    ranges.split(50)
    ranges.check()


def _moved(ranges: Ranges, folder: Path, range_id: int, seal: bool) -> Node:
    other = Node(folder, Timestamps(ranges.clock.take), fsync=False)
    other.clock.take()
    Changeover(other).adopt(range_id, ranges.folder, 2, seal)
    return other


@pytest.mark.parametrize("way", ["yielded", "closed", "running"])
def test_another_node_adopts_all_of_a_range(ranges: Ranges, tmp_path: Path, way: str) -> None:
    start = ranges.prewrite({40: b"x", 60: b"y"})
    ranges.put(41)
    at = ranges.node.clock.take()
    pin(ranges.node.leader(1), ranges.node.database, "s", at)
    if way == "yielded":
        ranges.changeover.yield_range(1)
        with pytest.raises(StaleRoute):
            ranges.put(42)
    if way == "closed":
        ranges.node.close()
    other = _moved(ranges, tmp_path / "other", 1, seal=way != "yielded")
    assert other.leader(1).meta.epoch == Epoch(1, 2) and other.leader(1).meta.pins == {"s": at}
    ranges.node, ranges.folder = other, tmp_path / "other"
    ranges.commit(start)
    ranges.put(43)
    ranges.check()
    ranges.reopen()
    ranges.check()


def test_a_range_that_comes_back_is_the_one_that_was_away(ranges: Ranges, tmp_path: Path) -> None:
    first, home = ranges.node, ranges.folder
    ranges.changeover.yield_range(1)
    other = _moved(ranges, tmp_path / "other", 1, seal=False)
    ranges.changeover.forget(1)
    ranges.node, ranges.folder = other, tmp_path / "other"
    ranges.put(77)
    Changeover(other).yield_range(1)
    Changeover(first).adopt(1, ranges.folder, 3, seal=False)
    ranges.node, ranges.folder = first, home
    ranges.put(78)
    ranges.check()
    ranges.reopen()
    ranges.check()


def test_a_sealed_log_acknowledges_nothing_more(ranges: Ranges, tmp_path: Path) -> None:
    other = _moved(ranges, tmp_path / "other", 1, seal=True)
    with pytest.raises(Exception, match="took over"):
        ranges.put(55)
    with pytest.raises(StaleRoute):
        ranges.node.check_own()
    other.close()


def test_a_node_keeps_only_what_it_leads_and_heirs_that_nobody_knows_of(ranges: Ranges) -> None:
    left, right = ranges.split(50)
    ranges.node.keep_only({1})
    assert {each.meta.range_id for each in ranges.node.leaders()} == {1, left.range_id, right.range_id}
    ranges.changeover.settled(ranges.node.leader(1))
    ranges.node.keep_only({1, left.range_id})
    assert {each.meta.range_id for each in ranges.node.leaders()} == {1, left.range_id}
    ranges.reopen()


def _step(ranges: Ranges, dice: random.Random) -> Callable[[], object]:
    handle = dice.randrange(100)
    held = {each for _, changes in ranges.open.values() for each in changes}
    free = [each for each in (handle, dice.randrange(100), dice.randrange(100)) if each not in held]
    gone = [each for each in free if each in ranges.state]
    ends = [leader.meta.end for leader in ranges.living()]
    acts: list[Callable[[], object]] = [lambda: None, ranges.reopen, ranges.check]
    if free:
        acts += [lambda: ranges.put(free[0], f"v{dice.random()}")] * 4
        acts += [lambda: ranges.prewrite(dict.fromkeys(free, b"w"))] * 2
    if gone:
        acts += [lambda: ranges.put(gone[0], None)]
    if ranges.open:
        acts += [lambda: ranges.commit(dice.choice(list(ranges.open)))] * 3
    if key(handle) not in ends and handle:
        acts += [lambda: ranges.split(handle)] * 2
    if len(ends) > 1:
        acts += [lambda: ranges.merge(dice.randrange(len(ends) - 1))] * 2
    return dice.choice(acts)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_any_schedule_keeps_every_change_once(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    ranges, dice = Ranges(tmp_path_factory.mktemp("schedule")), random.Random(seed)
    for _ in range(40):
        _step(ranges, dice)()
    for start in list(ranges.open):
        ranges.commit(start)
    ranges.check()
    ranges.reopen()
    ranges.check()
    ranges.node.close()
