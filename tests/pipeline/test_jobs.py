"""What is ready goes into one job of its company; each caller gets its own receipts, or the error of its own job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

import pytest

from tailrace.errors import WorkerLost
from tailrace.observe import names
from tailrace.observe.metrics import METER
from tailrace.pipeline import jobs as room
from tailrace.pipeline.carry import Order
from tailrace.pipeline.job import Terms
from tailrace.pipeline.jobs import Jobs
from tailrace.pipeline.standing import Standing
from tailrace.progress.cut import Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec
from tests.observe.shown import samples


def orders(subscription: str, count: int, size: int = 0) -> list[Order]:
    spec = UpstreamSpec("memory://jobs"), SinkSpec(subscription, "blackhole://")
    return [Order(Piece(subscription, 1, 1, at, "log", 7, 0, (), 1, 2, bytes=size), *spec) for at in range(count)]


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


class Gate:
    """A runner whose jobs wait to be let through, one by one or all, and that remembers them."""

    def __init__(self, slots: int = 4) -> None:
        self.slots = slots
        self.all_may = threading.Event()
        self.passes = threading.Semaphore(0)
        self.jobs: list[tuple[list[str], Terms]] = []
        self.running: list[list[str]] = []
        self.poison: set[str] = set()

    def open(self) -> None:
        pass

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        names = [order.piece.subscription for order in orders]
        self.jobs.append((names, terms))
        self.running.append(names)
        while not self.all_may.is_set() and not self.passes.acquire(timeout=0.005):
            pass
        self.running.remove(names)
        if self.poison & set(names):
            raise WorkerLost("a worker died")
        return [Receipt(order.piece.number, rows=len(order.piece.subscription)) for order in orders]

    def close(self) -> None:
        pass


class Rig:
    def __init__(self, slots: int = 4) -> None:
        self.gate = Gate(slots)
        self.jobs = Jobs(self.gate)

    def submit(self, name: str, company: str = "proven", count: int = 1, size: int = 0) -> Future[list[Receipt]]:
        standing = Standing(company)  # type: ignore[arg-type]
        return self.jobs.submit(orders(name, count, size), standing)

    def running(self) -> list[list[str]]:
        return sorted(self.gate.running)


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    made.gate.all_may.set()
    made.jobs.close(5)


def test_what_waits_while_jobs_run_goes_into_one_job(rig: Rig) -> None:
    first = [rig.submit("a"), rig.submit("a")]
    until(lambda: len(rig.gate.running) == 2)
    others = [rig.submit("bb", count=2), rig.submit("ccc", count=3)]
    assert len(rig.jobs.waiting["quick"]) == 2
    rig.gate.all_may.set()
    assert [[receipt.rows for receipt in each.result(5)] for each in first] == [[1], [1]]
    assert [[receipt.rows for receipt in each.result(5)] for each in others] == [[2, 2], [3, 3, 3]]
    assert sorted(rig.gate.jobs[-1][0]) == ["bb", "bb", "ccc", "ccc", "ccc"]


def test_who_is_not_proven_travels_apart_and_on_half_of_the_slots(rig: Rig) -> None:
    for company in ("suspect", "new", "proven", "suspect", "new", "suspect"):
        rig.submit(company, company)
    until(lambda: len(rig.gate.running) == 3)
    time.sleep(0.05)
    assert rig.running() == [["new"], ["proven"], ["suspect"]]
    of_others = [terms.slots for names, terms in rig.gate.jobs if names != ["proven"]]
    assert sum(of_others) <= 2
    rig.gate.all_may.set()
    until(lambda: len(rig.gate.jobs) == 6)
    assert all(len(names) == 1 for names, _ in rig.gate.jobs), "each suspect is alone"


def test_suspects_that_hang_keep_nobody_new_out(rig: Rig) -> None:
    for number in range(5):
        rig.submit(f"hangs {number}", "suspect")
    until(lambda: len(rig.gate.running) == 1)
    rig.submit("newcomer", "new")
    rig.submit("healthy")
    until(lambda: ["newcomer"] in rig.gate.running and ["healthy"] in rig.gate.running)


def test_the_suspect_that_failed_least_goes_first(rig: Rig) -> None:
    rig.submit("first", "suspect")
    until(lambda: len(rig.gate.running) == 1)
    rig.jobs.submit(orders("often", 1), Standing("suspect", failures=7))
    rig.jobs.submit(orders("once", 1), Standing("suspect", failures=1))
    rig.gate.passes.release()
    until(lambda: ["once"] in rig.gate.running)
    assert ["often"] not in rig.gate.running


def test_large_cuts_leave_a_slot_to_small_ones(rig: Rig) -> None:
    rig.submit("small")
    large = room.LARGE_BYTES
    rig.submit("large", size=large)
    rig.submit("larger", size=2 * large)
    until(lambda: len(rig.gate.running) == 2)
    assert {names[0]: terms.slots for names, terms in rig.gate.jobs} == {"small": 4, "large": 3}
    rig.submit("small too")
    until(lambda: ["small too"] in rig.gate.running)


def test_on_a_single_slot_everybody_has_a_turn() -> None:
    rig = Rig(slots=1)
    rig.gate.all_may.set()
    answers = [rig.submit(name, name) for name in ("proven", "new", "suspect", "new", "suspect")]
    assert all(len(answer.result(5)) == 1 for answer in answers)
    rig.jobs.close(5)


def test_a_job_that_fails_whole_runs_in_halves_until_the_poison_stands_alone(rig: Rig) -> None:
    rig.submit("first")
    rig.submit("second")
    until(lambda: len(rig.gate.running) == 2)
    rig.gate.poison = {"s3", "s11"}
    answers = {f"s{number}": rig.submit(f"s{number}") for number in range(16)}
    rig.gate.all_may.set()
    for name, answer in answers.items():
        if name in rig.gate.poison:
            with pytest.raises(WorkerLost, match="a worker died"):
                answer.result(5)
        else:
            assert len(answer.result(5)) == 1
    alone = [names for names, _ in rig.gate.jobs if rig.gate.poison & set(names)]
    assert ["s3"] in alone and ["s11"] in alone


def test_while_the_poison_is_sought_the_others_go_on(rig: Rig) -> None:
    rig.submit("first")
    rig.submit("second")
    until(lambda: len(rig.gate.running) == 2)
    rig.gate.poison = {"s0"}
    torn = [rig.submit(f"s{number}") for number in range(4)]
    rig.gate.passes.release(3)
    until(lambda: any(len(names) == 2 for names in rig.gate.running))
    rig.submit("healthy")
    until(lambda: ["healthy"] in rig.gate.running)
    assert sum("s0" in names or "s2" in names for names in rig.gate.running) == 1, "one part after the other"
    rig.gate.all_may.set()
    assert [answer.exception(5) is None for answer in torn] == [False, True, True, True]


def test_no_orders_are_no_job(rig: Rig) -> None:
    assert rig.jobs.submit([], Standing()).result(1) == []
    assert rig.gate.jobs == []


def test_nothing_begins_after_the_close_and_what_waits_fails(rig: Rig) -> None:
    for _ in range(2):
        rig.submit("runs")
    until(lambda: len(rig.gate.running) == 2)
    waits = rig.submit("waits")
    threading.Timer(0.05, rig.gate.all_may.set).start()
    rig.jobs.close(5)
    for answer in (waits, rig.submit("late")):
        with pytest.raises(WorkerLost, match="stopping"):
            answer.result(5)


def test_pieces_of_those_who_are_not_proven_are_shown(rig: Rig) -> None:
    def shown() -> float:
        return samples(METER.exposition())[names.PIECES_ON_PROBATION.name, ()]

    bad = [rig.submit("bad", "suspect", count=3) for _ in range(2)]
    rig.submit("good", "proven", count=5)
    rig.submit("young", "new", count=2)
    until(lambda: len(rig.gate.running) == 3)
    assert shown() == 8
    rig.gate.all_may.set()
    assert all(each.result(5) for each in bad)
    until(lambda: shown() == 0)
