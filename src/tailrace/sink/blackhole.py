"""The blackhole: a sink that takes everything, keeps counts, and writes nothing.

For measuring what comes before a sink, and for trying a subscription out. It is a full sink: order, receipts and
commits are as with any other, so `committed` holds after each cut what a real sink would have made visible.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, SinkSpec, Written

_CAPABILITIES = Capabilities(
    delivery="exactly_once", ddl=True, cut_seconds=0.0, piece_bytes=64 << 20, merged=False, idle_seconds=math.inf
)

MOST_ROUTES = 64


@dataclass(slots=True)
class Committed:
    """What was made durable so far in the life of one sink object."""

    rows: int = 0
    bytes: int = 0
    cuts: int = 0
    commit_ts: Ts = 0
    advanced: Ts = 0
    ddl: int = 0


class BlackholeSink:
    """`blackhole://`, with any host and parameters, which mean nothing to it; but with `routes=N` it asks for its
    changes as a database does, so that what conflicts meets on one of N routes."""

    def __init__(self, spec: SinkSpec) -> None:
        self._spec = spec
        self._routes = _routes(spec.uri)
        self._seat: Seat | None = None
        self._lock = threading.Lock()
        self.committed = Committed()

    @property
    def capabilities(self) -> Capabilities:
        return replace(_CAPABILITIES, routes=self._routes, split_updates=self._routes > 0)

    def verify(self) -> list[Problem]:
        said = _parameter(self._spec.uri)
        wrong = [Problem("routes", f"routes is a number from 1 to {MOST_ROUTES}, not {said!r}")]
        return wrong if said and not self._routes else []

    def open(self, seat: Seat) -> None:
        seat.check()
        self._seat = seat

    def writer(self, piece: Piece) -> BlackholeWriter:
        return BlackholeWriter()

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        if self._seat is not None:
            self._seat.check()
        paid = {each.piece: each.payload for each in receipts if each.payload}
        counts = [json.loads(payload) for payload in paid.values()]
        with self._lock:
            self.committed.cuts += 1
            self.committed.rows += sum(int(each["rows"]) for each in counts)
            self.committed.bytes += sum(int(each["bytes"]) for each in counts)
            largest = max((int(each["commit_ts"]) for each in counts), default=0)
            self.committed.commit_ts = max(self.committed.commit_ts, largest)

    def recover(self, cut: Cut, naming: str) -> None:
        """Nothing is ever saved before a commit, so there is nothing to finish."""

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        with self._lock:
            self.committed.ddl += len(events)

    def advance(self, to_ts: Ts) -> None:
        with self._lock:
            self.committed.advanced = max(self.committed.advanced, to_ts)

    def abort(self, cut: Cut) -> None:
        """Nothing was written."""

    def close(self) -> None:
        self._seat = None


def _parameter(uri: str) -> str:
    return parse_qs(urlsplit(uri).query).get("routes", [""])[-1]


def _routes(uri: str) -> int:
    said = _parameter(uri)
    return int(said) if said.isdigit() and 0 < int(said) <= MOST_ROUTES else 0


class BlackholeWriter:
    """Counts the rows and the bytes of a piece as they are in memory."""

    def __init__(self) -> None:
        self._rows = 0
        self._bytes = 0
        self._commit_ts: Ts = 0

    def write(self, batch: ChangeBatch) -> None:
        if batch.num_rows:
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            self._commit_ts = max(self._commit_ts, int(batch.commit_ts[-1].as_py()))

    def close(self) -> Written:
        counts = {"rows": self._rows, "bytes": self._bytes, "commit_ts": self._commit_ts}
        return Written(self._rows, self._bytes, json.dumps(counts))

    def discard(self) -> None:
        self._rows = self._bytes = self._commit_ts = 0
