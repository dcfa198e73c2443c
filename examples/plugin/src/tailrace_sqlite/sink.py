"""`sqlite+changes://FILE`: every change is a row of the table `changes`: cut, table, ts, kind, and both images as JSON.

Exactly once, because of two things. A worker only stages: what it wrote is under a name of its own, and nobody looks
there. The commit saves those names in the ledger first, under the fence, and then moves what they name into `changes`
in one transaction that also says which cut it was; a cut that is said already is left alone. So a commit that broke
off is finished from the ledger, by whoever owns the subscription then, and one that was finished changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import SinkAway
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, SinkSpec, Written

BUSY_S = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS staged (attempt TEXT, "table" TEXT, ts INTEGER, op INTEGER, before TEXT, after TEXT);
CREATE TABLE IF NOT EXISTS changes (cut INTEGER, "table" TEXT, ts INTEGER, op INTEGER, before TEXT, after TEXT);
CREATE TABLE IF NOT EXISTS cuts (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS statements (ts INTEGER, seq INTEGER, query TEXT, PRIMARY KEY (ts, seq));
"""


class SqliteSink:
    """Opened on the driver and by each worker; nothing but the file is shared."""

    def __init__(self, spec: SinkSpec) -> None:
        self._path = spec.uri.partition("://")[2].partition("?")[0]
        self._seat: Seat | None = None

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("exactly_once", ddl=True, cut_seconds=1.0, piece_bytes=8 << 20, merged=True)

    def verify(self) -> list[Problem]:
        try:
            with self.transaction():
                return []
        except SinkAway as error:
            return [Problem("sink", str(error))]

    def open(self, seat: Seat) -> None:
        """Sweep what others have staged, but for what a saved naming still names."""
        seat.check()
        saved = seat.load_naming()
        named = json.loads(saved[1]) if saved else []
        with self.transaction() as database:
            marks = ",".join("?" * len(named))
            database.execute(f"DELETE FROM staged WHERE attempt NOT IN ({marks})", named)
        self._seat = seat

    def writer(self, piece: Piece) -> SqliteWriter:
        return SqliteWriter(self, piece)

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        assert self._seat is not None, "a sink commits only after it was opened"
        # A piece that two attempts finished counts once.
        attempts = {receipt.piece: receipt.payload for receipt in reversed(receipts)}
        naming = json.dumps([attempts[piece] for piece in sorted(attempts)])
        self._seat.save_naming(cut, naming)
        self.recover(cut, naming)

    def recover(self, cut: Cut, naming: str) -> None:
        with self.transaction() as database:
            new = database.execute("INSERT OR IGNORE INTO cuts VALUES (?)", (cut.number,)).rowcount
            for attempt in json.loads(naming) if new else ():
                database.execute(
                    "INSERT INTO changes SELECT ?, * FROM "
                    '(SELECT "table", ts, op, before, after FROM staged WHERE attempt = ? ORDER BY rowid)',
                    (cut.number, attempt),
                )
                database.execute("DELETE FROM staged WHERE attempt = ?", (attempt,))

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        with self.transaction() as database:
            database.executemany(
                "INSERT OR IGNORE INTO statements VALUES (?, ?, ?)",
                [(event.commit_ts, event.seq, event.query) for event in events],
            )

    def advance(self, to_ts: Ts) -> None:
        """Readers of the table do not ask for the time."""

    def abort(self, cut: Cut) -> None:
        """What is staged counts only when a naming says so."""

    def close(self) -> None:
        self._seat = None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are there together, or not at all."""
        try:
            with closing(sqlite3.connect(self._path, timeout=BUSY_S)) as database:
                database.executescript(_TABLES)
                with database:
                    yield database
        except sqlite3.Error as error:
            raise SinkAway(f"{self._path} does not take what it is given: {error}") from error


class SqliteWriter:
    """Stages one attempt of a piece."""

    def __init__(self, sink: SqliteSink, piece: Piece) -> None:
        self._sink = sink
        self._attempt = f"{piece.name}/{uuid.uuid4().hex}"
        self._rows = 0

    def write(self, batch: ChangeBatch) -> None:
        images = (
            [json.dumps(row) if row else None for row in side.to_pylist()] for side in (batch.before, batch.after)
        )
        whole = zip(batch.commit_ts.to_pylist(), batch.op.to_pylist(), *images, strict=True)
        with self._sink.transaction() as database:
            database.executemany(
                "INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?)",
                [(self._attempt, batch.table.full_name, *values) for values in whole],
            )
        self._rows += batch.num_rows

    def close(self) -> Written:
        return Written(self._rows, 0, self._attempt)

    def discard(self) -> None:
        with self._sink.transaction() as database:
            database.execute("DELETE FROM staged WHERE attempt = ?", (self._attempt,))
