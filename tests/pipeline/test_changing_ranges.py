"""Ranges that split, merge and move under a subscription, and snapshots that are lost: no row twice, none lost, none
back in time."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from dataclasses import replace

import pytest

from tailrace.change.ddl import DdlType
from tailrace.change.ranges import Range
from tailrace.pipeline import delivery
from tailrace.progress.position import Stage
from tailrace.upstream.base import SnapshotVersion
from tailrace.upstream.memory import MemoryUpstream, Row, key_of
from tests.pipeline.conftest import Rig, shop_table

ORDERS, ITEMS = 1, 2


def fill(rig: Rig, rows: int = 60) -> None:
    rig.store.create(shop_table(ORDERS, "orders"), cuts=(20, 40))
    rig.store.create(shop_table(ITEMS, "items"))
    rig.store.write({ORDERS: {at: {"id": at, "v": at} for at in range(rows)}})
    rig.store.write({ITEMS: {at: {"id": at, "v": at} for at in range(rows)}})


def put(rig: Rig, value: int, keys: range | list[int], table_id: int = ORDERS) -> int:
    return rig.store.write({table_id: {at: {"id": at, "v": value} for at in keys}})


def check(rig: Rig, *tables: int) -> None:
    """Each key: its row once, as of some version, then every change above that, in order; the table as a whole in
    commit order; and at the end the same rows as in the source."""
    for table_id in tables or (ORDERS, ITEMS):
        known = rig.store.tables[table_id]
        found = [row for final in sorted(rig.target.visible) for row in rig.target.visible[final] if row[0] == table_id]
        times = [ts for _, _, ts, _, _ in found]
        assert times == sorted(times), "the table went back in time"
        seen: dict[int, list[tuple[int, object]]] = defaultdict(list)
        for _, _, ts, before, after in found:
            seen[(after or before)["id"]].append((ts, shown(after)))
        for number, rows in seen.items():
            made = [(change.commit_ts, shown(change.after)) for change in known.changes if change.number == number]
            first = rows[0][0]
            assert rows[0][1] == [after for ts, after in made if ts <= first][-1]
            assert rows[1:] == [change for change in made if change[0] > first], f"{number} came twice or not"
        assert rig.copy(table_id) == {number: shown(row) for number, row in known.rows.items()}


def shown(row: Row | None) -> dict[str, int] | None:
    return None if row is None else {name: value for name, value in row.items() if value is not None}


def start_and_read(rig: Rig, **options: str) -> None:
    rig.start(**options)  # type: ignore[arg-type]
    rig.until(lambda: rig.target.checkpoint > 0)


def test_heirs_of_a_split_are_followed_in_the_log(rig: Rig) -> None:
    fill(rig)
    start_and_read(rig)
    put(rig, 100, range(0, 60, 7))
    rig.store.split(ORDERS, 10)
    put(rig, 101, range(0, 60, 7))
    rig.store.split(ORDERS, 5)
    rig.store.split(ORDERS, 50)
    rig.until_delivered(put(rig, 102, range(60)))
    check(rig)
    rig.until_delivered(put(rig, 103, range(60)))
    saved = rig.ledger.load("s")
    assert saved is not None
    assert {each.stage for each in saved.ranges} == {Stage.LOG}, "a drained range is still held"
    assert {each.range_id for each in saved.ranges if each.table_id == ORDERS} == {
        each.id for each in rig.store.tables[ORDERS].ranges
    }


def test_the_heir_of_a_merge_is_followed_in_the_log(rig: Rig) -> None:
    fill(rig)
    start_and_read(rig)
    for value in range(100, 104):
        put(rig, value, range(0, 60, 7))
        ranges = rig.store.tables[ORDERS].ranges
        if len(ranges) > 1:
            rig.store.merge(ranges[0], ranges[1])
    rig.until_delivered(put(rig, 105, range(60)))
    check(rig)


def test_a_range_that_moved_is_asked_again_under_its_new_epoch(rig: Rig) -> None:
    fill(rig)
    start_and_read(rig)
    for known in list(rig.store.tables[ORDERS].ranges):
        rig.store.move(known)
        put(rig, 100 + known.id, range(60))
    rig.until_delivered(put(rig, 200, range(60)))
    check(rig)


def test_a_subscription_that_starts_in_the_past_reads_closed_logs_too(rig: Rig) -> None:
    fill(rig)
    at = rig.store.tso()
    put(rig, 100, range(60))
    rig.store.split(ORDERS, 10)
    put(rig, 101, range(60))
    ranges = rig.store.tables[ORDERS].ranges
    rig.store.merge(ranges[1], ranges[2])
    rig.start(start=str(at))
    rig.until_delivered(put(rig, 102, range(60)))
    assert len([row for row in rig.target.rows() if row[0] == ORDERS]) == 180
    check(rig, ORDERS)


def test_a_table_that_splits_before_its_birth_is_reached_is_read_whole(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(rig)
    start_and_read(rig)
    rig.stop()
    made = rig.store.create(shop_table(3, "late"))
    put(rig, 1, range(30), made.table_id)
    rig.store.split(3, 10)
    put(rig, 2, range(30), made.table_id)
    rig.start()
    rig.until_delivered(put(rig, 3, range(30), made.table_id))
    check(rig, 3)


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "SNAPSHOT_ROWS", 4)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("seed", range(4))
def test_any_schedule_in_the_snapshot(rig: Rig, seed: int) -> None:
    """Splits, merges, moves, lost versions, DDL and restarts while rows are read."""
    dice = random.Random(seed)
    fill(rig, 300)
    rig.start()
    early = 0
    for step in range(40):
        ranges = rig.store.tables[ORDERS].ranges
        act = dice.randrange(9)
        with rig.store.lock:
            if act < 2:
                number = dice.randrange(1, 300)
                if any(each.covers(number_key(number)) and each.start < number_key(number) for each in ranges):
                    rig.store.split(ORDERS, number)
            elif act < 4 and len(ranges) > 1:
                at = dice.randrange(len(ranges) - 1)
                rig.store.merge(ranges[at], ranges[at + 1])
            elif act == 4:
                rig.store.move(dice.choice(ranges))
            elif act == 5:
                rig.store.versions_from = rig.store.tso()
            elif act == 6 and step % 3 == 0:
                table = shop_table(ITEMS, "items", *(f"c{at}" for at in range(step)))
                rig.store.alter(table, DdlType.ADD_COLUMN, f"ALTER TABLE items ADD c{step} INT")
            if act == 7:
                put(rig, 200 + step, [dice.randrange(60)], ITEMS)
            put(rig, 100 + step, dice.sample(range(300), 3))
        if act == 8 and step % 2:
            rig.stop()
            rig.start()
        early += rig.target.checkpoint == 0
        time.sleep(dice.random() * 0.02)
    rig.until_delivered(put(rig, 999, range(60)))
    rig.stop()
    check(rig)
    assert early > 5, "the snapshot was over before anything could happen to it"
    queries = [event.query for event in rig.store.events if event.type == DdlType.ADD_COLUMN]
    assert [query for query in rig.target.ddl if query in queries] == [q for q in queries if q in rig.target.ddl]


def number_key(number: int) -> bytes:
    return key_of(ORDERS, number)


@pytest.mark.usefixtures("small_pages")
def test_a_lost_version_is_followed_by_a_newer_one_after_the_log_of_what_was_read(rig: Rig) -> None:
    fill(rig)
    rig.start()
    rig.until(lambda: len(rig.target.visible) > 3)
    with rig.store.lock:
        first = min(row[2] for row in rig.target.rows())
        put(rig, 100, range(60))
        rig.store.alter(shop_table(ORDERS, "orders", "w"), DdlType.ADD_COLUMN, "ALTER TABLE orders ADD w INT")
        rig.store.write({ORDERS: {at: {"id": at, "v": 101, "w": 1} for at in range(60)}})
        rig.store.versions_from = rig.store.tso()
    last = put(rig, 102, range(60), ITEMS)
    rig.until_delivered(last)
    rig.stop()
    check(rig)
    stamps = {row[2] for row in rig.target.rows() if row[1] == 0 and row[0] == ORDERS}
    assert first in stamps and max(stamps) > rig.store.versions_from
    assert rig.target.ddl == ["ALTER TABLE orders ADD w INT"]
    kept = rig.ledger.load("s")
    assert kept is not None and kept.to_ts >= last
    assert {each.init_snapshot_version for each in kept.ranges} == {first}


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("how", ["drop", "truncate"])
@pytest.mark.parametrize("lost", [False, True])
def test_a_table_that_goes_ends_its_snapshot(rig: Rig, how: str, lost: bool) -> None:
    fill(rig)
    rig.start()
    rig.until(lambda: len(rig.target.visible) > 3)
    with rig.store.lock:
        if how == "drop":
            rig.store.drop(ITEMS)
        else:
            rig.store.truncate(ITEMS, 9)
            put(rig, 7, range(5), 9)
        if lost:
            rig.store.versions_from = rig.store.tso()
    put(rig, 100, range(60))
    rig.store.alter(shop_table(ORDERS, "orders", "w"), DdlType.ADD_COLUMN, "ALTER TABLE orders ADD w INT")
    rig.until_delivered(put(rig, 101, range(60)))
    check(rig, *((ORDERS, 9) if how == "truncate" else (ORDERS,)))
    saved = rig.ledger.load("s")
    assert saved is not None and ITEMS not in {each.table_id for each in saved.ranges}
    assert [query.split()[0] for query in rig.target.ddl] == [how.upper(), "ALTER"]


def test_a_snapshot_of_which_nothing_was_read_begins_anew(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(rig)
    rig.store.versions_from = rig.store.tso() + 30
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    rig.until(lambda: rig.states[-1] == ("normal", None))
    check(rig)


@pytest.mark.usefixtures("small_pages")
def test_a_newcomer_holds_back_the_checkpoint_and_nobodys_data(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "NEWCOMER_SECONDS", 0.05)
    fill(rig)
    elsewhere = rig.store.create(replace(shop_table(5, "late"), schema="other"))
    put(rig, 1, range(400), elsewhere.table_id)
    start_and_read(rig)
    before = put(rig, 100, range(60))
    rig.until_delivered(before)
    renamed = replace(elsewhere, schema="shop")
    rig.store.alter(renamed, DdlType.RENAME_TABLE, "RENAME TABLE other.late TO shop.late")
    came = rig.store.tso()
    rig.until(lambda: any(row[0] == 5 for row in rig.target.rows()))
    early = 0
    for value in range(101, 111):
        ts = put(rig, value, range(0, 60, 5))
        rig.store.write({5: {value: {"id": value, "v": value}}})
        rig.until(lambda ts=ts: any(row[2] >= ts for row in rig.target.rows() if row[0] == ORDERS))  # type: ignore[misc]
        early += rig.target.checkpoint < came
    rig.until_delivered(put(rig, 200, range(60)))
    check(rig, ORDERS, ITEMS, 5)
    assert early > 3, "the newcomer was read before anything could wait for it"
    assert rig.target.ddl == ["RENAME TABLE other.late TO shop.late"]
    stamps = {row[2] for row in rig.target.rows() if row[0] == 5 and row[1] == 0}
    assert len(stamps) > 1


@pytest.mark.usefixtures("small_pages")
def test_tables_that_are_born_in_a_long_snapshot_are_pinned_at_once(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "RELEASE_SECONDS", 0.0)
    pinned: dict[int, int] = {}
    register = MemoryUpstream.register

    def noted(self: MemoryUpstream, route: Range, subscriber: str, at: int = 0) -> SnapshotVersion:
        pinned[route.table_id] = min(at, pinned.get(route.table_id, at))
        assert rig.target.checkpoint == 0 or route.table_id in pinned
        return register(self, route, subscriber, at)

    monkeypatch.setattr(MemoryUpstream, "register", noted)
    fill(rig, 400)
    rig.start()
    rig.until(lambda: len(rig.target.visible) > 2)
    born = rig.store.create(shop_table(8, "born"))
    put(rig, 1, range(5), 8)
    rig.until(lambda: 8 in pinned)
    assert rig.target.checkpoint == 0 and pinned[8] == born.version
    rig.until_delivered(put(rig, 2, range(5), 8))
    check(rig, 8)
