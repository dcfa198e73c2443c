"""An engagement: one assignment under way, from the moment that it is added until it has left.

It is one state machine, and takes one step at a time, on the crew:

    resting    nothing to do; the alarm, or news of the lookout, end it
    stepping   a step waits for a hand of the crew, or has one
    carrying   its pieces are in a job

Guarantees: what goes wrong in it stays in it. A Transient error is tried again with backoff, from the ledger on, a
Terminal one ends it as `failed` with the reason and its progress untouched, an owner that was fenced stops without a
word. It has at most one step under way, so at most one thread of the crew hangs in it. No call of it waits for another.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from tailrace import plugins
from tailrace.errors import Fenced, Overdue, SinkAway, TailraceError, Terminal, Transient, WorkerLost
from tailrace.pipeline import worker
from tailrace.pipeline.alarm import Alarm
from tailrace.pipeline.assignment import Assignment, Listener, State
from tailrace.pipeline.crew import Crew
from tailrace.pipeline.delivery import Cargo, Delivery
from tailrace.pipeline.jobs import Jobs
from tailrace.pipeline.lookout import Lookouts
from tailrace.pipeline.pace import Patience
from tailrace.pipeline.standing import Standing, is_held_against
from tailrace.pipeline.tally import Tally
from tailrace.progress.cut import Receipt
from tailrace.progress.ledger import Ledger
from tailrace.sink.base import Sink

Stage = Literal["resting", "stepping", "carrying", "left"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Company:
    """What all engagements of a server share."""

    ledger: Ledger
    listener: Listener
    jobs: Jobs
    crew: Crew
    alarm: Alarm
    lookouts: Lookouts


class Engagement:
    def __init__(self, assignment: Assignment, shared: Company) -> None:
        name = assignment.subscription
        self.assignment = assignment
        self.tally = Tally(lambda report: shared.listener.on_report(name, report))
        self.standing = Standing()
        self.delivery: Delivery | None = None
        self._shared = shared
        self._sink: Sink | None = None
        self._patience = Patience()
        self._state: State | None = None
        self._lock = threading.Lock()
        self._stage: Stage = "resting"
        self._turn = 0
        self._deaf = False
        self._roused = False
        self._leaving = False
        self.left = threading.Event()

    def begin(self) -> None:
        self.rouse()

    def leave(self) -> None:
        """Ask it to end after the step that is under way; `left` says when it has."""
        self._leaving = True
        with self._lock:
            # A job that hangs need not be waited for: what its pieces leave, no receipt will speak of.
            carrying = self._stage == "carrying"
            if carrying:
                self._stage = "stepping"
        if carrying:
            self._hand(self._end)
        else:
            self._rouse(force=True)

    def rouse(self) -> None:
        """There is news; called from any thread."""
        self._rouse(force=False)

    # From here on: the steps, on the crew.

    def _rouse(self, force: bool, turn: int | None = None) -> None:
        with self._lock:
            if turn is not None and turn != self._turn:
                return
            if self._stage != "resting":
                self._roused = self._stage != "left"
                return
            if self._deaf and not force:
                return
            self._stage = "stepping"
        self._hand(self._look)

    def _hand(self, step: Callable[[], None]) -> None:
        self._shared.crew.submit(lambda: self._take(step), self._say_overdue, self.standing.proven)

    def _take(self, step: Callable[[], None]) -> None:
        try:
            if self._leaving:
                self._end()
            else:
                step()
        except BaseException as error:
            self._fail(error)

    def _look(self) -> None:
        if self.delivery is None:
            self._open()
        self._go_on()

    def _open(self) -> None:
        shared = self._shared
        upstream = worker.upstreams.get(self.assignment.upstream)
        self._sink = plugins.open_sink(self.assignment.sink)
        lookout = shared.lookouts.of(upstream)
        delivery = Delivery(self.assignment, shared.ledger, upstream, self._sink, lookout, self.tally, self.rouse)
        delivery.open()
        self.delivery = delivery

    def _go_on(self) -> None:
        """Whatever comes next: a cut to carry, a rest, or the end."""
        delivery = self.delivery
        assert delivery is not None
        if self._leaving:
            self._end()
            return
        found = None if delivery.finished else delivery.begin(self._shared.jobs.slots)
        if found is None or delivery.finished:
            self._tell("finished", None)
            self._end()
        elif isinstance(found, Cargo):
            self._carry(found)
        else:
            self._tell_well()
            self._rest(found.seconds, found.deaf)

    def _carry(self, cargo: Cargo) -> None:
        with self._lock:
            self._stage = "carrying"
        answer = self._shared.jobs.submit(cargo.orders, self.standing)
        answer.add_done_callback(lambda done: self._hand_in(cargo, done))

    def _hand_in(self, cargo: Cargo, done: Future[list[Receipt]]) -> None:
        with self._lock:
            awaited = self._stage == "carrying"
            self._stage = "stepping" if awaited else self._stage
        if awaited:
            self._hand(lambda: self._land(cargo, done))

    def _land(self, cargo: Cargo, done: Future[list[Receipt]]) -> None:
        delivery = self.delivery
        assert delivery is not None
        try:
            receipts = done.result()
        except Exception:
            delivery.abort(cargo)
            raise
        if self.standing.company != "suspect" and any(_is_overdue(receipt) for receipt in receipts):
            # It held the others up, or the machine was busy: it has all the time that it needs when it travels alone.
            self.standing.went_wrong()
            self._carry(cargo)
            return
        delivery.finish(cargo, receipts)
        self.standing.went_well()
        self._tell_well()
        self._go_on()

    def _tell_well(self) -> None:
        self._patience.restored()
        self._tell("snapshot" if self.tally.report.snapshot_ranges_left else "normal", None)

    def _rest(self, seconds: float, deaf: bool) -> None:
        with self._lock:
            self._turn += 1
            turn, roused = self._turn, self._roused and not deaf
            self._stage, self._deaf, self._roused = "resting", deaf, False
        if self._leaving or roused:
            self._rouse(force=True, turn=turn)
        else:
            self._shared.alarm.call(seconds, lambda: self._rouse(force=True, turn=turn))

    def _fail(self, error: BaseException) -> None:
        """Back to the ledger, after a while; or the end."""
        if is_held_against(error):
            self.standing.went_wrong()
        self._close()
        if isinstance(error, Fenced) or self._leaving:
            logger.warning("%s", error)
            self._end()
            return
        failure = self._failure(error)
        if isinstance(failure, Terminal) or self._patience.exhausted:
            self._tell("failed", failure)
            self._end()
            return
        self._tell("warning", failure)
        retry_after = failure.retry_after if isinstance(failure, Transient) else 0.0
        self._rest(self._patience.wait(retry_after), deaf=True)

    def _failure(self, error: BaseException) -> TailraceError:
        name = self.assignment.subscription
        if isinstance(error, (Terminal, Transient)):
            return error.at(subscription=name)
        logger.error("delivery of %s", name, exc_info=error)
        return WorkerLost(f"a delivery failed where no failure was foreseen: {error!r}", subscription=name)

    def _close(self) -> None:
        delivery, self.delivery = self.delivery, None
        sink, self._sink = self._sink, None
        try:
            if delivery is not None:
                delivery.close()
            if sink is not None:
                sink.close()
        except Exception as error:
            logger.warning("the sink of %s was not closed: %s", self.assignment.subscription, error)

    def _end(self) -> None:
        self._close()
        with self._lock:
            self._stage = "left"
        self.left.set()

    def _say_overdue(self, seconds: float) -> None:
        """Called by the crew's watch, while the step still hangs: nobody else waits for it."""
        self.standing.went_wrong()
        said = f"a step has not come back for {seconds:.0f} s: a sink, an upstream or the meta database hangs"
        self._tell("warning", SinkAway(said, subscription=self.assignment.subscription))

    def _tell(self, state: State, error: TailraceError | None) -> None:
        if state != self._state or error is not None:
            self._state = state
            self._shared.listener.on_state(self.assignment.subscription, state, error)


def _is_overdue(receipt: Receipt) -> bool:
    return receipt.error is not None and receipt.error.get("kind") == Overdue.__name__
