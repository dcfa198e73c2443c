"""Solo: one subscription, carried by this process alone, with its progress in a file of its own.

Guarantees: a run goes on where the last one stopped, however it ended. Of two processes that carry the same one the
newer goes on and the older is fenced: nobody waits for a lease. A state of another storage or of other tables is
refused, never mixed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tailrace.change.tso import Ts
from tailrace.config import masked_uri
from tailrace.errors import ConfigError, Fenced, TailraceError
from tailrace.pipeline.assignment import Assignment, Report, State
from tailrace.pipeline.conductor import Conductor
from tailrace.pipeline.runner import Runner
from tailrace.progress.database import MetaDatabase, open_meta
from tailrace.progress.ledger import Ledger
from tailrace.server.claims import Claims
from tailrace.server.records import Records, Subscription

CLUSTER = 1
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a run came: the newest report, and the ts up to which everything is in the sink."""

    report: Report
    to_ts: Ts


class Solo:
    """`told` hears of every report; `warned` of what is tried again."""

    def __init__(self, state: Path, told: Callable[[Report], None], warned: Callable[[TailraceError], None]) -> None:
        state.parent.mkdir(parents=True, exist_ok=True)
        self._meta: MetaDatabase = open_meta(f"sqlite:///{state}")
        self._ledger = Ledger(self._meta, CLUSTER)
        self._told = told
        self._warned = warned
        self._done = threading.Event()
        self._error: TailraceError | None = None
        self._report = Report()

    def carry(self, wanted: Assignment, runner: Runner) -> Outcome:
        """Until it is finished, `stop` is called, or it fails; raises what it failed with."""
        self._remember(wanted)
        owner = f"solo-{os.getpid()}"
        epoch = Claims(self._meta, CLUSTER, owner).seize(wanted.subscription)
        conductor = Conductor(runner, self._ledger, self)
        conductor.start()
        try:
            conductor.add(replace(wanted, epoch=epoch))
            while not self._done.wait(_LOOK_SECONDS):
                self._ledger.check(wanted.subscription, epoch)
            self._report = conductor.tally(wanted.subscription).report
        except Fenced as error:
            raise Fenced("another process carries this now", subscription=wanted.subscription) from error
        finally:
            conductor.stop()
        if self._error is not None:
            raise self._error
        saved = self._ledger.load(wanted.subscription)
        return Outcome(self._report, saved.to_ts if saved else 0)

    def stop(self) -> None:
        """End `carry` after the cut that is under way."""
        self._done.set()

    def on_state(self, subscription: str, state: State, error: TailraceError | None) -> None:
        if state == "warning" and error is not None:
            self._warned(error)
        if state in ("failed", "finished"):
            self._error = error
            self._done.set()

    def on_report(self, subscription: str, report: Report) -> None:
        self._report = report
        self._told(report)

    def _remember(self, wanted: Assignment) -> None:
        """What this state belongs to; secrets stay out of it."""
        records = Records(self._meta, CLUSTER)
        asked = Subscription(
            name=wanted.subscription,
            upstream=masked_uri(wanted.upstream.uri).partition("?")[0],
            sink=masked_uri(wanted.sink.uri),
            config="",
            rules=wanted.rules,
            case_sensitive=wanted.case_sensitive,
            start=wanted.start,
            end_ts=wanted.end_ts,
            time_zone=wanted.upstream.time_zone,
        )
        known = next((each for each in records.all() if each.name == wanted.subscription), None)
        if known is None:
            records.add(asked, [])
            return
        for what in ("upstream", "rules", "time_zone"):
            before, now = getattr(known, what), getattr(asked, what)
            if before != now:
                raise ConfigError(
                    f"the saved progress is of {what} {before}, not of {now}; give another --state for another one",
                    subscription=wanted.subscription,
                )
