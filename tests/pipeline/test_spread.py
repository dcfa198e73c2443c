"""A cut whose changes meet: whatever arrives when, each route writes all of its own in order, or nothing counts."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace

import pytest

from tailrace import plugins
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import Index
from tailrace.change.tso import MAX_TS
from tailrace.pipeline import carry, spread
from tailrace.pipeline.carry import Order
from tailrace.pipeline.hands import left_behind
from tailrace.pipeline.job import LocalRunner, Terms
from tailrace.pipeline.pieces import with_routes
from tailrace.pipeline.spread import Arrival, by_size, feed, settle, spread_of
from tailrace.progress.cut import Cut, Piece, Receipt, Span
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.memory import MemoryUpstream
from tests.pipeline.conftest import Rig, shop_table
from tests.pipeline.recorder import Attempt, Row

TERMS = Terms(slots=4, patience=60.0)
TABLES = {1: "orders", 2: "items"}


@pytest.fixture
def store(rig: Rig) -> Rig:
    """Two tables in five ranges, and transactions over all of them in which keys come and go."""
    rig.target.routes = 3
    for table_id, name in TABLES.items():
        rig.store.create(shop_table(table_id, name), cuts=(10, 20) if table_id == 1 else (15,))
    dice = random.Random(1)
    for value in range(40):
        changes: dict[int, dict[int, dict[str, int] | None]] = {}
        for table in TABLES:
            there = sorted(rig.store.tables[table].rows)
            gone = dict.fromkeys(dice.sample(there, min(2, len(there))))
            changes[table] = {key: {"id": key, "v": value} for key in dice.sample(range(30), 6)} | gone
        rig.store.write(changes)
    return rig


def orders(rig: Rig, cut: int = 1, subscription: str = "s") -> list[Order]:
    upstream = UpstreamSpec("memory://" + rig.uri)
    reader = MemoryUpstream(upstream)
    feeds = [
        Piece(subscription, 1, cut, 0, "log", table_id, 0, (Span(each),), 0, MAX_TS, bytes=9 << 20)
        for table_id in TABLES
        for each in reader.routes(rig.store.tables[table_id].versions[-1])
    ]
    numbered = [replace(piece, number=number) for number, piece in enumerate(feeds)]
    pieces = with_routes(Cut(subscription, 1, cut, "log", 0, MAX_TS), numbered, 3)
    return [Order(piece, upstream, SinkSpec(subscription, "recorder://" + rig.uri)) for piece in pieces]


def written(rig: Rig) -> list[list[Row]]:
    return list(rig.target.staged.values())


def source_rows(rig: Rig) -> list[str]:
    changes = (change for table in rig.store.tables.values() for change in table.changes)
    return sorted(f"{each.table.table_id} {each.commit_ts} {each.number}" for each in changes)


def texts(rows: list[Row]) -> list[str]:
    return [f"{table} {ts} {(after or before)['id']}" for table, _, ts, before, after in rows]


def test_every_change_is_written_once_by_the_route_of_its_key(store: Rig) -> None:
    given = orders(store)
    receipts = LocalRunner().run(given, TERMS)
    assert [receipt.error for receipt in receipts] == [None] * len(given)
    assert [receipt.piece for receipt in receipts] == [order.piece.number for order in given]
    assert [bool(receipt.payload) for receipt in receipts] == [not order.piece.feeds for order in given]
    routes = written(store)
    assert len(routes) == 3
    assert sorted(text for rows in routes for text in texts(rows)) == source_rows(store)
    assert sum(receipt.rows for receipt in receipts) == len(source_rows(store))
    for table in TABLES:
        keys = [{(after or before)["id"] for of, _, _, before, after in rows if of == table} for rows in routes]
        assert sum(map(len, keys)) == len(set().union(*keys)) == 30
        for rows in routes:
            order = [
                (ts, {2: 0, 1: 1, 0: 2}[op], (after or before)["id"])
                for of, op, ts, before, after in rows
                if of == table
            ]
            assert order == sorted(order)


def test_the_order_of_arrival_means_nothing(store: Rig) -> None:
    made = spread_of(orders(store), range(len(orders(store))))
    arrivals = [arrival for each in made.feeds for arrival in feed(each)]
    results: list[list[list[Row]]] = []
    for seed in range(5):
        random.Random(seed).shuffle(arrivals)
        store.target.staged.clear()
        answers = dict(settle(made.routes, sorted(arrivals, key=lambda each: each.order)))
        assert answers.keys() == set(range(len(orders(store))))
        results.append(written(store))
    assert all(result == results[0] for result in results[1:])
    assert sorted(text for rows in results[0] for text in texts(rows)) == source_rows(store)


def test_a_feed_that_fails_stops_every_route_of_its_cut_and_of_no_other(store: Rig) -> None:
    bad, good = orders(store), orders(store, subscription="other")
    bad[1] = replace(bad[1], upstream=UpstreamSpec("nowhere://x"))
    receipts = LocalRunner().run([*bad, *good], TERMS)
    of_bad, of_good = receipts[: len(bad)], receipts[len(bad) :]
    assert [receipt.error is None for receipt in of_good] == [True] * len(good)
    failed = [receipt.error["kind"] for receipt in of_bad if receipt.error]
    assert failed == ["ConfigError"] * 4
    assert len(written(store)) == 3


@pytest.mark.parametrize("lost", ["a segment", "a word"])
def test_a_route_that_lacks_something_writes_nothing(store: Rig, lost: str) -> None:
    made = spread_of(orders(store), range(len(orders(store))))
    arrivals = sorted((arrival for each in made.feeds for arrival in feed(each)), key=lambda each: each.order)
    arrivals.remove(next(each for each in arrivals if each.last_word == (lost == "a word")))
    receipts = [receipt for number, receipt in settle(made.routes, arrivals) if number in made.routes]
    errors = [str(receipt.error["message"]) for receipt in receipts if receipt.error]
    assert len(errors) == 1
    assert ("were sent" if lost == "a segment" else "said nothing") in errors[0]
    assert len(written(store)) == 2


def test_a_segment_that_came_twice_is_not_written_either(store: Rig) -> None:
    made = spread_of(orders(store), range(len(orders(store))))
    arrivals: list[Arrival] = [arrival for each in made.feeds for arrival in feed(each)]
    arrivals.append(next(each for each in arrivals if not each.last_word))
    answers = settle(made.routes, sorted(arrivals, key=lambda each: each.order))
    receipts: list[Receipt] = [receipt for number, receipt in answers if number in made.routes]
    assert sum(receipt.error is not None for receipt in receipts) == 1


def test_only_a_cut_that_is_too_large_for_one_task_is_shuffled(store: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    small = [replace(each, piece=replace(each.piece, bytes=1 << 20)) for each in orders(store, cut=2)]
    both = [*orders(store), *small]
    alone, large = by_size(spread_of(both, range(len(both))))
    assert [each.feeds[0].order.piece.cut for each in alone] == [2]
    assert {each.order.piece.cut for each in large.feeds} == {1}
    assert {each.order.piece.cut for each in large.routes.values()} == {1}
    monkeypatch.setattr(spread, "TOGETHER_BYTES", 64 << 20)
    assert len(by_size(spread_of(both, range(len(both))))[0]) == 2


def test_a_sink_with_routes_is_delivered_as_any_other(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.target.routes = 3
    monkeypatch.setattr(carry, "PAGE_BYTES", 100)
    for table_id, name in TABLES.items():
        rig.store.create(shop_table(table_id, name), cuts=(10,))
    rig.store.write({1: {at: {"id": at, "v": at} for at in range(20)}})
    rig.start()
    rig.until(lambda: rig.target.checkpoint > 0)
    last = 0
    for value in range(30):
        last = rig.store.write(
            {table: {(value * 7 + table) % 20: {"id": (value * 7 + table) % 20, "v": value}} for table in TABLES}
        )
    rig.until_delivered(last)
    for table_id in TABLES:
        assert rig.copy(table_id) == {key: dict(row) for key, row in rig.store.tables[table_id].rows.items()}
    rows = [str(row) for row in rig.target.rows()]
    assert len(rows) == len(set(rows)) == 20 + 60
    assert plugins.open_sink(SinkSpec("s", "recorder://")).capabilities.routes == 3


def test_a_table_with_a_second_unique_key_is_divided_where_one_piece_has_all_of_it(rig: Rig) -> None:
    rig.target.routes = 3
    unique = (Index(1, "PRIMARY", ("id",), True, True), Index(2, "v", ("v",), True))
    rig.store.create(replace(shop_table(1, "orders"), indexes=unique), cuts=(10, 20))
    for turn in range(20):
        # Pairs of rows that exchange their values, over ranges and transactions.
        rig.store.write({1: {key: {"id": key, "v": (key + 15 * turn) % 30} for key in (turn % 15, turn % 15 + 15)}})
    upstream = UpstreamSpec("memory://" + rig.uri)
    spans = tuple(Span(each) for each in MemoryUpstream(upstream).routes(rig.store.tables[1].versions[-1]))
    cut, feed_of_all = (
        Cut("s", 1, 1, "log", 0, MAX_TS),
        Piece("s", 1, 1, 0, "log", 1, 0, spans, 0, MAX_TS, bytes=24 << 20),
    )
    pieces = with_routes(cut, [feed_of_all], 3)
    assert [piece.whole for piece in pieces] == [True, False, False, False]
    given = [Order(piece, upstream, SinkSpec("s", "recorder://" + rig.uri)) for piece in pieces]
    assert [receipt.error for receipt in LocalRunner().run(given, TERMS)] == [None] * 4
    of_value: dict[int, set[int]] = {}
    for route, rows in enumerate(written(rig)):
        for _, _, _, before, after in rows:
            for image in filter(None, (before, after)):
                of_value.setdefault(image["v"], set()).add(route)
                of_value.setdefault(-1 - image["id"], set()).add(route)
    assert all(len(routes) == 1 for routes in of_value.values())
    assert len(set().union(*of_value.values())) == 3
    halves = with_routes(cut, [replace(feed_of_all, number=n) for n in range(2)], 3)
    large = with_routes(cut, [replace(feed_of_all, bytes=65 << 20)], 3)
    assert not any(piece.whole for piece in (*halves, *large))


def test_a_route_that_hangs_is_left_behind_and_the_others_answer(store: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    freed = threading.Event()
    first = threading.Lock()

    def write(self: Attempt, batch: ChangeBatch) -> None:
        if first.acquire(blocking=False):
            freed.wait(30)

    monkeypatch.setattr(Attempt, "write", write)
    small = [replace(each, piece=replace(each.piece, bytes=1 << 10)) for each in orders(store)]
    try:
        receipts = LocalRunner().run(small, replace(TERMS, patience=0.3))
    finally:
        freed.set()
    errors = [receipt.error["kind"] for receipt in receipts if receipt.error]
    assert errors == ["Overdue"]
    while left_behind():
        time.sleep(0.01)
    assert len(written(store)) == 2
