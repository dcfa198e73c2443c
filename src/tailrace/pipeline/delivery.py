"""A delivery: one subscription, cut after cut, from its upstream into its sink.

The order in which a cut is delivered is the whole of exactly-once, and it is written here once (`_deliver`):

    begin     the plan is in the ledger: this cut, and what progress will be after it
    commit    the sink makes the rows durable; a sink that gives names saves its naming in the ledger first
    ddl       the events of the cut's last ts
    advance   metadata, watermarks
    finish    progress is exactly what the plan said

A crash before the naming is saved leaves nothing that counts, and the cut is planned anew; a crash after it is
followed by `_finish_pending`, which replays the naming and goes on with the same plan. No other module calls these.

Nothing here waits for its turn: `begin` says what is to be carried next, or for how long there is nothing to do, and
`finish` delivers what was carried. Who calls them, and on which thread, is the conductor's. A cut never crosses a DDL
and never ends above what every range and the DDL log are resolved to (`cuts`).

While nothing happens no cut is made: the sink is told how far time went, and the conductor saves that in the ledger
now and then, for many subscriptions at once (`idle_progress`). After a crash in between, the same time goes by again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import IteratorLost, TableGone, TailraceError, Terminal, from_fields
from tailrace.observe.failpoints import reach
from tailrace.pipeline.assignment import Assignment
from tailrace.pipeline.carry import Order
from tailrace.pipeline.cuts import bounds
from tailrace.pipeline.lookout import Lookout
from tailrace.pipeline.outcome import IndexHints, log_outcome, snapshot_outcome, without_table
from tailrace.pipeline.pace import Pace
from tailrace.pipeline.pieces import log_pieces, snapshot_pieces
from tailrace.pipeline.seat import DeliverySeat
from tailrace.pipeline.succession import behind, drained_by, newcomers_read, version_of, within, without
from tailrace.pipeline.tally import Tally
from tailrace.pipeline.territory import Territory
from tailrace.progress.cut import Cut, Phase, Piece, Receipt
from tailrace.progress.ledger import Ledger
from tailrace.progress.position import Progress, Stage
from tailrace.route.filter import TableFilter
from tailrace.sink.base import Sink
from tailrace.upstream.base import Frontier, Mark, Upstream

SNAPSHOT_ROWS = 1_000_000
BREATH_SECONDS, LONGEST_BREATH = 0.01, 0.5
# Nobody looks more often than this at a subscription for which nothing happens.
GLANCE_SECONDS = 2.0
RELEASE_SECONDS = 30.0
IDLE_RELEASE_SECONDS = 120.0
# While a newcomer is read, the changes of all others go out this often.
NEWCOMER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Cargo:
    """A cut on its way: its pieces, and what will be said of it once they are carried. `drained` are closed ranges
    whose log ends within it."""

    cut: Cut
    pieces: tuple[Piece, ...]
    orders: tuple[Order, ...]
    events: tuple[DdlEvent, ...] = ()
    drained: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to carry for so many seconds; `deaf`: whatever may happen meanwhile."""

    seconds: float
    deaf: bool = False


class Delivery:
    """Made for one stay: after any error it is thrown away, and a new one begins from the ledger."""

    def __init__(
        self,
        assignment: Assignment,
        ledger: Ledger,
        upstream: Upstream,
        sink: Sink,
        lookout: Lookout,
        tally: Tally,
        wake: Callable[[], None],
    ) -> None:
        self._assignment = assignment
        self._ledger = ledger
        self._upstream = upstream
        self._sink = sink
        self._tally = tally
        self._watch = lookout.watch(wake)
        rules = TableFilter(assignment.rules, assignment.case_sensitive)
        self._territory = Territory(upstream, assignment.subscription, rules)
        self._pace = Pace(sink.capabilities)
        self._releases = Pace(replace(sink.capabilities, cut_seconds=RELEASE_SECONDS))
        self._idle_releases = Pace(replace(sink.capabilities, cut_seconds=IDLE_RELEASE_SECONDS))
        self._births = Pace(replace(sink.capabilities, cut_seconds=RELEASE_SECONDS))
        self._turns = Pace(replace(sink.capabilities, cut_seconds=NEWCOMER_SECONDS))
        self._hints = IndexHints()
        self._progress = Progress(assignment.subscription)
        self._saved_ts: Ts = 0
        self._released_ts: Ts = 0
        self._breaths = 0
        self._arrivals = 0

    def open(self) -> None:
        """Take the seat: find or make the first progress, and finish what a predecessor had begun."""
        name, epoch = self._assignment.subscription, self._assignment.epoch
        seat = DeliverySeat(self._ledger.seat(name, epoch), self._upstream)
        saved = self._ledger.load(name)
        if saved is None:
            saved = self._territory.settle(self._assignment.start)
            reach("ranges-registered")
            self._name_tables()
            self._ledger.hold(name, epoch, saved)
        self._progress = saved
        self._saved_ts = saved.to_ts
        self._releases.cut()
        self._idle_releases.cut()
        reach("progress-held")
        self._sink.open(seat)
        reach("sink-opened")
        self._finish_pending(seat)
        self._hold(self._territory.return_to(self._progress))
        self._tally.settled(self._progress)

    def close(self) -> None:
        """Nothing is looked at any more. The sink is closed by whoever opened it."""
        self._watch.close()

    @property
    def finished(self) -> bool:
        return self._progress.to_ts >= self._assignment.end_ts

    @property
    def idle_progress(self) -> Progress | None:
        """How far time went without a cut, where that is not saved; for any thread."""
        progress = self._progress
        return progress if progress.to_ts > self._saved_ts else None

    def saved(self, to_ts: Ts) -> None:
        """The ledger stands there; for any thread, since it only rises."""
        self._saved_ts = max(self._saved_ts, to_ts)

    def begin(self, slots: int) -> Cargo | Rest:
        """What has to be carried next, in tasks of which so many run at once, or how long there is nothing to do."""
        self._release_what_is_delivered()
        if self._progress.reading and self._turns.until_cut() == 0 and newcomers_read(self._progress):
            self._hold(self._territory.renew(self._progress))
            self._turns.cut()
        if self._progress.reading and not behind(self._progress):
            return self._snapshot_cargo(slots)
        return self._log_cargo(slots)

    def finish(self, cargo: Cargo, receipts: Sequence[Receipt]) -> None:
        """Deliver what was carried; raises the worst error of its pieces, with nothing left behind."""
        try:
            failed = [from_fields(receipt.error) for receipt in receipts if receipt.error]
            if failed:
                raise _worst(failed)
        except TableGone as gone:
            self._sink.abort(cargo.cut)
            if cargo.cut.phase != "snapshot":
                raise
            self._end_snapshot_of(gone)
            return
        except IteratorLost:
            self._sink.abort(cargo.cut)
            self._hold(self._territory.renew(self._progress))
            return
        except TailraceError:
            self._sink.abort(cargo.cut)
            raise
        if cargo.cut.phase == "snapshot":
            self._deliver(cargo.cut, receipts, (), snapshot_outcome(self._progress, cargo.cut, receipts))
        else:
            self._finish_log(cargo, receipts)

    def abort(self, cargo: Cargo) -> None:
        """Its job failed: nothing of it stays."""
        self._sink.abort(cargo.cut)

    def _hold(self, progress: Progress) -> None:
        """Ranges as they are now, saved before anything relies on them."""
        if progress != self._progress:
            self._ledger.hold(self._assignment.subscription, self._assignment.epoch, progress)
            self._progress = progress
            self._saved_ts = progress.to_ts

    def _snapshot_cargo(self, slots: int) -> Cargo:
        waiting = [position for position in self._progress.ranges if position.stage is Stage.SNAPSHOT]
        version = waiting[0].current_snapshot_version
        together = [each for each in waiting if each.current_snapshot_version == version][: 2 * slots]
        cut = self._next_cut("snapshot", 0, version)
        limit = self._sink.capabilities.piece_bytes
        return self._cargo(cut, snapshot_pieces(cut, together, self._territory.routes, SNAPSHOT_ROWS, limit))

    def _end_snapshot_of(self, gone: TableGone) -> None:
        """A drop or truncate ends a table's snapshot; its DDL comes with the log."""
        table_id = int(gone.table) if gone.table.isdigit() else 0
        left = without_table(self._progress, table_id)
        if left == self._progress:
            raise gone
        cut = self._next_cut("snapshot", 0, version_of(self._progress))
        self._deliver(cut, (), (), snapshot_outcome(left, cut, ()))

    def _log_cargo(self, slots: int) -> Cargo | Rest:
        progress, reached = self._progress, self._progress.reached
        catching_up = behind(progress)
        left = 0.0 if self._tally.behind or catching_up else self._pace.until_cut()
        if left:
            return Rest(left, deaf=True)
        marks = [
            Mark(self._territory.routes[each.range_id], each.last_log_index, reached, each.stage is Stage.DRAINING)
            for each in progress.ranges
        ]
        with self._tally.step("poll"):
            sight = self._watch.look(marks, reached)
        if self._join_arrivals():
            return Rest(0.0)
        frontiers = sight.frontiers
        if any(frontier.heirs for frontier in frontiers):
            self._hold(self._territory.return_to(progress))
            return self._rest(announced=True)
        self._hints.note(frontiers)
        upto = min(sight.resolved, version_of(progress) if catching_up else self._assignment.end_ts)
        self._tally.resolved(sight.resolved)
        events = [e for e in sight.events if e.commit_ts <= upto and self._territory.matches(e)]
        self._territory.pin_ahead(events)
        limit = self._sink.capabilities.piece_bytes * 2 * slots
        found = bounds(frontiers, events, upto, reached, limit)
        self._tally.behind = found is not None and found.to_ts < upto
        if found is not None and (found.rows or found.events or catching_up):
            return self._log_cut(found.to_ts, found.events, frontiers, slots)
        if found is not None and upto == self._assignment.end_ts:
            self._end(found.to_ts)
        elif found is not None and self._pace.until_idle() == 0:
            self._idle(found.to_ts)
        return self._rest(announced=any(frontier.buckets for frontier in frontiers))

    def _join_arrivals(self) -> bool:
        """Ranges that came without a DDL are held before any cut may end above their first change."""
        arrivals = self._upstream.arrivals()
        if arrivals == self._arrivals:
            return False
        joined = self._territory.joined(self._progress)
        self._arrivals = arrivals
        if joined == self._progress:
            return False
        self._hold(joined)
        self._name_tables()
        return True

    def _rest(self, announced: bool) -> Rest:
        """What is announced but not resolved is so in a moment, or waits for somebody: look again, ever less often."""
        if announced or not self._pace.until_idle():
            self._breaths += 1
            return Rest(min(BREATH_SECONDS * 2.0 ** min(self._breaths - 1, 6), LONGEST_BREATH))
        return Rest(min(self._pace.until_idle(), GLANCE_SECONDS))

    def _log_cut(self, to_ts: Ts, events: tuple[DdlEvent, ...], frontiers: Sequence[Frontier], slots: int) -> Cargo:
        self._pace.cut()
        self._breaths = 0
        cut = self._next_cut("log", self._progress.reached, to_ts)
        by_range = {each.range_id: each for each in frontiers}
        wanted = within(self._progress)
        pieces = log_pieces(
            cut, self._progress.ranges, self._territory.routes, by_range, self._sink.capabilities, slots, wanted
        )
        drained = drained_by(self._progress, frontiers, to_ts)
        return replace(self._cargo(cut, pieces, events), drained=drained)

    def _finish_log(self, cargo: Cargo, receipts: Sequence[Receipt]) -> None:
        touched = {span.range.id for piece in cargo.pieces for span in piece.spans}
        after = without(log_outcome(self._progress, cargo.cut, self._hints, touched), cargo.drained)
        before = dict(self._territory.routes)
        if cargo.events:
            after = self._territory.after_ddl(after, cargo.events, cargo.cut.to_ts)
            # The DDL may have taken away the last keys that had nothing.
            after = after if after.reading else replace(after, to_ts=cargo.cut.to_ts)
            self._name_tables()
            self._turns.cut()
            reach("tables-registered")
        self._territory.keep(after)
        self._deliver(cargo.cut, receipts, cargo.events, after)
        gone = [route for range_id, route in before.items() if range_id not in self._territory.routes]
        self._territory.release(gone)

    def _end(self, to_ts: Ts) -> None:
        """Nothing comes any more up to the end: that is a cut without changes."""
        cut = self._next_cut("log", self._progress.reached, to_ts)
        self._deliver(cut, (), (), replace(self._progress, cut=cut.number, to_ts=to_ts))

    def _idle(self, to_ts: Ts) -> None:
        """Nothing happened up to `to_ts`: say so to a sink that wants to hear it, and remember it."""
        reach("idle-time")
        if self._pace.tells_idle:
            self._sink.advance(to_ts)
        self._progress = replace(self._progress, to_ts=to_ts)
        self._breaths = 0
        self._pace.told()
        self._tally.moved(self._progress)

    def _release_what_is_delivered(self) -> None:
        """History is let go only up to what the ledger holds, and seldom while nothing happens."""
        if (self._progress.reading or self._tally.behind) and self._births.until_cut() == 0:
            self._territory.pin_births(self._progress.reached or version_of(self._progress))
            self._births.cut()
        due = self._releases if self._progress.to_ts == self._saved_ts else self._idle_releases
        if self._saved_ts > self._released_ts and due.until_cut() == 0:
            self._territory.release(list(self._territory.routes.values()), self._saved_ts)
            self._released_ts = self._saved_ts
            self._releases.cut()
            self._idle_releases.cut()

    def _cargo(self, cut: Cut, pieces: Sequence[Piece], events: tuple[DdlEvent, ...] = ()) -> Cargo:
        orders = tuple(Order(piece, self._assignment.upstream, self._assignment.sink) for piece in pieces)
        return Cargo(cut, tuple(pieces), orders, events)

    def _name_tables(self) -> None:
        tables = list(self._territory.tables.values())
        self._ledger.name_tables(self._assignment.subscription, self._assignment.epoch, tables)

    def _next_cut(self, phase: Phase, from_ts: Ts, to_ts: Ts) -> Cut:
        number = self._progress.cut + 1
        return Cut(self._assignment.subscription, self._assignment.epoch, number, phase, from_ts, to_ts)

    def _deliver(self, cut: Cut, receipts: Sequence[Receipt], events: Sequence[DdlEvent], after: Progress) -> None:
        reach("receipts-back")
        with self._tally.step("begin"):
            self._ledger.begin(cut, after)
        reach("cut-planned")
        with self._tally.step("commit"):
            self._sink.commit(cut, receipts)
        self._conclude(cut, events, after)
        self._tally.delivered(receipts, after)

    def _conclude(self, cut: Cut, events: Sequence[DdlEvent], after: Progress) -> None:
        if events:
            reach("before-ddl")
            self._sink.ddl(events)
            reach("after-ddl")
        if after.to_ts:
            self._sink.advance(after.to_ts)
        reach("after-commit")
        with self._tally.step("finish"):
            self._ledger.finish(cut, after)
        reach("after-progress")
        self._progress = after
        self._saved_ts = after.to_ts

    def _finish_pending(self, seat: DeliverySeat) -> None:
        """What a predecessor had begun: finished where its naming stands, forgotten where it does not."""
        pending = self._ledger.pending(self._assignment.subscription)
        if pending is None:
            return
        cut, after = pending
        cut = replace(cut, epoch=self._assignment.epoch)
        named = seat.load_naming()
        if named is None:
            reach("before-abandon")
            self._ledger.abandon(cut)
            return
        reach("before-recover")
        self._sink.recover(cut, named[1])
        events: list[DdlEvent] = []
        if cut.phase == "log":
            events = [e for e in self._upstream.ddl(cut.to_ts - 1, cut.to_ts) if self._territory.matches(e)]
        self._conclude(cut, events, after)


def _worst(errors: Sequence[TailraceError]) -> TailraceError:
    """The error that decides what happens next: one that is not worth a second try, else the first."""
    return next((error for error in errors if isinstance(error, Terminal)), errors[0])
