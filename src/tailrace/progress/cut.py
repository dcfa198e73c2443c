"""Cuts and pieces: the unit of progress, and the unit of work.

A *cut* of a subscription is either the changes with `from_ts < commit_ts <= to_ts` of all its ranges, or a page of
keys of ranges that are still in their snapshot. A *piece* is a part of a cut that one task carries into the sink: a
plan of a few hundred bytes, never data. Values only; what may move progress is in `ledger`.

Invariant: the pieces of a cut are disjoint and together they are the cut; a cut never crosses a DDL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.progress.interval import Intervals

Phase = Literal["snapshot", "log"]


@dataclass(frozen=True, slots=True)
class Span:
    """A piece's part of one range.

    In the log: changes from log index `from_index` on, where `within` is not empty only of those keys, and only above
    what these have. In the snapshot: keys above `after_key`, or from `from_key` on, below `end_key` (empty: the range's
    own bounds).
    """

    range: Range
    from_index: int = 0
    after_key: bytes = b""
    end_key: bytes = b""
    from_key: bytes = b""
    within: Intervals = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """Some ranges of one table, from these positions to those, into this subscription's sink.

    In the log `rows` and `bytes` are what the upstream announced. In the snapshot `limit_rows` and `bytes` are where
    the piece stops, at the end of a page.

    Where `routes` is not 0, the changes of the cut meet before they are written. A piece with spans then only feeds
    the routes; a piece without spans is the part of one `route`, over all tables, and it is the one that is written.
    `whole` says of a feed that no other piece of the cut has changes of its table.
    """

    subscription: str
    epoch: int
    cut: int
    number: int
    phase: Phase
    table_id: int
    partition_id: int
    spans: tuple[Span, ...]
    from_ts: Ts
    to_ts: Ts
    rows: int = 0
    bytes: int = 0
    limit_rows: int = 0
    route: int = 0
    routes: int = 0
    whole: bool = False

    @property
    def feeds(self) -> bool:
        """Whether its changes go to the routes of its cut, and not into the sink."""
        return self.routes > 0 and bool(self.spans)

    @property
    def version(self) -> Ts:
        """In the snapshot: the version at which the keys are read, which is also their rows' commit ts."""
        return self.to_ts

    @property
    def name(self) -> str:
        return f"{self.subscription}/{self.epoch}/{self.cut}/{self.number}"


@dataclass(frozen=True, slots=True)
class Cut:
    """What is delivered and then recorded as a whole."""

    subscription: str
    epoch: int
    number: int
    phase: Phase
    from_ts: Ts
    to_ts: Ts


@dataclass(frozen=True, slots=True)
class Reached:
    """How far a snapshot piece came in one range; `end` says that nothing is left of its span."""

    range_id: int
    last_key: bytes
    end: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a task reports of one piece. `payload` is the sink's own text (JSON); `error` is `errors.to_fields`."""

    piece: int
    rows: int = 0
    bytes: int = 0
    payload: str = ""
    reached: tuple[Reached, ...] = ()
    error: dict[str, Any] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
