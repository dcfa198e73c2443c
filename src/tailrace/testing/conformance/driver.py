"""What a suite of sinks is made of: the target that an author supplies, a ledger in memory, and a driver.

The driver calls a sink exactly as `sink.base` says, and can be killed between any two calls: `Crash` is no
`Exception`, so no sink can catch it by accident, and whoever comes after it finds only the ledger and the target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts, compose
from tailrace.errors import Fenced, NotFound
from tailrace.progress.cut import Cut, Piece, Receipt, Span
from tailrace.sink.base import Seat, Sink
from tailrace.testing.conformance.items import SCHEMA, items_table

SUBSCRIPTION = "conformance"
START: Ts = compose(1_750_000_000_000)


class Target(Protocol):
    """What the suite writes into. Each test gets a new, empty one."""

    def sink(self) -> Sink:
        """A new sink of the subscription `SUBSCRIPTION`, as a new process would make it."""
        ...

    def visible(self) -> Mapping[str, Mapping[int, str | None]]:
        """The tables that a reader of the target sees now, by name: key -> note."""
        ...

    def rows_seen(self) -> int | None:
        """How many changes a reader sees in all, each as often as it is there; None where that cannot be counted."""
        ...


class Crash(BaseException):
    """The process is gone."""


@dataclass(slots=True)
class Book:
    """The ledger of one subscription, which outlives every driver. `crash_at_naming` kills the driver that saves."""

    epoch: int = 0
    cut: int = 0
    ts: Ts = START
    naming: tuple[Cut, str] | None = None
    schemas: dict[tuple[int, Ts], TableSchema] = field(default_factory=dict)
    crash_at_naming: bool = False


@dataclass(frozen=True, slots=True)
class BookSeat:
    """A driver's seat at a book; that it fits `Seat` is checked where it is handed to a sink."""

    book: Book
    epoch: int

    def check(self) -> None:
        if self.book.epoch != self.epoch:
            raise Fenced(f"epoch {self.epoch} is over, {self.book.epoch} has begun", subscription=SUBSCRIPTION)

    def save_naming(self, cut: Cut, naming: str) -> None:
        self.check()
        self.book.naming = (cut, naming)
        if self.book.crash_at_naming:
            self.book.crash_at_naming = False
            raise Crash

    def load_naming(self) -> tuple[Cut, str] | None:
        return self.book.naming

    def last_cut(self) -> int:
        return self.book.cut

    def table_schema(self, table_id: int, version: Ts) -> TableSchema:
        known = self.book.schemas.get((table_id, version))
        if known is None:
            raise NotFound(f"table {table_id} has no schema of version {version}")
        return known


class Driver:
    """Takes the subscription over: a new epoch, a new sink, and whatever a predecessor had begun is finished."""

    def __init__(self, target: Target, book: Book) -> None:
        book.epoch += 1
        self.book = book
        self.seat: Seat = BookSeat(book, book.epoch)
        self.sink = target.sink()
        self.sink.open(self.seat)
        if book.naming is not None:
            cut, naming = book.naming
            self.sink.recover(cut, naming)
            self.conclude(cut)

    def table(self, name: str, table_id: int = 7) -> TableSchema:
        """Create a table by a cut of its own, with its database where there is none."""
        if not self.book.schemas:
            self.deliver({}, [self._event(DdlType.CREATE_SCHEMA, f"CREATE DATABASE `{SCHEMA}`", None)])
        query = f"CREATE TABLE `{SCHEMA}`.`{name}` (`id` BIGINT PRIMARY KEY,`note` VARCHAR(64))"
        return self.alter(items_table(name, table_id), DdlType.CREATE_TABLE, query)

    def alter(self, table: TableSchema, type: DdlType, query: str, before: TableSchema | None = None) -> TableSchema:
        """A DDL by a cut of its own; the table as it is after it."""
        made = table.at_version(self.book.ts + 10)
        self.book.schemas[made.table_id, made.version] = made
        self.deliver({}, [self._event(type, query, made, before)])
        return made

    def deliver(self, batches: Mapping[int, Sequence[ChangeBatch]], events: Sequence[DdlEvent] = ()) -> None:
        """One whole cut: a piece for each entry, then the events."""
        cut = self.cut(events[0].commit_ts if events else self.book.ts + 10)
        receipts = [self.write(cut, number, each) for number, each in batches.items()]
        self.sink.commit(cut, receipts)
        self.conclude(cut, events)

    def cut(self, to_ts: Ts) -> Cut:
        return Cut(SUBSCRIPTION, self.seat.epoch, self.book.cut + 1, "log", self.book.ts, to_ts)

    def piece(self, cut: Cut, number: int, table: TableSchema) -> Piece:
        span = Span(Range(table.table_id, table.table_id, 0, b"", b"", Epoch(), "leader"))
        return Piece(
            subscription=cut.subscription,
            epoch=cut.epoch,
            cut=cut.number,
            number=number,
            phase="log",
            table_id=table.table_id,
            partition_id=0,
            spans=(span,),
            from_ts=cut.from_ts,
            to_ts=cut.to_ts,
        )

    def write(self, cut: Cut, number: int, batches: Sequence[ChangeBatch]) -> Receipt:
        """One attempt of a piece, as an executor carries it."""
        writer = self.sink.writer(self.piece(cut, number, batches[0].table))
        for batch in batches:
            writer.write(batch)
        written = writer.close()
        return Receipt(number, written.rows, written.bytes, written.payload)

    def conclude(self, cut: Cut, events: Sequence[DdlEvent] = ()) -> None:
        """What follows a commit: DDL, `advance`, and progress last."""
        if events:
            self.sink.ddl(events)
        self.sink.advance(cut.to_ts)
        self.book.cut, self.book.ts, self.book.naming = cut.number, cut.to_ts, None

    def _event(
        self, type: DdlType, query: str, table: TableSchema | None, before: TableSchema | None = None
    ) -> DdlEvent:
        ts = self.book.ts + 10
        return DdlEvent(ts, ts - 1, 0, type, query, SCHEMA, table.name if table else "", table, before)
