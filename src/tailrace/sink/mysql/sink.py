"""The database sink: changes become the rows of tables, exactly once.

How it is exactly-once: pieces stage their changes; `commit` saves in the ledger which staged files the cut is
(the naming), then applies them in one transaction of the target, together with a mark that says which cut it was. A
crash before the naming leaves nothing that counts; after it, whoever owns the subscription applies those very files,
unless the mark says that it was done. The DDLs of a cut are one more transaction with a mark of their own.

A reader of the target therefore sees whole cuts, and a cut is transaction-consistent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import SinkRefused
from tailrace.observe.failpoints import reach
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, SinkSpec
from tailrace.sink.mysql.coalesce import portions
from tailrace.sink.mysql.settings import load_settings
from tailrace.sink.mysql.staging import Staged, StageWriter, cut_folder, from_json, staged_of, to_json

# A row may leave one partition and come into another within a cut, so all partitions of a table are one stream.
_CAPABILITIES = Capabilities(
    delivery="exactly_once",
    ddl=True,
    cut_seconds=0.0,
    piece_bytes=16 << 20,
    merged=True,
    idle_seconds=5.0,
    joined_partitions=True,
)


class MysqlSink:
    """`sqlite:///FILE`."""

    def __init__(self, spec: SinkSpec) -> None:
        settings = load_settings(spec)
        self._subscription = spec.subscription
        self._target = settings.target()
        self._stage = settings.stage
        self._seat: Seat | None = None

    @property
    def capabilities(self) -> Capabilities:
        return _CAPABILITIES

    def verify(self) -> list[Problem]:
        return self._target.verify()

    def open(self, seat: Seat) -> None:
        seat.check()
        done = self._target.claim(seat.epoch)
        saved = seat.load_naming()
        if done.cut > seat.last_cut() + (saved is not None):
            raise SinkRefused(
                f"{self._target.place} holds cut {done.cut} of this subscription, but its progress is at cut "
                f"{seat.last_cut()}: use the progress that belongs to it, or an empty target",
                subscription=self._subscription,
            )
        self._stage.sweep(list(from_json(saved[1])) if saved else ())
        self._seat = seat

    def writer(self, piece: Piece) -> StageWriter:
        return self._stage.writer(piece)

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        seat = self._seated()
        seat.check()
        staged = staged_of(receipts)
        if staged:
            reach("before-naming")
            seat.save_naming(cut, to_json(staged))
            reach("after-naming")
            self._apply(cut, staged)
        self._stage.drop(cut_folder(cut.epoch, cut.number))

    def recover(self, cut: Cut, naming: str) -> None:
        staged = list(from_json(naming))
        self._apply(cut, staged)
        for folder in {each.path.partition("/")[0] for each in staged}:
            self._stage.drop(folder)

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        seat = self._seated()
        at = events[-1].commit_ts
        with self._target.transaction(seat.epoch) as done:
            if done.ddl_ts < at:
                self._target.ddl(events)
                self._target.mark(replace(done, ddl_ts=at))

    def advance(self, to_ts: Ts) -> None:
        """The target's tables say by themselves how far they are."""

    def abort(self, cut: Cut) -> None:
        saved = self._seated().load_naming()
        if saved is None or saved[0].number != cut.number:
            self._stage.drop(cut_folder(cut.epoch, cut.number))

    def close(self) -> None:
        self._target.close()
        self._seat = None

    def _apply(self, cut: Cut, staged: Sequence[Staged]) -> None:
        seat = self._seated()
        with self._target.transaction(seat.epoch) as done:
            if done.cut >= cut.number:
                return
            in_order = sorted(staged, key=lambda each: each.table_id)
            for (table_id, version), files in groupby(in_order, lambda each: (each.table_id, each.version)):
                table = seat.table_schema(table_id, version)
                for batches in portions(batch for each in files for batch in self._stage.read(each)):
                    self._target.apply(table, batches)
            self._target.mark(replace(done, cut=cut.number))
        reach("between-files")

    def _seated(self) -> Seat:
        if self._seat is None:
            raise SinkRefused("the sink has no seat; open it on the driver first", subscription=self._subscription)
        return self._seat
