"""A range's leader: two-phase writes, resolved timestamps, and what a restart finds again."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tailrace.dataserver.keys import END as NOWHERE
from tailrace.dataserver.keys import bound
from tailrace.dataserver.leader import RangeLeader
from tailrace.dataserver.log_pages import pages
from tailrace.dataserver.node import Node
from tailrace.dataserver.rows import ipc_batch, sort_keys
from tailrace.errors import AlreadyExists, Locked, NotFound, SchemaMismatch, StaleRoute, TableGone
from tests.dataserver.stores import START, VERSION, Clock, key, node, rows

Change = tuple[int, int, int, bytes | None, bytes | None]


class Bench:
    """One node and its leader; `reopen` is what a kill and a restart do."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, Clock()
        self.node: Node = node(folder, self.clock)

    @property
    def leader(self) -> RangeLeader:
        return self.node.leader(1)

    def reopen(self) -> None:
        self.node.close()
        self.node = node(self.folder, self.clock)

    def prewrite(self, start_ts: int, op: int, handles: Sequence[int], value: str = "v", sequence: int = 0) -> int:
        return self.leader.prewrite(start_ts, sequence, 1, 5.0, rows(op, handles, value), VERSION)

    def put(self, op: int, handles: Sequence[int], value: str = "v") -> int:
        start = self.clock.take()
        self.prewrite(start, op, handles, value)
        return self.leader.commit(start, self.node.clock.take())

    def changes(self, from_ts: int = 0, upto_ts: int = 1 << 60) -> list[Change]:
        """(commit ts, op, handle, value, before) as they are served."""
        found: list[Change] = []
        for page in pages(self.node.wal, self.leader.history.span(from_ts, upto_ts)):
            batch = ipc_batch(page.arrow, "page")
            times = batch.column("commit_ts").to_pylist() if "commit_ts" in batch.schema.names else None
            for at, row in enumerate(batch.to_pylist()):
                ts = times[at] if times else page.commit_ts + at * page.step
                handle = int.from_bytes(row["key"][-8:], "big") - (1 << 63)
                found.append((ts, row["op"], handle, row["value"], row["before"]))
        return found

    def state(self, at: int) -> dict[int, bytes]:
        found = {}
        for piece in self.leader.versions.read(at, bound(START, START, False), NOWHERE, b"", START, 1 << 20):
            assert piece.cells is not None
            for name, value in zip(piece.cells.key.to_pylist(), piece.cells.value.to_pylist(), strict=True):
                found[int.from_bytes(name[-8:], "big") - (1 << 63)] = value
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.node.close()


def test_a_commit_shows_all_rows_at_its_ts_and_nothing_before(bench: Bench) -> None:
    start = bench.clock.take()
    bench.prewrite(start, 0, range(5))
    assert bench.changes() == []
    commit_ts = bench.leader.commit(start, bench.node.clock.take())
    assert bench.state(commit_ts - 1) == {}
    assert bench.state(commit_ts) == {at: b"v%d" % at for at in range(5)}
    assert bench.changes() == [(commit_ts, 0, at, b"v%d" % at, None) for at in range(5)]


def test_updates_and_deletes_carry_what_they_replace(bench: Bench) -> None:
    bench.put(0, [1, 2], "a")
    updated = bench.put(1, [1], "b")
    deleted = bench.put(2, [1])
    assert bench.changes()[2:] == [(updated, 1, 1, b"b1", b"a1"), (deleted, 2, 1, None, b"b1")]


def test_prewrite_and_commit_may_be_repeated(bench: Bench) -> None:
    start = bench.clock.take()
    assert bench.prewrite(start, 0, [1]) == bench.prewrite(start, 0, [1])
    commit_ts = bench.node.clock.take()
    assert [bench.leader.commit(start, commit_ts) for _ in range(3)] == [commit_ts] * 3
    assert len(bench.changes()) == 1


def test_a_rollback_is_final(bench: Bench) -> None:
    start = bench.clock.take()
    bench.prewrite(start, 0, [1])
    assert bench.leader.rollback(start) == bench.leader.rollback(start) == 0
    with pytest.raises(Locked, match="rolled back"):
        bench.leader.commit(start, bench.node.clock.take())
    with pytest.raises(Locked, match="rolled back"):
        bench.prewrite(start, 0, [1])
    bench.reopen()
    with pytest.raises(Locked, match="rolled back"):
        bench.leader.commit(start, bench.node.clock.take())


def test_a_rollback_of_something_unknown_stops_a_prewrite_that_comes_late(bench: Bench) -> None:
    start = bench.clock.take()
    bench.leader.rollback(start)
    with pytest.raises(Locked, match="begin a new one"):
        bench.prewrite(start, 0, [1])


def test_a_commit_that_came_first_survives_a_rollback(bench: Bench) -> None:
    start = bench.clock.take()
    bench.prewrite(start, 0, [1])
    commit_ts = bench.leader.commit(start, bench.node.clock.take())
    assert bench.leader.rollback(start) == commit_ts
    assert bench.state(commit_ts) == {1: b"v1"}


def test_a_locked_key_is_in_the_way_and_a_written_one_ends_the_transaction(bench: Bench) -> None:
    old, holder = bench.clock.take(), bench.clock.take()
    bench.prewrite(holder, 0, [1, 2, 3])
    with pytest.raises(Locked, match=f"held by the transaction {holder}"):
        bench.prewrite(bench.clock.take(), 0, [3, 4])
    bench.leader.commit(holder, bench.node.clock.take())
    with pytest.raises(Locked, match="written after"):
        bench.prewrite(old, 1, [3])


def test_an_insert_of_a_row_that_exists_and_an_update_of_one_that_does_not_are_refused(bench: Bench) -> None:
    bench.put(0, [1])
    with pytest.raises(AlreadyExists, match=key(1).hex()):
        bench.prewrite(bench.clock.take(), 0, [1])
    for op in (1, 2):
        with pytest.raises(NotFound, match=key(9).hex()):
            bench.prewrite(bench.clock.take(), op, [9])


def test_keys_that_are_not_ascending_or_not_of_the_range_are_refused(bench: Bench) -> None:
    for handles in ([2, 1], [1, 1]):
        with pytest.raises(SchemaMismatch, match="ascending"):
            bench.prewrite(bench.clock.take(), 0, handles)
    with pytest.raises(SchemaMismatch, match="twice"):
        start = bench.clock.take()
        bench.prewrite(start, 0, [1], sequence=0)
        bench.prewrite(start, 0, [1], sequence=1)


def test_the_resolved_ts_stays_below_what_an_open_transaction_may_become(bench: Bench) -> None:
    start = bench.clock.take()
    floor = bench.prewrite(start, 0, [1])
    later = bench.node.clock.take(50)
    assert bench.leader.resolved(later + 49) == floor - 1
    commit_ts = bench.node.clock.take()
    bench.leader.commit(start, commit_ts)
    assert bench.leader.resolved(commit_ts) == commit_ts


def test_a_commit_below_a_resolved_ts_is_refused(bench: Bench) -> None:
    resolved = bench.leader.resolved(bench.node.clock.take())
    start = 5
    bench.prewrite(start, 0, [1])
    with pytest.raises(SchemaMismatch, match="after the prewrites"):
        bench.leader.commit(start, resolved)


def test_a_restart_keeps_the_floor_of_an_open_transaction(bench: Bench) -> None:
    start = bench.clock.take()
    floor = bench.prewrite(start, 0, [1])
    commit_ts = bench.node.clock.take()
    bench.reopen()
    assert bench.leader.resolved(bench.node.clock.take()) == floor - 1
    assert bench.leader.commit(start, commit_ts) == commit_ts
    assert bench.state(commit_ts) == {1: b"v1"}


def test_nothing_appears_at_or_below_a_resolved_ts_that_was_served(bench: Bench) -> None:
    seen: list[tuple[int, list[Change]]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            resolved = bench.leader.resolved(bench.node.clock.take())
            seen.append((resolved, bench.changes(0, resolved)))

    def write(number: int) -> None:
        dice = random.Random(number)
        for at in range(25):
            start = bench.clock.take()
            handles = [number * 1000 + at]
            if dice.random() < 0.5:
                bench.leader.write(start, False, rows(0, handles), VERSION)
            else:
                bench.prewrite(start, 0, handles)
                bench.leader.commit(start, bench.node.clock.take())

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    watcher = threading.Thread(target=watch)
    for thread in [watcher, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    watcher.join()
    everything = bench.changes()
    assert len(everything) == 100
    for resolved, found in seen[:: max(1, len(seen) // 50)]:
        assert found == [change for change in everything if change[0] <= resolved]


def test_each_row_of_a_batch_may_be_a_transaction_of_its_own(bench: Bench) -> None:
    first = bench.leader.write(bench.clock.take(40), True, rows(0, range(40)), VERSION)
    assert [change[0] for change in bench.changes()] == list(range(first, first + 40))
    assert len(bench.state(first + 9)) == 10
    assert bench.changes(first + 4, first + 6)[0][0] == first


def test_a_write_that_is_repeated_happens_once(bench: Bench) -> None:
    start = bench.clock.take()
    assert len({bench.leader.write(start, False, rows(0, [1]), VERSION) for _ in range(3)}) == 1
    bench.reopen()
    bench.leader.write(start, False, rows(0, [1]), VERSION)
    assert len(bench.changes()) == 1


def test_a_restart_finds_everything_merged_or_not(bench: Bench) -> None:
    dice = random.Random(3)
    state: dict[int, bytes] = {}
    states = {}
    for at in range(60):
        handle = dice.randint(0, 15)
        op = 0 if handle not in state else dice.choice([1, 2])
        commit_ts = bench.put(op, [handle], f"{at}-")
        state = {name: value for name, value in state.items() if name != handle}
        state |= {} if op == 2 else {handle: b"%d-%d" % (at, handle)}
        states[commit_ts] = state
        if dice.random() < 0.2:
            bench.leader.merge(bench.node.serial, 0)
        if dice.random() < 0.2:
            bench.reopen()
        for ts in dice.sample(sorted(states), min(3, len(states))):
            assert bench.state(ts) == states[ts]
    assert [change[0] for change in bench.changes()] == sorted(states)


def test_only_a_transaction_that_is_out_of_time_is_ended_by_a_question(bench: Bench) -> None:
    start = bench.clock.take()
    bench.prewrite(start, 0, [1])
    assert bench.leader.check(start, 0.0) is None
    bench.leader.locks.open[start].deadline = 0.0
    assert bench.leader.check(start, 5.0) is None
    bench.leader.locks.open[start].deadline = 0.0
    assert bench.leader.check(start, 0.0) == 0
    assert bench.state(bench.node.clock.take()) == {}


def test_a_client_that_says_it_lives_never_ends_its_own_transaction(bench: Bench) -> None:
    start = bench.clock.take()
    assert bench.leader.check(start, 5.0) is None
    bench.prewrite(start, 0, [1])


def test_a_reader_waits_for_those_who_may_commit_below_it(bench: Bench) -> None:
    start = bench.clock.take()
    bench.prewrite(start, 0, [1])
    version = bench.node.clock.take()
    with pytest.raises(Locked, match=str(start)):
        bench.leader.wait_unlocked(version, 0.05)
    bench.leader.commit(start, bench.node.clock.take())
    bench.leader.wait_unlocked(version, 0.05)


def test_an_old_epoch_is_refused(bench: Bench) -> None:
    bench.leader.check_epoch(1, 1)
    for epoch in ((1, 2), (2, 1), (0, 0)):
        with pytest.raises(StaleRoute, match=r"epoch 1\.1"):
            bench.leader.check_epoch(*epoch)
    with pytest.raises(StaleRoute, match="not led here"):
        bench.node.leader(99)


def test_a_dropped_range_takes_no_rows_but_keeps_its_log(bench: Bench) -> None:
    bench.put(0, [1])
    bench.node.drop(1, 99)
    bench.reopen()
    with pytest.raises(TableGone):
        bench.prewrite(bench.clock.take(), 0, [2])
    assert len(bench.changes()) == 1


def test_two_nodes_never_hold_one_folder(bench: Bench) -> None:
    with pytest.raises(AlreadyExists, match=r"has .* open"):
        node(bench.folder, bench.clock)


def test_keys_of_rows_are_sorted_as_the_store_needs_them() -> None:
    assert sort_keys(rows(0, [-5, 0, 3]).key, False).tolist() == [(1 << 63) - 5, 1 << 63, (1 << 63) + 3]
