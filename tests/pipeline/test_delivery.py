"""Deliveries: every change once, in order, whatever happens between two steps."""

from __future__ import annotations

import pytest

from tailrace.change.ddl import DdlType
from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import SinkAway, SinkRefused
from tailrace.observe import failpoints
from tailrace.pipeline import carry, delivery
from tailrace.upstream.base import SnapshotVersion
from tailrace.upstream.memory import MemoryUpstream
from tests.pipeline.conftest import Rig, shop_table

ORDERS, ITEMS = 1, 2


def fill(rig: Rig, rows: int = 50) -> None:
    rig.store.create(shop_table(ORDERS, "orders"), cuts=(10, 20))
    rig.store.create(shop_table(ITEMS, "items"))
    rig.store.write({ORDERS: {at: {"id": at, "v": at} for at in range(rows)}})


def change(rig: Rig, value: int) -> int:
    """A transaction over both tables and all ranges."""
    orders = {at: {"id": at, "v": value} for at in (1, 11, 21)}
    return rig.store.write({ORDERS: orders, ITEMS: {value: {"id": value, "v": value}}})


def source(rig: Rig, table_id: int) -> dict[int, dict[str, int | None]]:
    return {number: dict(row) for number, row in rig.store.tables[table_id].rows.items()}


def assert_equal(rig: Rig) -> None:
    for table_id in rig.store.tables:
        assert rig.copy(table_id) == source(rig, table_id)
    rows = [str(row) for row in rig.target.rows()]
    assert len(rows) == len(set(rows)), "a row came twice"


def test_the_snapshot_comes_first_and_then_the_log(rig: Rig) -> None:
    fill(rig)
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.until_delivered(change(rig, 100))
    assert_equal(rig)
    assert [op for _, op, *_ in rig.target.visible["000001-000"]] == [0] * 10
    assert rig.states[-1] == ("normal", None)


def test_changes_during_the_snapshot_are_not_lost_and_not_doubled(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "SNAPSHOT_ROWS", 3)
    fill(rig)
    rig.start()
    last = max(change(rig, value) for value in range(100, 120))
    rig.until_delivered(last)
    assert_equal(rig)


def test_a_subscription_that_starts_now_carries_only_what_comes_later(rig: Rig) -> None:
    fill(rig)
    rig.start(start="now")
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.until_delivered(change(rig, 100))
    assert len(rig.target.rows()) == 4


def test_a_subscription_with_an_end_stops_there(rig: Rig) -> None:
    fill(rig)
    end = change(rig, 100)
    change(rig, 200)
    rig.start(start="1", end_ts=end)
    rig.until(lambda: rig.states[-1:] == [("finished", None)])
    assert rig.target.checkpoint == end
    assert len(rig.target.rows()) == 54


def test_a_ddl_comes_after_the_rows_before_it_and_before_those_after_it(rig: Rig) -> None:
    fill(rig)
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    change(rig, 100)
    rig.store.alter(shop_table(ORDERS, "orders", "w"), DdlType.ADD_COLUMN, "ALTER TABLE orders ADD w INT")
    rig.store.write({ORDERS: {1: {"id": 1, "v": 1, "w": 1}}})
    late = rig.store.create(shop_table(3, "late"))
    last = rig.store.write({late.table_id: {1: {"id": 1, "v": 1}}})
    rig.until_delivered(last)
    assert [query.split()[0] for query in rig.target.ddl] == ["ALTER", "CREATE"]
    assert rig.copy(3) == source(rig, 3)
    assert {position.table_id for position in rig.ledger.load("s").ranges} == {1, 2, 3}  # type: ignore[union-attr]


def test_a_dropped_table_leaves_and_the_others_go_on(rig: Rig) -> None:
    fill(rig)
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.store.drop(ITEMS)
    rig.until_delivered(rig.store.write({ORDERS: {1: {"id": 1, "v": 9}}}))
    assert {position.table_id for position in rig.ledger.load("s").ranges} == {ORDERS}  # type: ignore[union-attr]


def test_a_table_that_a_rename_brings_into_the_filter_is_read_whole(rig: Rig) -> None:
    rig.store.create(shop_table(ORDERS, "orders"))
    rig.store.write({ORDERS: {at: {"id": at, "v": at} for at in range(5)}})
    rig.start(rules=("shop.items",))
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.store.alter(shop_table(ORDERS, "items"), DdlType.RENAME_TABLE, "RENAME TABLE orders TO items")
    rig.until_delivered(rig.store.write({ORDERS: {at: {"id": at, "v": 9} for at in range(3, 8)}}))
    assert rig.copy(ORDERS) == source(rig, ORDERS)
    assert rig.target.ddl == ["RENAME TABLE orders TO items"]


def test_a_sink_that_is_away_for_a_moment_costs_nothing(rig: Rig) -> None:
    fill(rig)
    rig.target.fail = [SinkAway("the bucket does not answer", retry_after=0.01), SinkAway("nor now")]
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.until_delivered(change(rig, 100))
    assert_equal(rig)
    assert "warning" in [state for state, _ in rig.states]


def test_a_table_that_is_born_while_the_sink_is_away_is_held_at_its_birth(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[tuple[int, Ts]] = []
    register = MemoryUpstream.register

    def remember(self: MemoryUpstream, range: Range, subscriber: str, at: Ts = 0) -> SnapshotVersion:
        held.append((range.table_id, at))
        return register(self, range, subscriber, at)

    monkeypatch.setattr(MemoryUpstream, "register", remember)
    fill(rig)
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.target.fail = [SinkAway("the bucket does not answer", retry_after=0.01)] * 1000
    change(rig, 100)
    late = rig.store.create(shop_table(3, "late"))
    rig.until(lambda: (3, late.version) in held)
    assert rig.target.ddl == []
    rig.target.fail = []
    rig.until_delivered(rig.store.write({late.table_id: {1: {"id": 1, "v": 1}}}))
    assert rig.copy(3) == source(rig, 3)


def test_a_sink_that_refuses_fails_the_subscription_and_moves_no_progress(rig: Rig) -> None:
    fill(rig)
    rig.target.fail = [SinkRefused("the bucket is not yours")]
    rig.start()
    rig.until(lambda: "failed" in [state for state, _ in rig.states])
    assert rig.ledger.load("s").cut == 0  # type: ignore[union-attr]
    assert rig.target.visible == {}


POINTS = [
    "snapshot-page",
    "log-page",
    "piece-before-write",
    "piece-closed",
    "before-ddl",
    "after-ddl",
    "after-commit",
    "after-progress",
    "receipts-back",
    "cut-planned",
    "tables-registered",
]
ONCE = ["ranges-registered", "progress-held", "sink-opened"]


@pytest.mark.parametrize(("point", "turn"), [(p, t) for p in POINTS for t in (1, 3)] + [(p, 1) for p in ONCE])
def test_a_failure_at_any_point_loses_nothing_and_doubles_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, point: str, turn: int
) -> None:
    passed = {point: 0}

    def fail(name: str) -> None:
        if name == point:
            passed[name] += 1
            if passed[name] == turn:
                raise SinkAway(f"failed at {name}", retry_after=0.01)

    for module in (carry, delivery):
        monkeypatch.setattr(module, "reach", fail)
    fill(rig)
    rig.start()
    for value in range(100, 103):
        change(rig, value)
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.store.alter(shop_table(ITEMS, "items", "w"), DdlType.ADD_COLUMN, "ALTER 1")
    change(rig, 103)
    rig.store.alter(shop_table(ITEMS, "items", "w", "x"), DdlType.ADD_COLUMN, "ALTER 2")
    rig.store.alter(shop_table(ITEMS, "items", "w", "x", "y"), DdlType.ADD_COLUMN, "ALTER 3")
    rig.until_delivered(rig.store.write({ORDERS: {30: None, 2: {"id": 2, "v": -1}}}))
    assert_equal(rig)
    assert rig.target.ddl == ["ALTER 1", "ALTER 2", "ALTER 3"]
    assert passed[point] >= turn


def test_every_point_of_the_pipeline_has_its_name_in_the_list_of_all() -> None:
    assert {*POINTS, *ONCE} <= set(failpoints.FAILPOINTS)
