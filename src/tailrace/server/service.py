"""The service: claims subscriptions, hands them to a carrier, and keeps the meta database and the carrier in step.

One thread does it, in rounds: renew what is held, stop what was lost, save what the carrier said, carry out
cancellations, claim what is free up to an even share among the servers that live, hand over what is above it. A round
comes at least every `poll_seconds`, and at once after a change through this server. Whatever may take long (a carrier
that stops a delivery, an upstream that lets go of history) has a thread of its own, so that no lease runs out
meanwhile; and a second thread, which asks no database, watches that a round that hangs does not outlast a lease.

Guarantees: nothing is claimed before the carrier can carry it, so that a server which has just started takes nothing
away from one that runs; an assignment is handed over only with a claim, and taken back when the claim is lost or may
be; a lease is given back only after its delivery has stopped. It holds nothing that is not in the meta database:
another server, or the next start of this one, goes on where the ledger says.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from tailrace.errors import TailraceError, Transient
from tailrace.observe import metrics, names
from tailrace.observe.failpoints import reach
from tailrace.observe.logs import say
from tailrace.pipeline.assignment import Carrier, Listener, Report, State
from tailrace.progress.database import MetaDatabase
from tailrace.progress.ledger import Ledger
from tailrace.server.claims import BATCH, Claim, Claims
from tailrace.server.endings import Endings
from tailrace.server.members import Members, share
from tailrace.server.records import Records
from tailrace.server.reports import Reports

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.1
REPORT_SECONDS = 1.0
MEMBERS_SECONDS = 1.0
TROUBLE_SECONDS = 30.0
# Above its share a server hands over this part at a time, so that only few are ever between two owners.
HANDOVERS = 4
# So many that none waits for another: a lost lease must end its delivery now, whatever hangs beside it.
ENDINGS = 1000

MakesCarrier = Callable[[Ledger, Listener], Carrier]


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """`owner` must differ from every other server's, also from this one's at its last start; `name` only from those
    of servers that live at the same time (left out: the owner)."""

    owner: str
    cluster_id: int = 1
    lease_seconds: float = 10.0
    poll_seconds: float = 0.5
    name: str = ""


class Service:
    """One server's work. `start` and `stop` once each."""

    def __init__(self, meta: MetaDatabase, options: ServiceOptions, make_carrier: MakesCarrier) -> None:
        self._options = options
        self._records = Records(meta, options.cluster_id)
        self._reports = Reports(meta, options.cluster_id)
        name = options.name or options.owner
        self._members = Members(meta, options.cluster_id, name, options.owner, options.lease_seconds)
        self._alive = 1
        self._counted = 0.0
        self._claims = Claims(meta, options.cluster_id, options.owner, options.lease_seconds)
        self._ledger = Ledger(meta, options.cluster_id)
        self._carrier = make_carrier(self._ledger, self)
        self._endings = Endings(self._records, self._ledger, self._carrier)
        self._said: deque[tuple[str, State, TailraceError | None]] = deque()
        self._newest: dict[str, Report] = {}
        self._reported = 0.0
        self._beat = time.monotonic()
        self._trouble = ""
        self._said_at = 0.0
        self._wake = threading.Event()
        self._asked = threading.Event()
        self._stopped = threading.Event()
        self._in_round = threading.Lock()
        self._failure: BaseException | None = None
        self._long = ThreadPoolExecutor(ENDINGS, thread_name_prefix="ending")
        self._lock = threading.Lock()
        self._carries = True
        self._leaving: dict[str, Future[None]] = {}
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._watch = threading.Thread(target=self._watch_leases, name="leases", daemon=True)

    def start(self) -> None:
        """Waits while a server of this name, which died a moment ago, may still live; AlreadyExists where it does."""
        self._members.join()
        self._carrier.start()
        self._thread.start()
        self._watch.start()
        say(logger, logging.INFO, names.SERVER_STARTED, owner=self._options.owner)

    def stop(self) -> None:
        """Stop all deliveries, then give their leases back; until then they are renewed."""
        self.ask_to_stop()
        with self._in_round:
            pass
        self._carrier.stop()
        with self._lock:
            self._carries = False
        self._long.shutdown()
        self._stopped.set()
        self._wake.set()
        for thread in (self._thread, self._watch):
            thread.join()
        if self._failure is None:
            self._hand_back()
        say(logger, logging.INFO, names.SERVER_STOPPED, owner=self._options.owner)

    def ask_to_stop(self) -> None:
        """End `wait`, and claim nothing more; for a signal's handler, which must not wait."""
        self._asked.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Until the service is asked to stop; raises what ended it by itself. False when the time ran out."""
        asked = self._asked.wait(seconds)
        if self._failure is not None:
            raise self._failure
        return asked

    @property
    def held(self) -> dict[str, Claim]:
        return self._claims.held

    @property
    def round_age(self) -> float:
        """Seconds since a round ended; much more than `poll_seconds` means that it hangs."""
        return time.monotonic() - self._beat

    def wake(self) -> None:
        """Something has changed: do not wait for the next round."""
        self._wake.set()

    def on_state(self, subscription: str, state: State, error: TailraceError | None) -> None:
        if error is not None:
            metrics.count(names.ERRORS, subscription=subscription, code=error.code)
        self._said.append((subscription, state, error))
        self._wake.set()

    def on_report(self, subscription: str, report: Report) -> None:
        self._newest[subscription] = report

    def _hand_back(self) -> None:
        try:
            self._save_reports(at_once=True)
            self._save_what_was_said()
            self._claims.release(*self._claims.held)
            self._members.leave()
        except Transient as error:
            # The leases run out by themselves; the next owner waits for that.
            say(logger, logging.WARNING, names.SERVER_TROUBLED, reason=str(error))

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._wake.clear()
                with self._in_round:
                    self._try_round()
                self._beat = time.monotonic()
                self._wake.wait(self._options.poll_seconds)
        except BaseException as error:
            self._failure = error
            self._asked.set()

    def _try_round(self) -> None:
        try:
            self._round()
        except Transient as error:
            # The deliveries go on as long as their leases do; the next round tries again.
            self._say_trouble(str(error))
        else:
            if self._trouble:
                say(logger, logging.INFO, names.SERVER_RECOVERED, after=self._trouble)
            self._trouble = ""

    def _say_trouble(self, reason: str) -> None:
        """Once for each reason, and again now and then while it lasts."""
        if reason != self._trouble or time.monotonic() > self._said_at + TROUBLE_SECONDS:
            say(logger, logging.WARNING, names.SERVER_TROUBLED, reason=reason)
            self._trouble, self._said_at = reason, time.monotonic()

    def _round(self) -> None:
        self._lose(self._claims.renew())
        # A state is saved with the report that led to it.
        self._save_reports(at_once=bool(self._said))
        self._save_what_was_said()
        self._finish_endings()
        if self._carrier.ready:
            self._count_members()
        if not self._asked.is_set():
            self._begin_cancellations()
            if self._carrier.ready:
                self._share()

    @property
    def can_carry(self) -> bool:
        """Whether this server claims anything: until its carrier is up it leaves that to others."""
        return self._carrier.ready

    def _watch_leases(self) -> None:
        while not self._stopped.wait(WATCH_SECONDS):
            self._lose(self._claims.overdue())

    def _lose(self, lost: list[Claim]) -> None:
        for claim in lost:
            say(logger, logging.WARNING, names.CLAIM_LOST, subscription=claim.subscription, epoch=claim.epoch)
            self._leave(claim.subscription, self._endings.let_go)

    def _leave(self, name: str, ending: Callable[..., None], *more: int) -> None:
        """Begin an ending, unless one is under way or everything has stopped already."""
        with self._lock:
            if self._carries and name not in self._leaving:
                ended = self._leaving[name] = self._long.submit(ending, name, *more)
                ended.add_done_callback(lambda _: self._wake.set())

    def _count_members(self) -> None:
        if time.monotonic() > self._counted + min(MEMBERS_SECONDS, self._options.lease_seconds / 3):
            self._alive = self._members.renew()
            self._counted = time.monotonic()

    def _share(self) -> None:
        """Carry an even share: claim what is free up to that, and hand over what is above it, a little at a time."""
        # An owner that let a lease run out is dead, or as good as that, though it may still count as a member.
        carried, dead = self._claims.carried()
        with self._lock:
            # What has not stopped here yet is not claimed anew: it would be carried twice.
            leaving = set(self._leaving)
        held = self._claims.held
        mine, most = len(held.keys() - leaving), share(carried, self._alive - dead)
        if mine < most:
            self._take(leaving, most - mine)
        elif mine > most and not leaving:
            for name in sorted(held)[-max(1, (mine - most) // HANDOVERS) :]:
                say(logger, logging.INFO, names.HANDED_OVER, subscription=name, servers=self._alive)
                self._leave(name, self._endings.let_go)

    def _take(self, leaving: set[str], most: int) -> None:
        claims = {claim.subscription: claim for claim in self._claims.take(leaving, most)}
        for record in self._records.some(list(claims)) if claims else []:
            name, epoch = record.name, claims[record.name].epoch
            say(logger, logging.INFO, names.CLAIMED, subscription=name, epoch=epoch)
            reach("claim-taken")
            if record.state == "cancelling":
                self._leave(name, self._endings.cancel, epoch)
            else:
                self._carrier.add(record.assignment(epoch))
        if len(claims) == BATCH:
            self._wake.set()

    def _begin_cancellations(self) -> None:
        held = self._claims.held
        for name in self._records.cancelling():
            if name in held:
                self._leave(name, self._endings.cancel, held[name].epoch)

    def _finish_endings(self) -> None:
        """Give back the leases of deliveries that have stopped."""
        with self._lock:
            done = {name: future for name, future in self._leaving.items() if future.done()}
            self._leaving = {name: future for name, future in self._leaving.items() if name not in done}
        for name, future in done.items():
            error = future.exception()
            if error is not None:
                # It is begun again where it is still asked for; the others do not suffer from it.
                reason = f"{type(error).__name__}: {error}"
                say(logger, logging.ERROR, names.SERVER_TROUBLED, subscription=name, reason=reason)
        self._claims.release(*(name for name, future in done.items() if future.exception() is None))

    def _save_what_was_said(self) -> None:
        while self._said:
            held = self._claims.held
            said = list(islice(self._said, BATCH))
            known = [(name, held[name].epoch, state, error) for name, state, error in said if name in held]
            saved = self._records.set_states(known)
            for (name, _, state, error), done in zip(known, saved, strict=True):
                if done:
                    self._follow(name, state, error)
            for _ in said:
                self._said.popleft()

    def _save_reports(self, at_once: bool) -> None:
        """The newest of each, otherwise once a second: they are only for people."""
        moment = time.monotonic()
        if not self._newest or (moment < self._reported + REPORT_SECONDS and not at_once):
            return
        newest = {name: self._newest.pop(name) for name in list(self._newest)}
        held = self._claims.held
        self._reports.save({(name, held[name].epoch): each for name, each in newest.items() if name in held})
        self._reported = moment

    def _follow(self, name: str, state: State, error: TailraceError | None) -> None:
        level = {"failed": logging.ERROR, "warning": logging.WARNING}.get(state, logging.INFO)
        say(logger, level, names.STATE_CHANGED, subscription=name, state=state, reason=str(error) if error else None)
        if state in ("failed", "finished"):
            self._leave(name, self._endings.finish if state == "finished" else self._endings.let_go)
