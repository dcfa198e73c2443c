"""The conductor: carries the deliveries of all assignments of a server, over a shared crew, shared jobs and lookouts.

There is no thread for a subscription: each is an `Engagement`, which takes its steps on the crew when it has something
to do. What time that goes by without changes has to be saved is saved here, for all of them at once.
"""

from __future__ import annotations

import logging
import threading
import time

from tailrace.errors import TailraceError
from tailrace.observe.failpoints import reach
from tailrace.pipeline import worker
from tailrace.pipeline.alarm import Alarm
from tailrace.pipeline.assignment import Assignment, Listener
from tailrace.pipeline.crew import Crew
from tailrace.pipeline.engagement import Company, Engagement
from tailrace.pipeline.jobs import Jobs
from tailrace.pipeline.lookout import Lookouts
from tailrace.pipeline.runner import Runner
from tailrace.pipeline.tally import Tally
from tailrace.pipeline.territory import Territory
from tailrace.progress.ledger import Ledger
from tailrace.route.filter import TableFilter

logger = logging.getLogger(__name__)

STOP_SECONDS = 30.0
SAVE_IDLE_SECONDS = 20.0


class Conductor:
    def __init__(self, runner: Runner, ledger: Ledger, listener: Listener) -> None:
        self._runner = runner
        self._ledger = ledger
        self._listener = listener
        self._lock = threading.Lock()
        self._engaged: dict[str, Engagement] = {}
        self._shared: Company | None = None
        self._warm = threading.Event()

    @property
    def ready(self) -> bool:
        """Spark runs; or it cannot, which the first delivery then says."""
        return self._warm.is_set()

    def start(self) -> None:
        shared = Company(self._ledger, self._listener, Jobs(self._runner), Crew(), Alarm(), Lookouts())
        self._shared = shared
        threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()
        shared.alarm.call(SAVE_IDLE_SECONDS, self._save_idle)

    def add(self, assignment: Assignment) -> None:
        assert self._shared is not None, "the conductor was not started"
        engagement = Engagement(assignment, self._shared)
        with self._lock:
            self._engaged[assignment.subscription] = engagement
        engagement.begin()

    def remove(self, subscription: str, *, release: bool) -> None:
        with self._lock:
            engagement = self._engaged.pop(subscription, None)
        if engagement is not None:
            engagement.leave()
            engagement.left.wait(STOP_SECONDS)
            if release:
                self._release(engagement.assignment)

    def stop(self) -> None:
        with self._lock:
            leaving, self._engaged = list(self._engaged.values()), {}
        for engagement in leaving:
            engagement.leave()
        limit = time.monotonic() + STOP_SECONDS
        for engagement in leaving:
            engagement.left.wait(max(0.0, limit - time.monotonic()))
        if self._shared is not None:
            self._shared.jobs.close()
            self._shared.crew.close()
            self._shared.alarm.close()
            self._shared.lookouts.close()
        self._runner.close()

    def tally(self, subscription: str) -> Tally:
        """What a subscription has moved since it was added here."""
        return self._engaged[subscription].tally

    @property
    def engaged(self) -> list[Engagement]:
        with self._lock:
            return list(self._engaged.values())

    @property
    def shared(self) -> Company | None:
        """The crew, the jobs and the lookouts, for whoever counts what they do; None before the start."""
        return self._shared

    def _warm_up(self) -> None:
        try:
            self._runner.open()
        except Exception:
            # Whatever it is meets the first delivery too, which says it where it is heard.
            logger.warning("Spark could not be started ahead", exc_info=True)
        finally:
            self._warm.set()

    def _save_idle(self) -> None:
        """On the crew, since the meta database may hang."""
        assert self._shared is not None
        self._shared.crew.submit(self._save_all_idle, lambda seconds: None, proven=True)

    def _save_all_idle(self) -> None:
        assert self._shared is not None
        try:
            resting = {}
            for engagement in self.engaged:
                delivery = engagement.delivery
                progress = delivery.idle_progress if delivery is not None else None
                if delivery is not None and progress is not None:
                    resting[progress.subscription] = (delivery, engagement.assignment.epoch, progress)
            saved = self._ledger.pass_time([(epoch, progress) for _, epoch, progress in resting.values()])
            if saved:
                reach("idle-saved")
            for name, to_ts in saved.items():
                resting[name][0].saved(to_ts)
        except TailraceError as error:
            # Nothing is lost: the same time goes by again for whoever comes next.
            logger.warning("idle progress is not saved: %s", error)
        finally:
            self._shared.alarm.call(SAVE_IDLE_SECONDS, self._save_idle)

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
