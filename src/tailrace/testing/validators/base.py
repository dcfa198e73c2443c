"""What a validator is: an object that is told what a reader sees, step by step, and says what no reader should see.

    rows(stream, batches)     changes in the order in which they became visible, all of one schema version
    shape(steps, version)     the DDL events, or schema files, of one ts
    resolved(ts)              from now on nothing at or below `ts` may appear any more

Each call returns what it found, so that whoever feeds can stop at the first fault. A validator keeps only what the
next step needs, works on columns, and believes nobody: neither the sink nor the other validators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tailrace.change.batch import ChangeBatch
from tailrace.change.tso import Ts
from tailrace.testing.reader.history import Step

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows that promise an order among themselves: a table, or one of its partitions; `place` is only for people."""

    schema: str
    table: str
    partition: int = 0
    place: str = ""

    @property
    def name(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be. `rule` is the validator's name."""

    rule: str
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.place}: {self.message}"


class Validator:
    """Finds nothing; each rule overrides what it looks at."""

    rule = ""

    def rows(self, stream: Stream, batches: Sequence[ChangeBatch]) -> list[Finding]:
        return []

    def shape(self, steps: Sequence[Step], version: Ts) -> list[Finding]:
        return []

    def resolved(self, ts: Ts) -> list[Finding]:
        return []

    def found(self, stream: Stream, sentences: Iterable[str]) -> list[Finding]:
        """Findings of one call; after the first few only their number, because one fault has many faces."""
        listed = list(sentences)
        more = [f"and {len(listed) - SHOWN} more like these"] if len(listed) > SHOWN else []
        place = f"{stream.name} {stream.place}".strip()
        return [Finding(self.rule, place, sentence) for sentence in [*listed[:SHOWN], *more]]


class Validators(Validator):
    """Several as one."""

    def __init__(self, members: Sequence[Validator]) -> None:
        self.members = tuple(members)

    def rows(self, stream: Stream, batches: Sequence[ChangeBatch]) -> list[Finding]:
        return [finding for each in self.members for finding in each.rows(stream, batches)]

    def shape(self, steps: Sequence[Step], version: Ts) -> list[Finding]:
        return [finding for each in self.members for finding in each.shape(steps, version)]

    def resolved(self, ts: Ts) -> list[Finding]:
        return [finding for each in self.members for finding in each.resolved(ts)]


def commits_of(batches: Sequence[ChangeBatch]) -> npt.NDArray[np.int64]:
    return np.concatenate([batch.commit_ts.to_numpy() for batch in batches])
