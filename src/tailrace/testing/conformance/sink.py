"""What every sink guarantees (`sink.base`), as tests that its author inherits.

    class TestMine(SinkConformance):
        @pytest.fixture
        def target(self) -> Target: ...

The suite is for sinks that somebody can read from afterwards. It writes cuts of one small table, kills the driver at
each of its steps, and looks at the target as a reader does. A sink that delivers at least once is held to everything
but the number of rows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import TableSchema
from tailrace.errors import Fenced
from tailrace.testing.conformance.driver import Book, Crash, Driver, Target
from tailrace.testing.conformance.items import SCHEMA, Notes, batch_of, items_table, state_after

_T = f"{SCHEMA}.t"
_U = f"{SCHEMA}.u"

RANDOM_CUTS = 12
RANDOM_KEYS = 8


class SinkConformance:
    @pytest.fixture
    def target(self) -> Target:
        raise NotImplementedError("a sink's test gives its own target")

    @pytest.fixture
    def book(self) -> Book:
        return Book()

    # --- a cut that goes well

    def test_a_good_target_has_no_problems(self, target: Target) -> None:
        assert target.sink().verify() == []

    def test_a_commit_makes_a_cut_visible(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        cut = driver.cut(book.ts + 10)
        receipt = driver.write(cut, 0, self.changes(table, book, {1: "a", 2: "b", 3: None}))
        assert receipt.rows == 3
        assert target.visible().get(_T, {}) == {}
        driver.sink.commit(cut, [receipt])
        driver.conclude(cut)
        assert target.visible().get(_T) == {1: "a", 2: "b"}
        self.seen(target, 3)

    def test_cuts_follow_each_other(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        for notes in ({1: "a", 2: "b"}, {1: "A"}, {2: None, 3: "c"}, {2: "again"}):
            driver.deliver({0: self.changes(table, book, notes)})
        assert target.visible().get(_T) == {1: "A", 2: "again", 3: "c"}
        self.seen(target, 6)

    def test_within_a_cut_the_last_change_of_a_key_stays(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        first, second = ({1: "a", 2: "a", 3: "a"}, {1: "b", 2: None})
        driver.deliver({0: [*self.changes(table, book, first, 1), *self.changes(table, book, second, 2, first)]})
        assert target.visible().get(_T) == {1: "b", 3: "a"}

    def test_a_cut_has_pieces_of_several_tables(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        tables = [driver.table("t", 7), driver.table("u", 8)]
        driver.deliver({n: self.changes(table, book, {n: table.name}) for n, table in enumerate(tables)})
        assert target.visible() == {_T: {0: "t"}, _U: {1: "u"}}

    def test_a_cut_of_nothing_is_a_cut(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        driver.deliver({})
        driver.deliver({0: self.changes(table, book, {1: "a"})})
        driver.deliver({})
        assert target.visible().get(_T) == {1: "a"}

    def test_awkward_texts_come_through(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        notes = dict(enumerate(["", "NULL", "\\N", 'a "quoted", one', "line\r\nend", "tab\t\\", "ünïcödé 🌊", "'"]))
        driver.deliver({0: self.changes(table, book, notes)})
        assert target.visible().get(_T) == notes

    # --- pieces that fail or run twice

    def test_a_piece_that_ran_twice_counts_once(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        cut = driver.cut(book.ts + 10)
        batches = self.changes(table, book, {1: "a"})
        driver.write(cut, 0, batches)
        receipt = driver.write(cut, 0, batches)
        driver.sink.commit(cut, [receipt])
        driver.conclude(cut)
        assert target.visible().get(_T) == {1: "a"}
        self.seen(target, 1)

    def test_a_discarded_attempt_leaves_nothing(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        cut = driver.cut(book.ts + 10)
        writer = driver.sink.writer(driver.piece(cut, 0, table))
        writer.write(self.changes(table, book, {1: "never"})[0])
        writer.discard()
        receipt = driver.write(cut, 0, self.changes(table, book, {1: "a"}))
        driver.sink.commit(cut, [receipt])
        driver.conclude(cut)
        assert target.visible().get(_T) == {1: "a"}
        self.seen(target, 1)

    def test_an_aborted_cut_leaves_nothing(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        cut = driver.cut(book.ts + 10)
        driver.write(cut, 0, self.changes(table, book, {1: "never", 2: "never"}))
        driver.sink.abort(cut)
        assert target.visible().get(_T, {}) == {}
        driver.deliver({0: self.changes(table, book, {1: "a"})})
        assert target.visible().get(_T) == {1: "a"}
        self.seen(target, 1)

    # --- drivers that die

    def test_after_a_crash_before_the_commit_the_cut_is_done_anew(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        driver.write(driver.cut(book.ts + 10), 0, self.changes(table, book, {1: "never", 2: "never"}))
        successor = Driver(target, book)
        assert target.visible().get(_T, {}) == {}
        successor.deliver({0: self.changes(table, book, {1: "a"})})
        assert target.visible().get(_T) == {1: "a"}
        self.seen(target, 1)

    def test_after_a_crash_at_the_naming_the_cut_is_finished(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        book.crash_at_naming = True
        batches = self.changes(table, book, {1: "a", 2: "b"})
        try:
            driver.deliver({0: batches})
        except Crash:
            Driver(target, book)
        assert target.visible().get(_T) == {1: "a", 2: "b"}
        self.seen(target, 2)

    @pytest.mark.parametrize("last_call", ["commit", "advance"])
    def test_after_a_crash_before_progress_nothing_counts_twice(
        self, target: Target, book: Book, last_call: str
    ) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        cut = driver.cut(book.ts + 10)
        batches = self.changes(table, book, {1: "a", 2: "b"})
        driver.sink.commit(cut, [driver.write(cut, 0, batches)])
        if last_call == "advance":
            driver.sink.advance(cut.to_ts)
        before = book.cut
        successor = Driver(target, book)
        if book.cut == before:
            # Nothing was saved on the way, so the cut is planned and carried anew.
            successor.deliver({0: batches})
        assert target.visible().get(_T) == {1: "a", 2: "b"}
        self.seen(target, 2)
        successor.deliver({0: self.changes(table, book, {2: None})})
        assert target.visible().get(_T) == {1: "a"}

    def test_a_recovery_can_be_repeated(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        cut = driver.cut(book.ts + 10)
        driver.sink.commit(cut, [driver.write(cut, 0, self.changes(table, book, {1: "a", 2: "b"}))])
        if book.naming is not None:
            for _ in range(2):
                driver.sink.recover(*book.naming)
        driver.conclude(cut)
        assert target.visible().get(_T) == {1: "a", 2: "b"}
        self.seen(target, 2)

    def test_a_successor_goes_on_where_the_last_one_ended(self, target: Target, book: Book) -> None:
        table = Driver(target, book).table("t")
        for number in range(4):
            Driver(target, book).deliver({0: self.changes(table, book, {number: f"by {number}"})})
        assert target.visible().get(_T) == {number: f"by {number}" for number in range(4)}
        self.seen(target, 4)

    @pytest.mark.parametrize("seed", range(3))
    def test_a_random_history_with_crashes_anywhere_adds_up(self, target: Target, book: Book, seed: int) -> None:
        """Cuts of random changes; before each call of the sink the driver may die, and a successor goes on."""
        dice = random.Random(seed)
        table = Driver(target, book).table("t")
        held: dict[int, str | None] = {}
        rows = 0
        for number in range(RANDOM_CUTS):
            keys = dice.sample(range(RANDOM_KEYS), dice.randint(1, RANDOM_KEYS))
            wanted = {key: None if key in held and dice.random() < 0.4 else f"{number}/{key}" for key in keys}
            changes = [(book.ts + 5, key, note) for key, note in sorted(wanted.items())]
            self.deliver_with_crashes(target, book, {0: [batch_of(table, changes, held)]}, dice)
            held = state_after(changes, held)
            rows += len(changes)
            assert target.visible().get(_T, {}) == held
            self.seen(target, rows)

    # --- the fence

    def test_a_driver_that_was_replaced_commits_nothing(self, target: Target, book: Book) -> None:
        old = Driver(target, book)
        table = old.table("t")
        cut = old.cut(book.ts + 10)
        receipt = old.write(cut, 0, self.changes(table, book, {1: "old"}))
        new = Driver(target, book)
        with pytest.raises(Fenced):
            old.sink.commit(cut, [receipt])
        assert target.visible().get(_T, {}) == {}
        new.deliver({0: self.changes(table, book, {1: "new"})})
        assert target.visible().get(_T) == {1: "new"}
        self.seen(target, 1)

    def test_a_worker_of_a_replaced_driver_harms_nothing(self, target: Target, book: Book) -> None:
        old = Driver(target, book)
        table = old.table("t")
        cut = old.cut(book.ts + 10)
        late = old.sink.writer(old.piece(cut, 0, table))
        late.write(self.changes(table, book, {1: "late", 2: "late"})[0])
        new = Driver(target, book)
        new.deliver({0: self.changes(table, book, {1: "new"})})
        late.close()
        new.deliver({0: self.changes(table, book, {3: "new"})})
        assert target.visible().get(_T) == {1: "new", 3: "new"}
        self.seen(target, 2)

    # --- DDL and time

    def test_rows_of_a_new_version_come_after_its_ddl(self, target: Target, book: Book) -> None:
        driver = self.driver_with_ddl(target, book)
        old = driver.table("t")
        driver.deliver({0: self.changes(old, book, {1: "a"})})
        query = f"ALTER TABLE `{SCHEMA}`.`t` ADD COLUMN `size` BIGINT"
        new = driver.alter(items_table("t", old.table_id, extra=["size"]), DdlType.ADD_COLUMN, query, old)
        driver.deliver({0: self.changes(new, book, {1: "A", 2: "b"})})
        assert target.visible().get(_T) == {1: "A", 2: "b"}

    def test_a_dropped_table_is_gone(self, target: Target, book: Book) -> None:
        driver = self.driver_with_ddl(target, book)
        table = driver.table("t")
        driver.deliver({0: self.changes(table, book, {1: "a"})})
        driver.alter(table, DdlType.DROP_TABLE, f"DROP TABLE `{SCHEMA}`.`t`", table)
        assert _T not in target.visible()

    def test_a_ddl_that_was_done_can_be_repeated(self, target: Target, book: Book) -> None:
        driver = self.driver_with_ddl(target, book)
        table = driver.table("t")
        driver.deliver({0: self.changes(table, book, {1: "a"})})
        wide = items_table("t", table.table_id, book.ts + 10, ["size"])
        book.schemas[wide.table_id, wide.version] = wide
        query = f"ALTER TABLE `{SCHEMA}`.`t` ADD COLUMN `size` BIGINT"
        event = DdlEvent(wide.version, wide.version - 1, 0, DdlType.ADD_COLUMN, query, SCHEMA, "t", wide, table)
        cut = driver.cut(wide.version)
        driver.sink.commit(cut, [])
        driver.sink.ddl([event])
        successor = Driver(target, book)
        if book.cut < cut.number:
            again = successor.cut(wide.version)
            successor.sink.commit(again, [])
            successor.conclude(again, [event])
        successor.deliver({0: self.changes(wide, book, {2: "b"})})
        assert target.visible().get(_T) == {1: "a", 2: "b"}

    def test_time_never_goes_back(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        driver.deliver({0: self.changes(table, book, {1: "a"})})
        driver.sink.advance(book.ts - 5)
        assert target.visible().get(_T) == {1: "a"}

    def test_closing_a_sink_loses_nothing(self, target: Target, book: Book) -> None:
        driver = Driver(target, book)
        table = driver.table("t")
        driver.deliver({0: self.changes(table, book, {1: "a"})})
        driver.sink.close()
        Driver(target, book).deliver({0: self.changes(table, book, {2: "b"})})
        assert target.visible().get(_T) == {1: "a", 2: "b"}

    # --- what the tests are made of

    def changes(
        self, table: TableSchema, book: Book, notes: Notes, later: int = 5, before: Notes | None = None
    ) -> Sequence[ChangeBatch]:
        """Changes of one transaction of the next cut; a key that goes was there before."""
        held = dict(before or {}) | {key: "was here" for key, note in notes.items() if note is None}
        return [batch_of(table, [(book.ts + later, key, note) for key, note in notes.items()], held)]

    def deliver_with_crashes(
        self, target: Target, book: Book, batches: Mapping[int, Sequence[ChangeBatch]], dice: random.Random
    ) -> None:
        """One cut, by as many drivers as it takes."""
        goal = book.cut + 1
        while True:
            book.crash_at_naming = dice.random() < 0.2
            try:
                driver = Driver(target, book)
                if book.cut == goal:
                    return
                cut = driver.cut(book.ts + 10)
                receipts = [driver.write(cut, number, each) for number, each in batches.items()]
                self.perhaps(dice)
                driver.sink.commit(cut, receipts)
                self.perhaps(dice)
                driver.sink.advance(cut.to_ts)
                self.perhaps(dice)
                driver.conclude(cut)
            except Crash:
                continue
            return

    def perhaps(self, dice: random.Random) -> None:
        if dice.random() < 0.2:
            raise Crash

    def driver_with_ddl(self, target: Target, book: Book) -> Driver:
        driver = Driver(target, book)
        if not driver.sink.capabilities.ddl:
            pytest.skip("this sink carries no DDL")
        return driver

    def seen(self, target: Target, rows: int) -> None:
        """Exactly once: a reader counts as many changes as were delivered."""
        counted = target.rows_seen()
        if counted is not None and target.sink().capabilities.delivery == "exactly_once":
            assert counted == rows
