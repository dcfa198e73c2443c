"""Retention: pinned history stays, the rest goes, and what is gone is said, never left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tailrace.dataserver import retention
from tailrace.dataserver.node import Node
from tailrace.errors import PositionLost
from tests.dataserver.stores import VERSION, Clock, node, rows


def small_node(folder: Path, clock: Clock) -> Node:
    """A node whose log has segments of a few records."""
    made = node(folder, clock)
    made.wal._limit = 2000
    return made


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Node, Clock]]:
    monkeypatch.setattr(retention, "UNPINNED_MS", 0)
    clock = Clock()
    made = small_node(tmp_path, clock)
    yield made, clock
    made.close()


def fill(store: Node, clock: Clock, handles: range) -> list[int]:
    return [store.leader(1).write(clock.take(), False, rows(0, [at], "x" * 100), VERSION) for at in handles]


def merge_all(store: Node) -> None:
    while store.leader(1).merge(store.serial, 0):
        pass


def trim(store: Node, limit: int = 1 << 30) -> list[int]:
    return retention.trim(store.leaders(), store.wal, store.database, limit, store.clock.known)


def test_history_of_the_last_minutes_stays_without_a_pin(tmp_path: Path) -> None:
    clock = Clock()
    held = small_node(tmp_path, clock)
    times = fill(held, clock, range(60))
    merge_all(held)
    assert trim(held) == []
    retention.pin(held.leader(1), held.database, "late", times[0])
    held.close()


def test_nothing_that_is_not_in_blocks_goes(store: tuple[Node, Clock]) -> None:
    held, clock = store
    fill(held, clock, range(60))
    assert trim(held) == []
    merge_all(held)
    assert len(trim(held)) > 2


def test_history_above_a_pin_stays_and_goes_when_it_moves(store: tuple[Node, Clock]) -> None:
    held, clock = store
    leader = held.leader(1)
    times = fill(held, clock, range(30))
    retention.pin(leader, held.database, "a", times[-1])
    times += fill(held, clock, range(30, 60))
    merge_all(held)
    trim(held)
    assert leader.history.span(times[29], 1 << 60)["commit_ts"].tolist() == times[30:]
    assert leader.history.pruned_ts <= times[29]
    retention.release(leader, held.database, "a", times[-1])
    trim(held)
    assert leader.history.pruned_ts > times[30]


def test_an_open_transaction_holds_its_segment(store: tuple[Node, Clock]) -> None:
    held, clock = store
    leader = held.leader(1)
    start = clock.take()
    leader.prewrite(start, 0, 1, 60.0, rows(0, [1000]), VERSION)
    fill(held, clock, range(60))
    merge_all(held)
    assert trim(held, 0) == []
    leader.commit(start, held.clock.take())
    merge_all(held)
    assert len(trim(held, 0)) > 2


def test_beyond_the_limit_a_pin_is_lost_and_said_so(store: tuple[Node, Clock]) -> None:
    held, clock = store
    leader = held.leader(1)
    retention.pin(leader, held.database, "slow", held.clock.take())
    times = fill(held, clock, range(60))
    merge_all(held)
    assert trim(held, 1 << 30) == []
    assert len(trim(held, 4000)) > 2
    with pytest.raises(PositionLost, match=str(leader.history.pruned_ts)) as lost:
        retention.pin(leader, held.database, "other", times[0])
    assert lost.value.position == f"({times[0]}, {leader.history.pruned_ts}]"


def test_what_was_let_go_is_known_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "UNPINNED_MS", 0)
    clock = Clock()
    held = small_node(tmp_path, clock)
    fates = [clock.take() for _ in range(3)]
    for start in fates:
        held.leader(1).rollback(start)
    fill(held, clock, range(60))
    merge_all(held)
    trim(held)
    pruned, following = held.leader(1).history.pruned_ts, held.leader(1).next_index
    held.close()
    again = node(tmp_path, clock)
    leader = again.leader(1)
    assert (leader.history.pruned_ts, leader.next_index) == (pruned, following)
    assert [leader.fate(start) for start in fates] == [0, 0, 0]
    again.close()


def test_a_pin_never_moves_back_and_ends_when_told(store: tuple[Node, Clock]) -> None:
    leader, held = store[0].leader(1), store[0]
    retention.pin(leader, held.database, "a", 1500)
    retention.pin(leader, held.database, "a", 1800)
    assert leader.meta.pins == {"a": 1500}
    retention.release(leader, held.database, "a", 1600)
    retention.release(leader, held.database, "a", 1550)
    assert leader.meta.pins == {"a": 1600}
    retention.release(leader, held.database, "a", None)
    assert leader.meta.pins == {}
