"""The conductor: carries the deliveries of all assignments of a server, each on its own thread, over shared jobs.

Guarantees: what goes wrong in one delivery stays with it: a Transient error is tried again with backoff, from the
ledger on, a Terminal one ends it as `failed` with the reason and its progress untouched. An owner that was fenced
stops without a word: the newer one speaks for the subscription.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

from tailrace import plugins
from tailrace.errors import Fenced, TailraceError, Terminal, Transient, WorkerLost
from tailrace.pipeline import worker
from tailrace.pipeline.assignment import Assignment, Listener, State
from tailrace.pipeline.delivery import Delivery
from tailrace.pipeline.job import Runner
from tailrace.pipeline.jobs import Jobs
from tailrace.pipeline.pace import Patience
from tailrace.pipeline.tally import Tally
from tailrace.pipeline.territory import Territory
from tailrace.progress.ledger import Ledger
from tailrace.route.filter import TableFilter

logger = logging.getLogger(__name__)

STOP_SECONDS = 30.0


@dataclass(slots=True)
class _Engagement:
    """One assignment under way: its thread, how to end it, and what it has moved."""

    assignment: Assignment
    tally: Tally
    stop: threading.Event = field(default_factory=threading.Event)
    state: State | None = None
    thread: threading.Thread | None = None


class Conductor:
    def __init__(self, runner: Runner, ledger: Ledger, listener: Listener) -> None:
        self._runner = runner
        self._ledger = ledger
        self._listener = listener
        self._lock = threading.Lock()
        self._engaged: dict[str, _Engagement] = {}
        self._jobs: Jobs | None = None
        self._warm = threading.Event()

    @property
    def ready(self) -> bool:
        """Spark runs; or it cannot, which the first delivery then says."""
        return self._warm.is_set()

    def start(self) -> None:
        self._jobs = Jobs(self._runner)
        threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()

    def add(self, assignment: Assignment) -> None:
        name = assignment.subscription
        engagement = _Engagement(assignment, Tally(lambda report: self._listener.on_report(name, report)))
        with self._lock:
            self._engaged[name] = engagement
        engagement.thread = threading.Thread(target=self._attend, args=(engagement,), name=f"delivery-{name}")
        engagement.thread.daemon = True
        engagement.thread.start()

    def remove(self, subscription: str, *, release: bool) -> None:
        with self._lock:
            engagement = self._engaged.pop(subscription, None)
        if engagement is not None:
            _end(engagement)
            if release:
                self._release(engagement.assignment)

    def stop(self) -> None:
        with self._lock:
            leaving, self._engaged = list(self._engaged.values()), {}
        for engagement in leaving:
            engagement.stop.set()
        for engagement in leaving:
            _end(engagement)
        if self._jobs is not None:
            self._jobs.close()
        self._runner.close()

    def tally(self, subscription: str) -> Tally:
        """What a subscription has moved since it was added here."""
        return self._engaged[subscription].tally

    def _warm_up(self) -> None:
        try:
            self._runner.open()
        except Exception:
            # Whatever it is meets the first delivery too, which says it where it is heard.
            logger.warning("Spark could not be started ahead", exc_info=True)
        finally:
            self._warm.set()

    def _release(self, assignment: Assignment) -> None:
        """Let go of all history of a subscription; one whose upstream is away keeps it until its limit."""
        saved = self._ledger.load(assignment.subscription)
        if saved is None:
            return
        rules = TableFilter(assignment.rules, assignment.case_sensitive)
        try:
            upstream = worker.upstreams.get(assignment.upstream)
            Territory(upstream, assignment.subscription, rules).leave(saved)
        except TailraceError as error:
            logger.warning("history of %s stays pinned: %s", assignment.subscription, error)

    def _attend(self, engagement: _Engagement) -> None:
        patience = Patience()
        while not engagement.stop.is_set():
            try:
                self._stay(engagement, patience)
                return
            except Fenced as error:
                logger.warning("%s", error)
                return
            except Terminal as error:
                self._tell(engagement, "failed", error)
                return
            except Transient as error:
                failure = error
            except Exception as error:
                logger.exception("delivery of %s", engagement.assignment.subscription)
                failure = WorkerLost(f"a delivery failed where no failure was foreseen: {error!r}")
            failure.at(subscription=engagement.assignment.subscription)
            if patience.exhausted:
                self._tell(engagement, "failed", failure)
                return
            self._tell(engagement, "warning", failure)
            engagement.stop.wait(patience.wait(failure.retry_after))

    def _stay(self, engagement: _Engagement, patience: Patience) -> None:
        """One delivery, from the ledger on, until it is told to stop, has finished or fails."""
        assignment = engagement.assignment
        assert self._jobs is not None, "the conductor was not started"
        upstream = worker.upstreams.get(assignment.upstream)
        sink = plugins.open_sink(assignment.sink)
        try:
            delivery = Delivery(assignment, self._ledger, upstream, sink, self._jobs, engagement.tally)
            delivery.open()
            while not engagement.stop.is_set() and not delivery.finished:
                delivery.step(engagement.stop)
                patience.restored()
                self._tell(engagement, "snapshot" if engagement.tally.report.snapshot_ranges_left else "normal", None)
            if delivery.finished:
                self._tell(engagement, "finished", None)
        finally:
            sink.close()

    def _tell(self, engagement: _Engagement, state: State, error: TailraceError | None) -> None:
        if state != engagement.state or error is not None:
            engagement.state = state
            self._listener.on_state(engagement.assignment.subscription, state, error)


def _end(engagement: _Engagement) -> None:
    engagement.stop.set()
    if engagement.thread is not None and engagement.thread is not threading.current_thread():
        engagement.thread.join(STOP_SECONDS)
