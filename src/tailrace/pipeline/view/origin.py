"""Origins: what a view reads from, be it a folder or a data server.

An origin is looked at on the driver; a `Sight` is what one look saw, and everything that one plan asks is answered by
one sight, so the parts of a plan fit together. A `Portion` is what one task reads; it is picklable and needs nothing
but itself, and reading it again gives the same changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlType
from tailrace.change.schema import TableSchema
from tailrace.change.tso import MAX_TS, Ts

# What these statements do to rows, no change tells of.
REWRITES = frozenset(
    {
        *(DdlType.DROP_TABLE, DdlType.TRUNCATE_TABLE, DdlType.RENAME_TABLE, DdlType.DROP_PARTITION),
        *(DdlType.TRUNCATE_PARTITION, DdlType.EXCHANGE_PARTITION),
    }
)


@dataclass(frozen=True, slots=True)
class Span:
    """The changes with `after < commit_ts <= upto`. Where `after` is 0 a data server, which keeps no changes from the
    beginning on, gives the table's rows as of `upto` instead."""

    after: Ts = 0
    upto: Ts = MAX_TS

    @property
    def is_empty(self) -> bool:
        return self.upto <= self.after

    def within(self, other: Span) -> Span:
        """What both hold."""
        return Span(max(self.after, other.after), min(self.upto, other.upto))


@dataclass(frozen=True, slots=True)
class Version:
    """The table from `ts` on. `query` is the statement that made it so; `rewrites`: it did something to rows that no
    change tells of, as a truncate does."""

    ts: Ts
    table: TableSchema
    query: str = ""
    rewrites: bool = False


@dataclass(frozen=True, slots=True)
class Traits:
    """What the changes of an origin carry: where not, the column is NULL."""

    commit_ts: bool = True
    start_ts: bool = True
    snapshot: bool = True


@dataclass(frozen=True, slots=True)
class Limits:
    """What one batch of a stream may take, at the most; 0 is no limit."""

    files: int = 0
    bytes: int = 0


class Portion(Protocol):
    """What one task reads."""

    @property
    def tables(self) -> tuple[TableSchema, ...]:
        """Every version of the table that its changes may be of."""
        ...

    @property
    def snapshot(self) -> bool: ...

    def read(self, wanted: frozenset[str]) -> Iterator[ChangeBatch]:
        """The changes; the values of columns that are not wanted may be absent."""
        ...


class Sight(Protocol):
    @property
    def resolved(self) -> Ts:
        """Every change up to this ts is there, and none will come any more."""
        ...

    @property
    def versions(self) -> tuple[Version, ...]:
        """The table's history up to `resolved`, the earliest first; never empty."""
        ...

    @property
    def traits(self) -> Traits: ...

    def check_kept(self, after: Ts) -> None:
        """Raises PositionLost where changes after this ts are no longer, or never were, there."""
        ...

    def portions(self, span: Span, needed: Span) -> Sequence[Portion]:
        """What holds the changes of the span; those that are not also in `needed` may be left out."""
        ...

    def edge(self, span: Span, limits: Limits) -> Ts:
        """The end of a batch that begins at `span.after`: at most `span.upto`, and within the limits unless a single
        transaction or file is beyond them; `span.after` where there is nothing to be had."""
        ...


class Origin(Protocol):
    def look(self) -> Sight:
        """Raises NotFound where there is no such table."""
        ...

    def release(self, upto: Ts) -> None:
        """A stream has no more use of what lies up to here."""
        ...

    def close(self) -> None: ...
