"""Assignments: what a server tells its pipeline to carry, and how the pipeline answers.

An assignment is all that a delivery needs to begin: who reads what, into which sink, under which epoch. Values and a
seam only; whoever implements `Listener` must return soon, because it is called from the delivery's own thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import TailraceError
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec

State = Literal["snapshot", "normal", "warning", "failed", "finished"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`start` is `snapshot`, `now` or a timestamp in digits; it counts only while nothing was delivered yet."""

    subscription: str
    epoch: int
    upstream: UpstreamSpec
    sink: SinkSpec
    rules: tuple[str, ...] = ("*.*",)
    case_sensitive: bool = False
    start: str = "snapshot"
    end_ts: Ts = MAX_TS


@dataclass(frozen=True, slots=True)
class Report:
    """How far a delivery is: totals since it was taken over, the snapshot's ranges, and the lag of its log.

    `to_ts` is what is durable in the sink, `resolved_ts` what the upstream could give; `lag_seconds` lies between
    the newest moment that the upstream's clock has shown and `to_ts`.
    """

    rows: int = 0
    bytes: int = 0
    cuts: int = 0
    rows_per_second: float = 0.0
    ranges: int = 0
    snapshot_ranges_left: int = 0
    snapshot_rows: int = 0
    snapshot_rows_total: int = 0
    to_ts: Ts = 0
    resolved_ts: Ts = 0
    lag_seconds: float = 0.0


class Listener(Protocol):
    def on_state(self, subscription: str, state: State, error: TailraceError | None) -> None: ...

    def on_report(self, subscription: str, report: Report) -> None: ...


class Carrier(Protocol):
    """What carries assignments (`conductor.Conductor`)."""

    def start(self) -> None: ...

    @property
    def ready(self) -> bool:
        """Whether what is added is carried at once; until then another server is the better one to claim it."""
        ...

    def add(self, assignment: Assignment) -> None: ...

    def remove(self, subscription: str, *, release: bool) -> None:
        """Stop carrying; with `release` also let go of the history that the subscription had pinned."""
        ...

    def stop(self) -> None: ...
