"""The lookout: everybody sees from where they stand what the upstream would say, and few questions are asked."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import StaleRoute, UpstreamAway
from tailrace.pipeline import lookout as room
from tailrace.pipeline import reach
from tailrace.pipeline.lookout import Lookout, Watch
from tailrace.upstream.base import Frontier, Mark, UpstreamSpec
from tailrace.upstream.memory import MemoryUpstream, memory_store
from tests.pipeline.conftest import shop_table

_numbers = itertools.count(1)


def until(done: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


class Counting(MemoryUpstream):
    """Long-polls as a real one does, counts the questions, and fails as it is told to."""

    def __init__(self, name: str) -> None:
        super().__init__(UpstreamSpec(f"memory://{name}"))
        self.asked: list[tuple[int, float]] = []
        self.asked_ddl = 0
        self.stale: set[int] = set()
        self.away = False

    def frontier(self, marks: Sequence[Mark], wait_s: float) -> list[Frontier]:
        self.asked.append((len(marks), wait_s))
        end = time.monotonic() + wait_s
        while True:
            if self.away:
                raise UpstreamAway("127.0.0.1:9 is away")
            if self.stale & {mark.range.id for mark in marks}:
                raise StaleRoute("a range moved")
            found = super().frontier(marks, 0.0)
            if any(each.buckets for each in found) or time.monotonic() >= end:
                return found
            time.sleep(0.002)

    def ddl(self, after: Ts, upto: Ts) -> list[DdlEvent]:
        self.asked_ddl += 1
        return super().ddl(after, upto)


class Town:
    def __init__(self) -> None:
        self.name = f"lookout-{next(_numbers)}"
        self.store = memory_store(self.name)
        for table_id in (1, 2, 3):
            self.store.create(shop_table(table_id, f"t{table_id}"))
        self.upstream = Counting(self.name)
        self.lookout = Lookout(self.upstream)

    def range(self, table_id: int) -> Range:
        return self.store.tables[table_id].ranges[0]

    def mark(self, table_id: int, from_ts: Ts) -> Mark:
        return Mark(self.range(table_id), 0, from_ts)

    def write(self, *table_ids: int) -> Ts:
        return self.store.write({table_id: {1: {"id": 1, "v": 1}} for table_id in table_ids})


@pytest.fixture
def town() -> Iterator[Town]:
    made = Town()
    yield made
    made.lookout.close()


def commits(watch: Watch, mark: Mark) -> list[Ts]:
    sight = watch.look([mark], mark.from_ts)
    return [bucket.ts for bucket in sight.frontiers[0].buckets]


def test_everybody_sees_from_where_they_stand(town: Town) -> None:
    before = [town.write(1) for _ in range(3)]
    one, two = town.lookout.watch(lambda: None), town.lookout.watch(lambda: None)
    assert commits(one, town.mark(1, before[1])) == before[2:]
    assert commits(two, town.mark(1, before[0])) == before[1:], "from before what is kept"
    later = [town.write(1) for _ in range(2)]
    until(lambda: commits(one, town.mark(1, before[1])) == [before[2], *later])
    assert commits(two, town.mark(1, later[0])) == later[1:]
    assert commits(two, town.mark(1, later[1])) == []


def test_news_wakes_those_whose_ranges_it_is_about(town: Town) -> None:
    woken: list[str] = []
    one, two = town.lookout.watch(lambda: woken.append("one")), town.lookout.watch(lambda: woken.append("two"))
    now = town.upstream.now()
    one.look([town.mark(1, now)], now)
    two.look([town.mark(2, now)], now)
    until(lambda: len(town.upstream.asked) > 3)
    woken.clear()
    town.write(2)
    until(lambda: woken == ["two"])


def test_a_hundred_watchers_ask_no_more_than_one(town: Town) -> None:
    now = town.upstream.now()
    watches = [town.lookout.watch(lambda: None) for _ in range(100)]
    for watch in watches:
        watch.look([town.mark(1, now), town.mark(2, now)], now)
    first = len(town.upstream.asked)
    assert first <= 4, "what is kept is not asked for again"
    time.sleep(0.3)
    for watch in watches:
        watch.look([town.mark(1, now), town.mark(2, now)], now)
    assert len(town.upstream.asked) - first <= 2 and town.upstream.asked_ddl <= 5
    assert len([thread for thread in threading.enumerate() if thread.name == "lookout-memory"]) >= 1


def test_what_is_resolved_goes_on_without_news(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "POLL_SECONDS", 0.02)
    watch = town.lookout.watch(lambda: None)
    now = town.upstream.now()
    first = watch.look([town.mark(1, now)], now).resolved
    until(lambda: watch.look([town.mark(1, now)], now).resolved > first)


def test_a_range_that_is_gone_troubles_only_who_watches_it(town: Town) -> None:
    woken = threading.Event()
    one, two = town.lookout.watch(lambda: None), town.lookout.watch(woken.set)
    now = town.upstream.now()
    one.look([town.mark(1, now), town.mark(3, now)], now)
    two.look([town.mark(2, now)], now)
    town.upstream.stale = {town.range(2).id}
    until(woken.is_set)
    with pytest.raises(StaleRoute):
        until(lambda: not two.look([town.mark(2, now)], now).frontiers)
    last = town.write(1)
    until(lambda: commits(one, town.mark(1, now)) == [last])
    town.upstream.stale = set()
    again = town.lookout.watch(lambda: None)
    late = town.write(2)
    until(lambda: commits(again, town.mark(2, now)) == [late])


def test_a_leader_that_was_away_is_found_again(town: Town) -> None:
    woken = threading.Event()
    watch = town.lookout.watch(woken.set)
    now = town.upstream.now()
    watch.look([town.mark(1, now)], now)
    town.upstream.away = True
    until(woken.is_set)
    with pytest.raises(UpstreamAway):
        watch.look([town.mark(1, now)], now)
    watch.close()
    town.upstream.away = False
    again = town.lookout.watch(woken.set)
    again.look([town.mark(1, now)], now)
    woken.clear()
    last = town.write(1)
    until(woken.is_set)
    until(lambda: commits(again, town.mark(1, now)) == [last])


def test_a_ddl_is_seen_by_all_once_and_in_order(town: Town) -> None:
    now = town.upstream.now()
    watch, other = town.lookout.watch(lambda: None), town.lookout.watch(lambda: None)
    watch.look([town.mark(1, now)], now)
    for extra in ("w", "x"):
        town.store.alter(shop_table(1, "t1", extra), DdlType.ADD_COLUMN, f"ALTER {extra}")
    until(lambda: len(watch.look([town.mark(1, now)], now).events) == 2)
    sight = other.look([town.mark(2, now)], now)
    assert [event.query for event in sight.events] == ["ALTER w", "ALTER x"]
    assert all(event.commit_ts <= sight.resolved for event in sight.events)
    middle = sight.events[0].commit_ts
    assert [event.query for event in other.look([town.mark(2, middle)], middle).events] == ["ALTER x"]
    before = other.look([town.mark(3, 0)], 0).events
    assert [event.type for event in before][:3] == [DdlType.CREATE_TABLE] * 3


def test_who_watches_no_range_sees_the_statements(town: Town) -> None:
    watch = town.lookout.watch(lambda: None)
    now = town.upstream.now()
    assert watch.look([], now).resolved >= now
    town.store.create(shop_table(9, "t9"))
    until(lambda: len(watch.look([], now).events) == 1)


def test_a_slow_watcher_keeps_only_so_much_and_still_sees_all(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "TRIM_BUCKETS", 4)
    monkeypatch.setattr(reach, "MOST_BUCKETS", 8)
    now = town.upstream.now()
    slow, quick = town.lookout.watch(lambda: None), town.lookout.watch(lambda: None)
    slow.look([town.mark(1, now)], now)
    written: list[Ts] = []
    for _ in range(40):
        written.append(town.write(1))
        until(lambda: commits(quick, town.mark(1, written[-1] - 1)) == [written[-1]])
    assert commits(slow, town.mark(1, now)) == written


def test_the_post_of_a_leader_ends_with_its_last_watcher(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "POLL_SECONDS", 0.02)
    watch = town.lookout.watch(lambda: None)
    now = town.upstream.now()
    watch.look([town.mark(1, now)], now)
    watch.close()
    until(lambda: not town.lookout._posts and not town.lookout._reaches)
    count = len(town.upstream.asked)
    time.sleep(0.1)
    assert len(town.upstream.asked) == count


def test_of_many_ranges_the_busy_ones_are_asked_for_and_all_now_and_then(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FEW_RANGES", 2)
    watch = town.lookout.watch(lambda: None)
    now = town.upstream.now()
    marks = [town.mark(table_id, now) for table_id in (1, 2, 3)]
    watch.look(marks, now)
    town.write(1)
    until(lambda: bool(watch.look(marks, now).frontiers[0].buckets))
    town.upstream.asked.clear()
    resolved = watch.look(marks, now).resolved
    until(lambda: len(town.upstream.asked) > 6)
    assert {count for count, _ in town.upstream.asked} == {1, 3}
    assert watch.look(marks, now).resolved > resolved
    quiet = town.write(3)
    until(lambda: [bucket.ts for bucket in watch.look(marks, now).frontiers[2].buckets] == [quiet], 1.0)
