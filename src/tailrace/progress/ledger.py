"""The ledger: the only code that moves progress.

**The rule.** Progress of a subscription moves only by `finish`, to exactly what `begin` planned for that cut, and only
while the writer's epoch is the newest; between two cuts, time without changes passes by `pass_time`. A naming stands
from `save_naming` until `finish` of its cut.

**The proof.** (1) Every write here is one transaction whose first statement is `pass_fence`: a write to the
subscription's row that matches only the writer's epoch. (2) A claim (`server.claims`) is one write to the same row,
which raises the epoch; epochs never fall. (3) The database lets two transactions that write one row go only one after
the other, and the second sees the row as the first left it. So for a write W of epoch e and the claim C of e+1 there
are two cases. W ends before C: the new owner, who reads after C, reads all of W. Or C ends before W's first statement
is done: that statement matches no row, W raises Fenced and none of it stays. There is no third case, so after a claim
nothing of an older epoch is ever written, and nobody reads half a step. (4) Steps of one epoch are in step with what is
saved (`OutOfStep`): a plan is made for a cut above the last finished one; a naming belongs to the planned cut and is
never replaced by another; `finish` takes the planned progress and no other. So a crash between any two calls leaves
one of: no plan (plan anew), a plan without naming (`abandon`, plan anew), a plan with naming (replay it, then
`finish`). Each says by itself what to do next. (5) `pass_time` moves no range and no cut: it raises `to_ts` over a time
in which there was nothing to deliver, only between two cuts, and of each subscription only under its newest epoch.

A call that ended in MetaAway may have been saved or not; the same call again is harmless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import OutOfStep
from tailrace.progress.cut import Cut
from tailrace.progress.database import MetaDatabase
from tailrace.progress.fence import check_epoch, pass_fence, pass_fences
from tailrace.progress.plan import Difference, applied, difference, in_order
from tailrace.progress.position import Progress
from tailrace.progress.rows import Begun, Rows, move_time


@dataclass(slots=True)
class _Known:
    """What a subscription's rows are after so many writes: saves reading a thousand rows to change one."""

    writes: int = -1
    progress: Progress | None = None

    def current(self, rows: Rows) -> Progress | None:
        self.progress = self.progress or rows.progress()
        return self.progress


class Ledger:
    """The ledgers of all subscriptions of one cluster. Safe to share between threads."""

    def __init__(self, meta: MetaDatabase, cluster_id: int = 1) -> None:
        self._meta = meta
        self._cluster_id = cluster_id
        self._known: dict[str, _Known] = {}

    def seat(self, subscription: str, epoch: int) -> LedgerSeat:
        return LedgerSeat(self, subscription, epoch)

    def load(self, subscription: str) -> Progress | None:
        """Where a subscription stands, its ranges by table, partition and key; None before `hold` saved any."""
        with self._reading(subscription) as rows:
            return rows.progress()

    def last_cut(self, subscription: str) -> int:
        """The number of the last finished cut; 0 when there is none."""
        with self._reading(subscription) as rows:
            return rows.last_cut()

    def pending(self, subscription: str) -> tuple[Cut, Progress] | None:
        """The cut that was begun and not finished, and what progress will be after it."""
        with self._reading(subscription) as rows:
            begun, base = rows.begun(), rows.progress()
        return (begun.cut, applied(base, Difference.from_json(begun.plan))) if begun and base else None

    def hold(self, subscription: str, epoch: int, progress: Progress) -> None:
        """Save ranges as they are registered, before any cut or between two: the cut's number stays what it is."""
        with self._writing(subscription, epoch) as (rows, known):
            base = known.current(rows)
            cut = base.cut if base else 0
            if rows.begun():
                raise OutOfStep(
                    "ranges cannot be held while a cut is begun: finish it first", subscription=subscription
                )
            if (progress.subscription, progress.cut) != (subscription, cut):
                got = f"cut {progress.cut} of {progress.subscription}"
                raise OutOfStep(
                    f"ranges are held at the last finished cut, {cut}, not {got}", subscription=subscription
                )
            rows.move(difference(base or Progress(subscription), progress), base)
            known.progress = in_order(progress)

    def begin(self, cut: Cut, after: Progress) -> None:
        """Save the plan: the next cut, and what progress will be when it is finished. Before the sink commits."""
        with self._writing(cut.subscription, cut.epoch) as (rows, known):
            base = known.current(rows)
            if base is None:
                raise _out_of_step(cut, "no ranges are held yet")
            if cut.number <= base.cut or (after.subscription, after.cut) != (cut.subscription, cut.number):
                raise _out_of_step(cut, f"cut {base.cut} is finished, and the plan is for cut {after.cut}")
            begun = rows.begun()
            if begun and begun.naming is not None:
                raise _out_of_step(cut, f"cut {begun.cut.number} has its naming: replay and finish it first")
            rows.forget()
            rows.begin(cut, difference(base, after).to_json())

    def save_naming(self, cut: Cut, epoch: int, naming: str) -> None:
        """Save under which names the cut will stand; from here on it is replayed, and never planned anew."""
        with self._writing(cut.subscription, epoch) as (rows, _):
            begun = _begun(rows, cut)
            if begun.naming not in (None, naming):
                raise _out_of_step(cut, "it has another naming, which must be replayed as it is")
            rows.name(naming)

    def finish(self, cut: Cut, after: Progress) -> None:
        """Progress is `after`: exactly what was planned for this cut. Its plan and its naming are gone."""
        with self._writing(cut.subscription, cut.epoch) as (rows, known):
            base = known.current(rows)
            if base is None:
                raise _out_of_step(cut, "no ranges are held yet")
            # The same call again, after an answer that was lost, finds everything done.
            if base != in_order(after) or rows.begun():
                step = difference(base, after)
                if step.to_json() != _begun(rows, cut).plan:
                    raise _out_of_step(cut, "its progress is not the planned one")
                rows.move(step, base)
                rows.forget()
            known.progress = in_order(after)

    def pass_time(self, standing: Sequence[tuple[int, Progress]]) -> dict[str, Ts]:
        """Time went by without changes up to each progress's `to_ts`, as the owner of an epoch says; of any number of
        subscriptions, in one transaction. One that has a newer owner, a cut begun or another cut finished stays as it
        is, without an error. Returns where each stands now."""
        if not standing:
            return {}
        with self._meta.writing() as connection:
            pass_fences(connection, self._cluster_id, {each.subscription: epoch for epoch, each in standing})
            return move_time(connection, self._cluster_id, standing)

    def abandon(self, cut: Cut) -> None:
        """Forget a begun cut that has no naming; nothing when there is none."""
        with self._writing(cut.subscription, cut.epoch) as (rows, _):
            begun = rows.begun()
            if begun and begun.naming is not None:
                raise _out_of_step(cut, f"cut {begun.cut.number} has its naming: replay and finish it")
            rows.forget()

    def name_tables(self, subscription: str, epoch: int, tables: Sequence[TableSchema]) -> None:
        """Say which tables the subscription carries now: after a DDL that made, renamed or dropped some."""
        with self._writing(subscription, epoch) as (rows, _):
            rows.name_tables(tables)

    def clear(self, subscription: str, epoch: int) -> None:
        """Remove all progress of a subscription that was cancelled."""
        with self._writing(subscription, epoch) as (rows, known):
            rows.clear()
            known.progress = None

    def check(self, subscription: str, epoch: int) -> None:
        """Raises Fenced when `epoch` is over; for stopping early, since every writing checks it anyway."""
        with self._meta.reading() as connection:
            check_epoch(connection, self._cluster_id, subscription, epoch)

    def named(self, subscription: str) -> tuple[Cut, str] | None:
        """The cut under way and its naming, when that is saved."""
        with self._reading(subscription) as rows:
            begun = rows.begun()
        return (begun.cut, begun.naming) if begun and begun.naming is not None else None

    @contextmanager
    def _reading(self, subscription: str) -> Iterator[Rows]:
        with self._meta.reading() as connection:
            yield Rows(connection, self._cluster_id, subscription)

    @contextmanager
    def _writing(self, subscription: str, epoch: int) -> Iterator[tuple[Rows, _Known]]:
        """Rows behind the fence, and what is known of them; that is kept only when the transaction is."""
        known = self._known.get(subscription, _Known())
        with self._meta.writing() as connection:
            writes = pass_fence(connection, self._cluster_id, subscription, epoch)
            known = _Known(writes, known.progress if known.writes == writes - 1 else None)
            yield Rows(connection, self._cluster_id, subscription), known
        self._known[subscription] = known


class LedgerSeat:
    """One owner's side of the ledger, as `sink.base.Seat` asks for it but for `table_schema`."""

    def __init__(self, ledger: Ledger, subscription: str, epoch: int) -> None:
        self._ledger = ledger
        self._subscription = subscription
        self._epoch = epoch

    @property
    def epoch(self) -> int:
        return self._epoch

    def check(self) -> None:
        self._ledger.check(self._subscription, self._epoch)

    def save_naming(self, cut: Cut, naming: str) -> None:
        self._ledger.save_naming(cut, self._epoch, naming)

    def load_naming(self) -> tuple[Cut, str] | None:
        return self._ledger.named(self._subscription)

    def last_cut(self) -> int:
        return self._ledger.last_cut(self._subscription)


def _begun(rows: Rows, cut: Cut) -> Begun:
    begun = rows.begun()
    if begun is None or begun.cut.number != cut.number:
        raise _out_of_step(cut, "it was not begun" if begun is None else f"cut {begun.cut.number} is the one begun")
    return begun


def _out_of_step(cut: Cut, why: str) -> OutOfStep:
    return OutOfStep(f"cut {cut.number} is out of step: {why}", subscription=cut.subscription)
