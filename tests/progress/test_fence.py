"""The fence, attacked: two owners in every order, crashes between any two calls, and real threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.errors import Fenced, OutOfStep
from tailrace.progress.cut import Cut
from tailrace.progress.database import MetaDatabase
from tailrace.progress.ledger import Ledger
from tailrace.progress.position import Progress
from tests.progress.ledgers import (
    CLUSTER,
    add_subscription,
    cut_of,
    file_database,
    memory_database,
    moved,
    positions,
    raise_epoch,
)

CALLS = ("begin", "save", "finish")

_numbers = count()


@pytest.fixture(scope="module")
def shared() -> Iterator[MetaDatabase]:
    with memory_database() as meta:
        yield meta


def new_subscription(meta: MetaDatabase) -> tuple[str, Progress]:
    """A subscription with three held ranges, of a name that was not there before."""
    name = f"s{next(_numbers)}"
    add_subscription(meta, name)
    progress = Progress(name, ranges=positions(3))
    Ledger(meta, CLUSTER).hold(name, 1, progress)
    return name, progress


@dataclass
class Owner:
    """An owner as a delivery is one: it takes over, and goes through its calls one by one until it is fenced."""

    meta: MetaDatabase
    name: str
    label: str
    delivered: list[str] = field(default_factory=list)
    epoch: int = 0
    at: int = 0
    fenced: bool = False
    cut: Cut | None = None
    after: Progress | None = None
    naming: str = ""

    def take_over(self) -> None:
        """A claim, then what `Delivery.open` does: replay what is named, abandon what is not."""
        self.epoch, self.at, self.fenced = raise_epoch(self.meta, self.name), 0, False
        self.ledger = Ledger(self.meta, CLUSTER)
        seat = self.ledger.seat(self.name, self.epoch)
        pending = self.ledger.pending(self.name)
        if pending is None:
            return
        cut = replace(pending[0], epoch=self.epoch)
        named = seat.load_naming()
        if named is None:
            self.ledger.abandon(cut)
        else:
            self.ledger.finish(cut, pending[1])
            self.delivered.append(named[1])

    def step(self) -> None:
        """The next of its calls; from the first one that is fenced on, nothing."""
        if self.fenced or not self.epoch:
            return
        try:
            getattr(self, CALLS[self.at % 3])()
            self.at += 1
        except Fenced:
            self.fenced = True

    def begin(self) -> None:
        before = self.ledger.load(self.name)
        assert before is not None
        self.cut = Cut(self.name, self.epoch, before.cut + 1, "log", before.to_ts, before.to_ts + 10)
        self.after = moved(before, before.cut + 1, 1 + before.cut % 3)
        self.ledger.begin(self.cut, self.after)

    def save(self) -> None:
        assert self.cut is not None
        self.naming = f"{self.label} epoch {self.epoch} cut {self.cut.number}"
        self.ledger.seat(self.name, self.epoch).save_naming(self.cut, self.naming)

    def finish(self) -> None:
        assert self.cut is not None and self.after is not None
        self.ledger.finish(self.cut, self.after)
        self.delivered.append(self.naming)


def run(meta: MetaDatabase, turns: Iterable[str]) -> None:
    """Play turns: a capital letter is a take-over, a small one the next call of that owner. Then check the whole."""
    name, progress = new_subscription(meta)
    delivered: list[str] = []
    owners = {label: Owner(meta, name, label, delivered) for label in "abc"}
    reader, newest = Ledger(meta, CLUSTER), ""
    for turn in turns:
        if turn.isupper():
            newest = turn.lower()
            owners[newest].take_over()
        elif turn == newest:
            owners[turn].step()
        else:
            before = (reader.load(name), reader.pending(name), len(delivered))
            owners[turn].step()
            now = (reader.load(name), reader.pending(name), len(delivered))
            assert now == before, f"{turn} wrote after {newest} had taken over"
    Owner(meta, name, "d", delivered).take_over()
    progress = reader.load(name) or progress
    cuts = [int(naming.rpartition(" ")[2]) for naming in delivered]
    assert cuts == list(range(1, progress.cut + 1)), "each cut is delivered once, under one naming, in order"


@pytest.mark.parametrize("done", range(4))
def test_two_owners_in_every_order(shared: MetaDatabase, done: int) -> None:
    """The second takes over after each call of the first, which goes on at each moment of the second's own cut."""
    for late in range(4):
        run(shared, ["A", *"a" * done, "B", *"b" * late, "a", *"b" * (3 - late), "a"])


@pytest.mark.parametrize("crash", range(4))
def test_a_crash_between_any_two_calls(shared: MetaDatabase, crash: int) -> None:
    """The owner never comes back; the next one finishes what was named and does anew what was not."""
    for second in range(4):
        run(shared, ["A", *"a" * crash, "B", *"b" * second, "C", *"ccc"])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from("aabbccABC"), max_size=40))
def test_any_owners_in_any_order(shared: MetaDatabase, turns: list[str]) -> None:
    run(shared, turns)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["begin", "name", "finish", "abandon", "again"]), st.integers(0, 3)), max_size=25
    )
)
def test_calls_in_any_order_keep_the_ledger_in_step(shared: MetaDatabase, calls: list[tuple[str, int]]) -> None:
    """One owner that does everything wrong: each call is refused or follows from what is saved."""
    ledger, found = Ledger(shared, CLUSTER), Ledger(shared, CLUSTER)
    name, progress = new_subscription(shared)
    planned: Progress | None = None
    naming: str | None = None
    for call, number in calls:
        cut, after = cut_of(number, name=name), moved(progress, number)
        ours = planned is not None and planned.cut == number
        try:
            if call == "begin":
                ledger.begin(cut, after)
                assert number > progress.cut and naming is None
                planned = after
            elif call == "name":
                ledger.seat(name, 1).save_naming(cut, f"naming {number}")
                assert ours
                naming = f"naming {number}"
            elif call == "abandon":
                ledger.abandon(cut)
                assert naming is None
                planned = None
            else:
                again = planned if call == "again" and planned else after
                ledger.finish(cut, again)
                assert again == progress or (ours and again == planned)
                progress, planned, naming = again, None, None
        except OutOfStep:
            pass
        pending = found.pending(name)
        assert found.load(name) == progress
        assert (pending[1] if pending else None) == planned
        named = found.seat(name, 1).load_naming()
        assert (named[1] if named else None) == naming


def test_two_threads_on_one_file_never_both_write(tmp_path: Path) -> None:
    """Real transactions at the same time: whoever claimed last is the only one whose cuts follow."""
    with file_database(tmp_path) as meta:
        name, _ = new_subscription(meta)
        delivered: list[str] = []
        errors: list[BaseException] = []

        def own(label: str) -> None:
            try:
                for _ in range(3):
                    owner = Owner(meta, name, label, delivered)
                    try:
                        owner.take_over()
                    except Fenced:
                        continue
                    for _ in range(7):
                        owner.step()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=own, args=(label,)) for label in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        Owner(meta, name, "d", delivered).take_over()
        progress = Ledger(meta, CLUSTER).load(name)
        assert errors == []
        assert progress is not None and progress.cut > 0
        cuts = sorted(int(naming.rpartition(" ")[2]) for naming in delivered)
        assert cuts == list(range(1, progress.cut + 1))
