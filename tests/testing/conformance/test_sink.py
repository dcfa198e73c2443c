"""The suite for sinks passes a sink that is right, and each broken one fails the test of what it breaks."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Seat, Written
from tailrace.testing.conformance.driver import Book, Target
from tailrace.testing.conformance.sink import SinkConformance
from tests.testing.conformance.shelf import ShelfSink, ShelfTarget, ShelfWriter


class TestShelf(SinkConformance):
    @pytest.fixture
    def target(self) -> Target:
        return ShelfTarget()


class EagerWriter(ShelfWriter):
    def close(self) -> Written:
        self.shelf.cuts.setdefault(0, {})[self.name] = (self.table, self.changes)
        return super().close()


class ShowsRowsBeforeTheCommit(ShelfSink):
    def writer(self, piece: Piece) -> ShelfWriter:
        self.shelf.attempts += 1
        return EagerWriter(self.shelf, f"{piece.name}/{self.shelf.attempts}")


class TakesAllAttempts(ShelfSink):
    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        super().commit(cut, receipts)
        prefix = f"{cut.subscription}/{cut.epoch}/{cut.number}/"
        for name, staged in self.shelf.staged.items():
            if name.startswith(prefix):
                self.shelf.cuts[cut.number][name] = staged


class DoesNotAskTheFence(ShelfSink):
    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        self.recover(cut, json.dumps([receipt.payload for receipt in receipts]))


class NamesAfterTheFact(ShelfSink):
    """Moves first and saves the naming later: a crash between the two is seen."""

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        assert self.seat is not None
        naming = json.dumps([receipt.payload for receipt in receipts])
        self.shelf.attempts += 1
        self.shelf.cuts[self.shelf.attempts * 100] = {name: self.shelf.staged[name] for name in json.loads(naming)}


class RecoversBesideTheFirst(ShelfSink):
    def recover(self, cut: Cut, naming: str) -> None:
        self.shelf.attempts += 1
        self.shelf.cuts[self.shelf.attempts * 100] = {name: self.shelf.staged[name] for name in json.loads(naming)}


class NeverRecovers(ShelfSink):
    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        assert self.seat is not None
        naming = json.dumps([receipt.payload for receipt in receipts])
        self.seat.save_naming(cut, naming)
        super().recover(cut, naming)

    def recover(self, cut: Cut, naming: str) -> None:
        pass


class LosesDdl(ShelfSink):
    def ddl(self, events: Sequence[DdlEvent]) -> None:
        pass


class BackwardWriter(ShelfWriter):
    def write(self, batch: ChangeBatch) -> None:
        super().write(batch)
        self.changes = self.changes[-batch.num_rows :] + self.changes[: -batch.num_rows]


class TurnsRowsAround(ShelfSink):
    def writer(self, piece: Piece) -> ShelfWriter:
        self.shelf.attempts += 1
        return BackwardWriter(self.shelf, f"{piece.name}/{self.shelf.attempts}")


class SweepsWhatOthersNamed(ShelfSink):
    def open(self, seat: Seat) -> None:
        super().open(seat)
        self.shelf.cuts.clear()


BROKEN = [
    (ShowsRowsBeforeTheCommit, "test_a_commit_makes_a_cut_visible"),
    (TakesAllAttempts, "test_a_piece_that_ran_twice_counts_once"),
    (DoesNotAskTheFence, "test_a_driver_that_was_replaced_commits_nothing"),
    (NamesAfterTheFact, "test_after_a_crash_before_progress_nothing_counts_twice"),
    (RecoversBesideTheFirst, "test_a_recovery_can_be_repeated"),
    (NeverRecovers, "test_after_a_crash_at_the_naming_the_cut_is_finished"),
    (LosesDdl, "test_a_dropped_table_is_gone"),
    (TurnsRowsAround, "test_within_a_cut_the_last_change_of_a_key_stays"),
    (SweepsWhatOthersNamed, "test_a_successor_goes_on_where_the_last_one_ended"),
    (NeverRecovers, "test_a_random_history_with_crashes_anywhere_adds_up"),
    (RecoversBesideTheFirst, "test_a_random_history_with_crashes_anywhere_adds_up"),
]


@pytest.mark.parametrize(("kind", "test"), BROKEN)
def test_a_broken_sink_fails(kind: type[ShelfSink], test: str) -> None:
    more: dict[str, object] = {"last_call": "commit"} if "before_progress" in test else {}
    more |= {"seed": 1} if "random" in test else {}
    run = getattr(SinkConformance(), test)
    run(ShelfTarget(), Book(), **more)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        run(ShelfTarget(kind=kind), Book(), **more)
