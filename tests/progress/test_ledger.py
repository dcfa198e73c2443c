"""The ledger: progress moves to exactly what was planned, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, event, select

from tailrace.change.schema import TableSchema
from tailrace.errors import Fenced, NotFound, OutOfStep
from tailrace.progress import tables
from tailrace.progress.database import MetaDatabase
from tailrace.progress.ledger import Ledger
from tailrace.progress.position import Progress, Stage
from tests.progress.ledgers import (
    CLUSTER,
    NAME,
    add_subscription,
    cut_of,
    memory_database,
    moved,
    positions,
    raise_epoch,
)


@pytest.fixture
def meta() -> Iterator[MetaDatabase]:
    with memory_database() as meta:
        yield meta


@pytest.fixture
def ledger(meta: MetaDatabase) -> Ledger:
    return Ledger(meta, CLUSTER)


@pytest.fixture
def held(ledger: Ledger) -> Progress:
    progress = Progress(NAME, ranges=positions(3))
    ledger.hold(NAME, 1, progress)
    return progress


def test_nothing_is_known_before_ranges_are_held(ledger: Ledger) -> None:
    assert ledger.load(NAME) is None
    assert ledger.pending(NAME) is None
    assert ledger.seat(NAME, 1).last_cut() == 0


def test_held_ranges_are_loaded_by_table_partition_and_key(ledger: Ledger) -> None:
    ranges = positions(3)
    other = replace(ranges[0], range_id=9, table_id=2, stage=Stage.SNAPSHOT, last_snapshot_key=b"\x00\xff")
    ledger.hold(NAME, 1, Progress(NAME, ranges=(ranges[2], ranges[0], other, ranges[1])))
    assert ledger.load(NAME) == Progress(NAME, ranges=(other, *ranges))


def test_a_subscription_without_ranges_is_held_all_the_same(ledger: Ledger) -> None:
    ledger.hold(NAME, 1, Progress(NAME))
    assert ledger.load(NAME) == Progress(NAME)


def test_a_cut_is_pending_from_begin_to_finish(ledger: Ledger, held: Progress) -> None:
    after = moved(held, 1, 2)
    ledger.begin(cut_of(1), after)
    assert ledger.pending(NAME) == (cut_of(1), after)
    assert ledger.load(NAME) == held
    ledger.finish(cut_of(1), after)
    assert ledger.pending(NAME) is None
    assert ledger.load(NAME) == after
    assert ledger.seat(NAME, 1).last_cut() == 1


def test_another_process_reads_what_was_written(ledger: Ledger, meta: MetaDatabase, held: Progress) -> None:
    after = moved(held, 1)
    ledger.begin(cut_of(1), after)
    assert Ledger(meta, CLUSTER).pending(NAME) == (cut_of(1), after)
    ledger.finish(cut_of(1), after)
    assert Ledger(meta, CLUSTER).load(NAME) == after


def test_a_plan_may_split_and_drop_ranges(ledger: Ledger, meta: MetaDatabase, held: Progress) -> None:
    first, second, third = held.ranges
    middle = b"k000001x"
    split = (replace(second, end=middle), replace(second, range_id=8, start=middle, last_log_index=0))
    after = Progress(NAME, 1, 10, (replace(first, through_ts=10), *split))
    ledger.begin(cut_of(1), after)
    ledger.finish(cut_of(1), after)
    assert third not in after.ranges
    assert ledger.load(NAME) == after
    assert Ledger(meta, CLUSTER).load(NAME) == after


def test_a_naming_is_loaded_with_its_cut_until_the_cut_is_finished(ledger: Ledger, held: Progress) -> None:
    seat = ledger.seat(NAME, 1)
    ledger.begin(cut_of(1), moved(held, 1))
    assert seat.load_naming() is None
    seat.save_naming(cut_of(1), '{"files":[]}')
    seat.save_naming(cut_of(1), '{"files":[]}')
    assert seat.load_naming() == (cut_of(1), '{"files":[]}')
    ledger.finish(cut_of(1), moved(held, 1))
    assert seat.load_naming() is None


def test_an_empty_naming_is_a_naming(ledger: Ledger, held: Progress) -> None:
    ledger.begin(cut_of(1), moved(held, 1))
    ledger.seat(NAME, 1).save_naming(cut_of(1), "")
    assert ledger.seat(NAME, 1).load_naming() == (cut_of(1), "")
    with pytest.raises(OutOfStep, match="naming"):
        ledger.abandon(cut_of(1))


def test_a_naming_is_never_replaced_by_another(ledger: Ledger, held: Progress) -> None:
    ledger.begin(cut_of(1), moved(held, 1))
    ledger.seat(NAME, 1).save_naming(cut_of(1), "one")
    with pytest.raises(OutOfStep, match="another naming"):
        ledger.seat(NAME, 1).save_naming(cut_of(1), "two")
    assert ledger.seat(NAME, 1).load_naming() == (cut_of(1), "one")


def test_a_naming_needs_a_plan_of_its_cut(ledger: Ledger, held: Progress) -> None:
    with pytest.raises(OutOfStep, match="not begun"):
        ledger.seat(NAME, 1).save_naming(cut_of(1), "one")
    ledger.begin(cut_of(1), moved(held, 1))
    with pytest.raises(OutOfStep, match="cut 1 is the one begun"):
        ledger.seat(NAME, 1).save_naming(cut_of(2), "one")


def test_a_named_cut_must_be_finished_before_the_next_is_begun(ledger: Ledger, held: Progress) -> None:
    ledger.begin(cut_of(1), moved(held, 1))
    ledger.seat(NAME, 1).save_naming(cut_of(1), "one")
    with pytest.raises(OutOfStep, match="replay"):
        ledger.begin(cut_of(1), moved(held, 1))
    with pytest.raises(OutOfStep, match="replay"):
        ledger.begin(cut_of(2), moved(held, 2))


def test_an_unnamed_cut_is_planned_anew_or_abandoned(ledger: Ledger, held: Progress) -> None:
    ledger.begin(cut_of(1), moved(held, 1, 1))
    ledger.begin(cut_of(1), moved(held, 1, 2))
    assert ledger.pending(NAME) == (cut_of(1), moved(held, 1, 2))
    ledger.abandon(cut_of(1))
    ledger.abandon(cut_of(1))
    assert ledger.pending(NAME) is None
    assert ledger.load(NAME) == held


def test_progress_moves_only_to_what_was_planned(ledger: Ledger, held: Progress) -> None:
    with pytest.raises(OutOfStep, match="not begun"):
        ledger.finish(cut_of(1), moved(held, 1))
    ledger.begin(cut_of(1), moved(held, 1, 1))
    with pytest.raises(OutOfStep, match="not the planned"):
        ledger.finish(cut_of(1), moved(held, 1, 2))
    with pytest.raises(OutOfStep, match="cut 1 is the one begun"):
        ledger.finish(cut_of(2), moved(held, 2))
    assert ledger.load(NAME) == held


def test_a_finished_cut_is_not_begun_again(ledger: Ledger, held: Progress) -> None:
    after = moved(held, 1)
    ledger.begin(cut_of(1), after)
    ledger.finish(cut_of(1), after)
    with pytest.raises(OutOfStep, match="cut 1 is finished"):
        ledger.begin(cut_of(1), after)


def test_finishing_again_after_a_lost_answer_is_harmless(ledger: Ledger, held: Progress) -> None:
    after = moved(held, 1)
    ledger.begin(cut_of(1), after)
    ledger.finish(cut_of(1), after)
    ledger.finish(cut_of(1), after)
    with pytest.raises(OutOfStep):
        ledger.finish(cut_of(1), moved(held, 1, 1))
    assert ledger.load(NAME) == after


def test_an_idle_cut_moves_the_checkpoint_alone(ledger: Ledger, held: Progress) -> None:
    after = replace(held, cut=1, to_ts=10)
    ledger.begin(cut_of(1), after)
    ledger.finish(cut_of(1), after)
    assert ledger.load(NAME) == after


def test_ranges_are_held_only_between_cuts_and_at_the_finished_one(ledger: Ledger, held: Progress) -> None:
    grown = replace(held, ranges=positions(4))
    ledger.hold(NAME, 1, grown)
    assert ledger.load(NAME) == grown
    with pytest.raises(OutOfStep, match="not cut 3"):
        ledger.hold(NAME, 1, replace(grown, cut=3))
    ledger.begin(cut_of(1), moved(grown, 1))
    with pytest.raises(OutOfStep, match="while a cut is begun"):
        ledger.hold(NAME, 1, grown)


def test_subscriptions_and_clusters_do_not_see_each_other(ledger: Ledger, meta: MetaDatabase, held: Progress) -> None:
    add_subscription(meta, "users")
    add_subscription(meta, NAME, cluster_id=2)
    others = [(ledger, "users"), (Ledger(meta, 2), NAME)]
    for other, name in others:
        assert other.load(name) is None
        other.hold(name, 1, Progress(name, ranges=positions(2, 99)))
    ledger.begin(cut_of(1), moved(held, 1))
    ledger.finish(cut_of(1), moved(held, 1))
    for other, name in others:
        assert other.load(name) == Progress(name, ranges=positions(2, 99))
        assert other.pending(name) is None


def test_an_unknown_subscription_is_named(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="nobody"):
        ledger.hold("nobody", 1, Progress("nobody"))
    with pytest.raises(NotFound, match="nobody"):
        ledger.seat("nobody", 1).check()


def test_progress_bears_the_names_of_tables(ledger: Ledger, meta: MetaDatabase, held: Progress) -> None:
    def names() -> set[tuple[str, str]]:
        with meta.reading() as connection:
            columns = select(tables.progress.c.db_name, tables.progress.c.table_name)
            return {(row[0], row[1]) for row in connection.execute(columns)}

    assert names() == {("", "#7")}
    ledger.name_tables(NAME, 1, [TableSchema("shop", "orders", 7, 1, ())])
    assert names() == {("shop", "orders")}
    ledger.hold(NAME, 1, Progress(NAME, ranges=positions(5)))
    assert names() == {("shop", "orders")}
    ledger.name_tables(NAME, 1, [TableSchema("shop", "bills", 7, 2, ())])
    assert names() == {("shop", "bills")}
    assert ledger.load(NAME) == Progress(NAME, ranges=positions(5))


def test_clearing_leaves_nothing_of_one_subscription(ledger: Ledger, held: Progress) -> None:
    ledger.begin(cut_of(1), moved(held, 1))
    ledger.clear(NAME, 1)
    assert ledger.load(NAME) is None
    assert ledger.pending(NAME) is None
    ledger.hold(NAME, 1, held)
    assert ledger.load(NAME) == held


def test_an_older_epoch_writes_nothing(ledger: Ledger, meta: MetaDatabase, held: Progress) -> None:
    ledger.begin(cut_of(1), moved(held, 1))
    raise_epoch(meta)
    seat = ledger.seat(NAME, 1)
    with pytest.raises(Fenced, match="epoch 2 owns"):
        seat.check()
    attempts: list[Callable[[], None]] = [
        lambda: seat.save_naming(cut_of(1), "one"),
        lambda: ledger.begin(cut_of(1), moved(held, 1)),
        lambda: ledger.finish(cut_of(1), moved(held, 1)),
        lambda: ledger.abandon(cut_of(1)),
        lambda: ledger.hold(NAME, 1, held),
        lambda: ledger.name_tables(NAME, 1, []),
        lambda: ledger.clear(NAME, 1),
    ]
    for attempt in attempts:
        with pytest.raises(Fenced):
            attempt()
    fresh = Ledger(meta, CLUSTER)
    assert fresh.pending(NAME) == (cut_of(1), moved(held, 1))
    assert fresh.load(NAME) == held


def test_the_new_owner_finishes_what_the_old_one_named(ledger: Ledger, meta: MetaDatabase, held: Progress) -> None:
    after = moved(held, 1)
    ledger.begin(cut_of(1), after)
    ledger.seat(NAME, 1).save_naming(cut_of(1), "one")
    epoch = raise_epoch(meta)
    successor = Ledger(meta, CLUSTER)
    found = successor.pending(NAME)
    assert found == (cut_of(1), after)
    successor.finish(replace(found[0], epoch=epoch), found[1])
    assert successor.load(NAME) == after
    assert successor.seat(NAME, epoch).load_naming() is None


def test_what_another_owner_wrote_is_seen_through_the_memory_of_the_last_write(
    ledger: Ledger, meta: MetaDatabase, held: Progress
) -> None:
    """A server that loses a subscription and claims it again must not go on from what it remembers."""
    ledger.begin(cut_of(1), moved(held, 1))
    ledger.finish(cut_of(1), moved(held, 1))
    other, epoch = Ledger(meta, CLUSTER), raise_epoch(meta)
    theirs = replace(moved(held, 2), ranges=positions(4, 20))
    other.begin(cut_of(2, epoch), theirs)
    other.finish(cut_of(2, epoch), theirs)
    epoch = raise_epoch(meta)
    ledger.begin(cut_of(3, epoch), moved(theirs, 3, 4))
    ledger.finish(cut_of(3, epoch), moved(theirs, 3, 4))
    assert Ledger(meta, CLUSTER).load(NAME) == moved(theirs, 3, 4)


def test_only_ranges_that_change_are_written(ledger: Ledger) -> None:
    progress = Progress(NAME, ranges=positions(1000))
    ledger.hold(NAME, 1, progress)
    touched: list[int] = []

    def count(connection: object, cursor: object, statement: str, values: object, context: object, many: bool) -> None:
        if "progress SET" in statement or "INTO progress" in statement or "FROM progress" in statement:
            touched.append(len(values) if many and isinstance(values, (list, tuple)) else 1)

    event.listen(Engine, "before_cursor_execute", count)
    try:
        ledger.begin(cut_of(1), moved(progress, 1, 17, 400))
        ledger.finish(cut_of(1), moved(progress, 1, 17, 400))
    finally:
        event.remove(Engine, "before_cursor_execute", count)
    assert touched == [2]


def test_a_thousand_ranges_move_in_a_tenth_of_a_second(ledger: Ledger) -> None:
    progress = Progress(NAME, ranges=positions(1000))
    ledger.hold(NAME, 1, progress)
    best = 1e9
    for number in range(1, 6):
        after = moved(progress, number)
        ledger.begin(cut_of(number), after)
        began = time.process_time()
        ledger.finish(cut_of(number), after)
        best, progress = min(best, time.process_time() - began), after
    assert best < 0.1
    assert ledger.load(NAME) == progress


def later(progress: Progress, to_ts: int) -> Progress:
    return replace(progress, to_ts=to_ts)


def test_time_without_changes_passes_for_many_at_once_and_moves_nothing_else(
    ledger: Ledger, meta: MetaDatabase, held: Progress
) -> None:
    add_subscription(meta, "users")
    users = Progress("users", ranges=positions(2))
    ledger.hold("users", 1, users)
    assert ledger.pass_time([(1, later(held, 500)), (1, later(users, 600))]) == {NAME: 500, "users": 600}
    assert ledger.load(NAME) == later(held, 500)
    assert ledger.load("users") == later(users, 600)
    after = later(moved(held, 1), 700)
    ledger.begin(cut_of(1), after)
    ledger.finish(cut_of(1), after)
    assert ledger.load(NAME) == after


def test_time_passes_for_nobody_whose_epoch_is_over_and_for_the_others_all_the_same(
    ledger: Ledger, meta: MetaDatabase, held: Progress
) -> None:
    add_subscription(meta, "users")
    users = Progress("users", ranges=positions(2))
    ledger.hold("users", 1, users)
    raise_epoch(meta)
    assert ledger.pass_time([(1, later(held, 500)), (1, later(users, 600))]) == {NAME: held.to_ts, "users": 600}
    assert Ledger(meta, CLUSTER).load(NAME) == held


def test_time_passes_neither_during_a_cut_nor_from_before_one_and_never_back(ledger: Ledger, held: Progress) -> None:
    after = moved(held, 1)
    ledger.begin(cut_of(1), after)
    assert ledger.pass_time([(1, later(held, 500))]) == {NAME: held.to_ts}
    ledger.finish(cut_of(1), after)
    assert ledger.pass_time([(1, later(held, 500))]) == {NAME: after.to_ts}
    assert ledger.pass_time([(1, later(after, 500))]) == {NAME: 500}
    assert ledger.pass_time([(1, later(after, 400))]) == {NAME: 500}
    assert ledger.load(NAME) == later(after, 500)


def test_a_plan_made_before_time_passed_is_finished_after_it(
    ledger: Ledger, meta: MetaDatabase, held: Progress
) -> None:
    """Two threads of one server: what the ledger remembers of a subscription is read anew."""
    other = Ledger(meta, CLUSTER)
    other.pass_time([(1, later(held, 500))])
    after = later(moved(held, 1), 700)
    ledger.begin(cut_of(1), after)
    other.pass_time([(1, later(held, 600))])
    ledger.finish(cut_of(1), after)
    assert ledger.load(NAME) == after


def test_a_thousand_idle_subscriptions_are_saved_in_a_tenth_of_a_second(ledger: Ledger, meta: MetaDatabase) -> None:
    idle = [Progress(f"idle-{number:04}", ranges=positions(1)) for number in range(1000)]
    for progress in idle:
        add_subscription(meta, progress.subscription)
        ledger.hold(progress.subscription, 1, progress)
    best = 1e9
    for to_ts in range(1, 5):
        began = time.process_time()
        saved = ledger.pass_time([(1, later(progress, to_ts)) for progress in idle])
        best = min(best, time.process_time() - began)
        assert set(saved.values()) == {to_ts}
    assert best < 0.1
