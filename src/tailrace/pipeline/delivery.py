"""A delivery: one subscription, cut after cut, from its upstream into its sink.

The order in which a cut is delivered is the whole of exactly-once, and it is written here once (`_deliver`):

    begin     the plan is in the ledger: this cut, and what progress will be after it
    commit    the sink makes the rows durable; a sink that gives names saves its naming in the ledger first
    ddl       the events of the cut's last ts
    advance   metadata, watermarks
    finish    progress is exactly what the plan said

A crash before the naming is saved leaves nothing that counts, and the cut is planned anew; a crash after it is
followed by `_finish_pending`, which replays the naming and goes on with the same plan. No other module calls these.

A cut never crosses a DDL and never ends above what every range and the DDL log are resolved to (`cuts`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import IteratorLost, TableGone, TailraceError, Terminal, from_fields
from tailrace.observe.failpoints import reach
from tailrace.pipeline.assignment import Assignment
from tailrace.pipeline.carry import Order
from tailrace.pipeline.cuts import bounds
from tailrace.pipeline.jobs import Jobs
from tailrace.pipeline.outcome import IndexHints, log_outcome, snapshot_outcome, without_table
from tailrace.pipeline.pace import Pace
from tailrace.pipeline.pieces import log_pieces, snapshot_pieces
from tailrace.pipeline.seat import DeliverySeat
from tailrace.pipeline.succession import behind, version_of, within, without_drained
from tailrace.pipeline.tally import Tally
from tailrace.pipeline.territory import Territory
from tailrace.progress.cut import Cut, Phase, Piece, Receipt
from tailrace.progress.ledger import Ledger
from tailrace.progress.position import Progress, Stage
from tailrace.route.filter import TableFilter
from tailrace.sink.base import Sink
from tailrace.upstream.base import Frontier, Mark, Upstream

SNAPSHOT_ROWS = 1_000_000
POLL_SECONDS = 1.0
BREATH_SECONDS = 0.01
RELEASE_SECONDS = 30.0


class Delivery:
    """Made for one stay: after any error it is thrown away, and a new one begins from the ledger."""

    def __init__(
        self, assignment: Assignment, ledger: Ledger, upstream: Upstream, sink: Sink, jobs: Jobs, tally: Tally
    ) -> None:
        self._assignment = assignment
        self._ledger = ledger
        self._upstream = upstream
        self._sink = sink
        self._jobs = jobs
        self._tally = tally
        rules = TableFilter(assignment.rules, assignment.case_sensitive)
        self._territory = Territory(upstream, assignment.subscription, rules)
        self._pace = Pace(sink.capabilities)
        self._releases = Pace(replace(sink.capabilities, cut_seconds=RELEASE_SECONDS))
        self._hints = IndexHints()
        self._progress = Progress(assignment.subscription)

    def open(self) -> None:
        """Take the seat: find or make the first progress, and finish what a predecessor had begun."""
        name, epoch = self._assignment.subscription, self._assignment.epoch
        seat = DeliverySeat(self._ledger.seat(name, epoch), self._upstream)
        saved = self._ledger.load(name)
        if saved is None:
            saved = self._territory.settle(self._assignment.start)
            self._name_tables()
            self._ledger.hold(name, epoch, saved)
        self._progress = saved
        self._sink.open(seat)
        self._finish_pending(seat)
        self._hold(self._territory.return_to(self._progress))
        self._tally.settled(self._progress)

    @property
    def finished(self) -> bool:
        return self._progress.to_ts >= self._assignment.end_ts

    def step(self, stop: threading.Event) -> None:
        """Deliver the next cut, or wait a moment for one."""
        if self._progress.reading and not behind(self._progress):
            self._snapshot_step()
        else:
            self._log_step(stop)
        if self._releases.until_cut() == 0:
            if self._progress.to_ts:
                self._territory.release(list(self._territory.routes.values()), self._progress.to_ts)
            self._territory.pin_ahead(self._progress.reached or version_of(self._progress))
            self._releases.cut()

    def _hold(self, progress: Progress) -> None:
        """Ranges as they are now, saved before anything relies on them."""
        if progress != self._progress:
            self._ledger.hold(self._assignment.subscription, self._assignment.epoch, progress)
            self._progress = progress

    def _snapshot_step(self) -> None:
        waiting = [position for position in self._progress.ranges if position.stage is Stage.SNAPSHOT]
        version = waiting[0].current_snapshot_version
        together = [each for each in waiting if each.current_snapshot_version == version][: 2 * self._jobs.slots]
        cut = self._next_cut("snapshot", 0, version)
        limit = self._sink.capabilities.piece_bytes
        pieces = snapshot_pieces(cut, together, self._territory.routes, SNAPSHOT_ROWS, limit)
        try:
            receipts = self._carry(cut, pieces)
        except TableGone as gone:
            self._end_snapshot_of(gone)
            return
        except IteratorLost:
            self._hold(self._territory.renew(self._progress))
            return
        self._deliver(cut, receipts, (), snapshot_outcome(self._progress, cut, receipts))

    def _end_snapshot_of(self, gone: TableGone) -> None:
        """A drop or truncate ends a table's snapshot; its DDL comes with the log."""
        table_id = int(gone.table) if gone.table.isdigit() else 0
        left = without_table(self._progress, table_id)
        if left == self._progress:
            raise gone
        cut = self._next_cut("snapshot", 0, version_of(self._progress))
        self._deliver(cut, (), (), snapshot_outcome(left, cut, ()))

    def _log_step(self, stop: threading.Event) -> None:
        progress, reached = self._progress, self._progress.reached
        catching_up = behind(progress)
        stop.wait(0 if self._tally.behind or catching_up else self._pace.until_cut())
        marks = [
            Mark(self._territory.routes[p.range_id], p.last_log_index, reached, p.stage is Stage.DRAINING)
            for p in progress.ranges
        ]
        if not marks:
            stop.wait(POLL_SECONDS / 4)
        with self._tally.step("poll"):
            frontiers = self._upstream.frontier(marks, POLL_SECONDS) if marks else []
        if any(each.heirs for each in frontiers):
            self._hold(self._territory.return_to(progress))
            stop.wait(BREATH_SECONDS)
            return
        self._hints.note(frontiers)
        # What closed ranges hold is final; it is their heirs that say how far their keys are resolved.
        open_ones = (front for front, mark in zip(frontiers, marks, strict=True) if not mark.closed)
        resolved = min([self._upstream.ddl_resolved(), *(each.resolved_ts for each in open_ones)])
        upto = min(resolved, version_of(progress) if catching_up else self._assignment.end_ts)
        self._tally.resolved(resolved)
        events: list[DdlEvent] = []
        if upto > reached:
            events = [e for e in self._upstream.ddl(reached, upto) if self._territory.matches(e)]
        limit = self._sink.capabilities.piece_bytes * 2 * self._jobs.slots
        found = bounds(frontiers, events, upto, reached, limit)
        self._tally.behind = found is not None and found.to_ts < upto
        if found is None:
            stop.wait(BREATH_SECONDS)
        elif found.rows or found.events or catching_up:
            self._log_cut(found.to_ts, found.events, frontiers)
        elif self._pace.idle_due() or upto == self._assignment.end_ts:
            self._idle(found.to_ts)
        else:
            stop.wait(BREATH_SECONDS)

    def _log_cut(self, to_ts: Ts, events: Sequence[DdlEvent], frontiers: Sequence[Frontier]) -> None:
        self._pace.cut()
        cut = self._next_cut("log", self._progress.reached, to_ts)
        wanted = within(self._progress, self._territory.tables)
        by_range = {each.range_id: each for each in frontiers}
        pieces = log_pieces(
            cut,
            self._progress.ranges,
            self._territory.routes,
            by_range,
            self._sink.capabilities,
            self._jobs.slots,
            wanted,
        )
        receipts = self._carry(cut, pieces)
        touched = {span.range.id for piece in pieces for span in piece.spans}
        after = without_drained(log_outcome(self._progress, cut, self._hints, touched), frontiers, to_ts)
        before = dict(self._territory.routes)
        if events:
            after = self._territory.after_ddl(after, events, to_ts)
            # The DDL may have taken away the last keys that had nothing.
            after = after if after.reading else replace(after, to_ts=to_ts)
            self._name_tables()
        self._territory.keep(after)
        self._deliver(cut, receipts, events, after)
        gone = [route for range_id, route in before.items() if range_id not in self._territory.routes]
        self._territory.release(gone)

    def _idle(self, to_ts: Ts) -> None:
        """Nothing happened up to `to_ts`: say so to the sink, and remember it."""
        cut = self._next_cut("log", self._progress.reached, to_ts)
        self._deliver(cut, (), (), replace(self._progress, cut=cut.number, to_ts=to_ts))
        self._pace.told()

    def _name_tables(self) -> None:
        tables = list(self._territory.tables.values())
        self._ledger.name_tables(self._assignment.subscription, self._assignment.epoch, tables)

    def _next_cut(self, phase: Phase, from_ts: Ts, to_ts: Ts) -> Cut:
        number = self._progress.cut + 1
        return Cut(self._assignment.subscription, self._assignment.epoch, number, phase, from_ts, to_ts)

    def _carry(self, cut: Cut, pieces: Sequence[Piece]) -> list[Receipt]:
        """The receipts of a cut's pieces; the first error of any of them, with nothing left behind."""
        try:
            with self._tally.step("job"):
                orders = [Order(p, self._assignment.upstream, self._assignment.sink) for p in pieces]
                receipts = self._jobs.carry(orders)
            failed = [from_fields(receipt.error) for receipt in receipts if receipt.error]
            if failed:
                raise _worst(failed)
        except TailraceError:
            self._sink.abort(cut)
            raise
        return receipts

    def _deliver(self, cut: Cut, receipts: Sequence[Receipt], events: Sequence[DdlEvent], after: Progress) -> None:
        with self._tally.step("begin"):
            self._ledger.begin(cut, after)
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

    def _finish_pending(self, seat: DeliverySeat) -> None:
        """What a predecessor had begun: finished where its naming stands, forgotten where it does not."""
        pending = self._ledger.pending(self._assignment.subscription)
        if pending is None:
            return
        cut, after = pending
        cut = replace(cut, epoch=self._assignment.epoch)
        named = seat.load_naming()
        if named is None:
            self._ledger.abandon(cut)
            return
        self._sink.recover(cut, named[1])
        events: list[DdlEvent] = []
        if cut.phase == "log":
            events = [e for e in self._upstream.ddl(cut.to_ts - 1, cut.to_ts) if self._territory.matches(e)]
        self._conclude(cut, events, after)


def _worst(errors: Sequence[TailraceError]) -> TailraceError:
    """The error that decides what happens next: one that is not worth a second try, else the first."""
    return next((error for error in errors if isinstance(error, Terminal)), errors[0])
