"""Sinks: where changes go (DESIGN section 6).

The order of calls is the guarantee. For each cut, on the driver and under the fence of the subscription's epoch:

    open(seat)                      once, when a server takes the subscription over: sweep, replay, fence
    writer(piece) ... close()       on executors, any number of attempts of each piece, several at once
    commit(cut, receipts)           after it returns, the cut's rows are durable and visible exactly once
    ddl(events)                     all events of one commit ts, in order; they are the last thing of their cut
    advance(to_ts)                  metadata, watermarks; only then does the driver save progress

A crash between any two of them is followed by `open`, then by the whole cut anew, or by `recover` where `commit` had
already saved in the ledger what it was about to do. What a sink can do is data (`capabilities`): nobody asks which
sink it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Piece, Receipt


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """How a worker opens the sink again. `config` is the changefeed's TOML text. Equal specs share one object."""

    subscription: str
    uri: str
    config: str = ""
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a sink can do and what it needs of a cut.

    `cut_seconds`: how long a cut should be (0: as soon as there is something). `piece_bytes`: how much decoded data
    one piece should hold. `merged`: a piece holds all ranges of its interval of commit time, because readers drop
    rows that go back in time. `idle_seconds`: how often `advance` wants to be called while nothing happens
    (`math.inf`: never).
    `split_updates`: an update that changes a handle or unique key arrives as a delete and an insert.
    `whole_transactions`: a table's part of one transaction stays in one piece. `joined_partitions`: all partitions of
    a table are one piece's, as if the table had none. `routes`: changes of the log that are in each other's way
    (`route.conflict`) meet on one of at most so many routes, each written by one writer over all tables; 0 for a sink
    to which it does not matter. Receipts of pieces that only fed the routes have no rows and no payload.
    """

    delivery: Literal["exactly_once", "at_least_once"]
    ddl: bool
    cut_seconds: float
    piece_bytes: int
    merged: bool
    idle_seconds: float = 2.0
    split_updates: bool = False
    whole_transactions: bool = False
    joined_partitions: bool = False
    routes: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong with a configuration: the key, and what it may be."""

    key: str
    message: str


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer says of its piece: rows, bytes as written, and the text that `commit` will need (JSON)."""

    rows: int
    bytes: int
    payload: str


class SinkWriter(Protocol):
    def write(self, batch: ChangeBatch) -> None:
        """Batches of the piece in commit order; those of a route hold each table's changes in the order of
        `pipeline.segments`, and how the tables take turns means nothing."""
        ...

    def close(self) -> Written:
        """Everything is with the target, in no name that a reader would look at."""
        ...

    def discard(self) -> None:
        """Remove what this attempt left; called instead of `close` when the piece failed."""
        ...


class Seat(Protocol):
    """The driver's seat, which a sink is handed by `open`: the ledger's side of a commit, under the fence.

    `save_naming` raises Fenced, and saves nothing, when a newer epoch exists.
    """

    @property
    def epoch(self) -> int: ...

    def check(self) -> None:
        """Raises Fenced when this owner is no longer the owner."""
        ...

    def save_naming(self, cut: Cut, naming: str) -> None: ...

    def load_naming(self) -> tuple[Cut, str] | None:
        """The naming of the cut that was under way, if it had been saved and its progress had not."""
        ...

    def last_cut(self) -> int:
        """The number of the last cut whose progress is saved; 0 when there is none."""
        ...

    def table_schema(self, table_id: int, version: Ts) -> TableSchema: ...


class Sink(Protocol):
    @property
    def capabilities(self) -> Capabilities: ...

    def verify(self) -> list[Problem]: ...

    def open(self, seat: Seat) -> None: ...

    def writer(self, piece: Piece) -> SinkWriter: ...

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None: ...

    def recover(self, cut: Cut, naming: str) -> None:
        """Finish a commit whose naming was saved; harmless when it had finished."""
        ...

    def ddl(self, events: Sequence[DdlEvent]) -> None: ...

    def advance(self, to_ts: Ts) -> None: ...

    def abort(self, cut: Cut) -> None: ...

    def close(self) -> None: ...
