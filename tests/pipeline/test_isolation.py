"""One bad apple: whatever one subscription's sink does, on the workers or on the driver, the others go on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tailrace import plugins
from tailrace.change.tso import MAX_TS
from tailrace.errors import SinkAway, TailraceError, WorkerLost
from tailrace.pipeline import crew, engagement, jobs
from tailrace.pipeline.assignment import Assignment, Report, State
from tailrace.pipeline.carry import Order
from tailrace.pipeline.conductor import Conductor
from tailrace.pipeline.job import LocalRunner, Terms
from tailrace.progress.cut import Receipt
from tailrace.progress.database import open_meta
from tailrace.progress.ledger import Ledger
from tailrace.sink.base import SinkSpec
from tailrace.testing.bad_sink import BadSink, bad_uri
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.memory import memory_store
from tests.pipeline.conftest import shop_table
from tests.pipeline.recorder import Recorder, Target
from tests.progress.ledgers import add_subscription

GOOD = ("good one", "good two", "good three")
NAMES = (*GOOD, "bad")
_numbers = itertools.count(1)


class Poisoned(LocalRunner):
    """A job that holds a piece of a subscription of this name loses its worker."""

    def __init__(self) -> None:
        super().__init__(4)
        self.poison = ""
        self.jobs: list[set[str]] = []

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        names = {order.piece.subscription for order in orders}
        self.jobs.append(names)
        if self.poison in names:
            raise WorkerLost("a worker died")
        return super().run(orders, terms)


class Town:
    """Four subscriptions of one table, each into a target of its own; one of them goes bad when it is told to."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name = f"isolation-{next(_numbers)}"
        self.store = memory_store(self.name)
        self.store.create(shop_table(1, "orders"))
        self.order = folder / "order"
        self.targets = {name: Target() for name in NAMES}
        self.states: dict[str, list[tuple[State, TailraceError | None]]] = {name: [] for name in NAMES}
        self.meta = open_meta(f"sqlite:///{folder}/meta.db")
        for name in NAMES:
            add_subscription(self.meta, name)
        self.ledger = Ledger(self.meta)
        self.runner = Poisoned()
        self.conductor = Conductor(self.runner, self.ledger, self)
        self._value = itertools.count(100)

        def opened(spec: SinkSpec) -> Recorder | BadSink:
            if spec.uri.startswith("bad:"):
                return BadSink(spec)
            return Recorder(spec, self.targets[spec.subscription])

        monkeypatch.setattr(plugins, "open_sink", opened)
        self.conductor.start()
        for name in NAMES:
            uri = bad_uri("recorder://", self.order) if name == "bad" else "recorder://"
            sink = SinkSpec(name, uri, f"# {self.name}")
            upstream = UpstreamSpec(f"memory://{self.name}")
            self.conductor.add(Assignment(name, 1, upstream, sink, start="now", end_ts=MAX_TS))
        self.until(lambda: all(target.checkpoint for target in self.targets.values()))
        self.deliver(NAMES)

    def on_state(self, subscription: str, state: State, error: TailraceError | None) -> None:
        self.states[subscription].append((state, error))

    def on_report(self, subscription: str, report: Report) -> None:
        pass

    def until(self, done: Callable[[], bool], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, f"it did not come: {[said[-2:] for said in self.states.values()]}"
            time.sleep(0.005)

    def write(self) -> int:
        value = next(self._value)
        return self.store.write({1: {1: {"id": 1, "v": value}}})

    def deliver(self, names: Sequence[str], seconds: float = 10.0) -> float:
        """Seconds until a change has arrived at all of these."""
        begun, ts = time.monotonic(), self.write()
        self.until(lambda: all(self.targets[name].checkpoint >= ts for name in names), seconds)
        return time.monotonic() - begun

    def engagement(self, name: str) -> engagement.Engagement:
        return next(each for each in self.conductor.engaged if each.assignment.subscription == name)


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    made = Town(tmp_path, monkeypatch)
    yield made
    made.order.unlink(missing_ok=True)
    made.conductor.stop()
    made.meta.close()


@pytest.mark.parametrize("place", ["write", "commit", "advance"])
def test_a_sink_that_hangs_holds_nobody_else_and_goes_on_when_it_is_well(
    town: Town, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setitem(jobs.PATIENCE, "quick", 0.3)
    town.order.write_text(f"{place} hang")
    town.deliver(GOOD, 3.0)
    for _ in range(5):
        assert town.deliver(GOOD) < 1.0
    held, last = town.targets["bad"].checkpoint, town.write()
    assert held < last
    town.order.unlink()
    town.until(lambda: town.targets["bad"].checkpoint >= last)
    rows = [str(row) for row in town.targets["bad"].rows()]
    assert len(rows) == len(set(rows)) == 8


def test_a_sink_that_hangs_while_it_is_opened_holds_nobody_else(town: Town) -> None:
    town.order.write_text("open hang")
    assignment = town.engagement("bad").assignment
    town.conductor.remove("bad", release=False)
    town.conductor.add(assignment)
    for _ in range(5):
        assert town.deliver(GOOD) < 1.0
    town.order.unlink()
    town.deliver(NAMES)


def test_a_hung_step_on_the_driver_is_said_and_counted(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "HUNG_SECONDS", 0.3)
    town.order.write_text("commit hang")
    town.write()
    town.until(lambda: town.states["bad"][-1][0] == "warning")
    error = town.states["bad"][-1][1]
    assert isinstance(error, SinkAway) and "has not come back" in str(error)
    assert town.conductor.shared is not None and town.conductor.shared.crew.hung == 1
    assert town.engagement("bad").standing.company == "suspect"
    town.order.unlink()
    town.until(lambda: town.states["bad"][-1][0] == "normal")
    assert town.conductor.shared.crew.hung == 0


def test_a_sink_that_fails_is_tried_again_apart_and_trusted_again_after_some_cuts(town: Town) -> None:
    town.order.write_text("write away")
    town.deliver(GOOD, 3.0)
    town.until(lambda: town.states["bad"][-1][0] == "warning")
    assert town.engagement("bad").standing.company == "suspect"
    town.runner.jobs.clear()
    for _ in range(3):
        assert town.deliver(GOOD) < 1.0
    assert not [names for names in town.runner.jobs if "bad" in names and len(names) > 1]
    town.order.unlink()
    for _ in range(4):
        town.deliver(NAMES)
    assert town.engagement("bad").standing.company == "proven"


def test_a_sink_that_refuses_is_failed_with_its_reason_and_its_progress_untouched(town: Town) -> None:
    town.order.write_text("commit refuse")
    refused = town.write()
    town.until(lambda: town.states["bad"][-1][0] == "failed")
    assert "says no" in str(town.states["bad"][-1][1])
    saved = town.ledger.load("bad")
    assert saved is not None and saved.to_ts < refused
    town.until(lambda: all(town.targets[name].checkpoint >= refused for name in GOOD))
    town.deliver(GOOD)


def test_a_piece_that_kills_its_worker_is_found_and_fails_alone(town: Town) -> None:
    town.runner.poison = "bad"
    town.deliver(GOOD)
    town.until(lambda: town.states["bad"][-1][0] == "warning")
    assert isinstance(town.states["bad"][-1][1], WorkerLost)
    assert {"bad"} in town.runner.jobs
    assert all(error is None for name in GOOD for _, error in town.states[name])
    town.runner.poison = ""
    town.deliver(NAMES)


def test_failures_that_go_on_end_as_failed_with_the_last_reason(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.pace.GIVE_UP_SECONDS", 0.1)
    town.order.write_text("commit away")
    town.write()
    town.until(lambda: town.states["bad"][-1][0] == "failed")
    assert isinstance(town.states["bad"][-1][1], SinkAway)


def test_one_that_hangs_can_be_removed_and_the_server_stopped(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tailrace.pipeline.conductor.STOP_SECONDS", 0.3)
    town.order.write_text("commit hang")
    town.deliver(GOOD, 3.0)
    begun = time.monotonic()
    town.conductor.remove("bad", release=False)
    town.conductor.stop()
    assert time.monotonic() - begun < 3.0


def test_one_whose_piece_hangs_leaves_at_once(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(jobs.PATIENCE, "quick", 0.1)
    town.order.write_text("write hang")
    town.deliver(GOOD, 3.0)
    town.until(lambda: town.engagement("bad").standing.company == "suspect")
    begun = time.monotonic()
    town.conductor.remove("bad", release=False)
    assert time.monotonic() - begun < 1.0
