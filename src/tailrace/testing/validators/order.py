"""Order: what readers of files and of queues rely on, each as a rule of its own.

`order per key`: the changes of one key come in commit order, and at one commit ts a key changes once (or is deleted
and made anew). `no row back in time`: the rows of one stream come in commit order, because TiCDC's readers drop those
that do not. `resolved holds`: nothing appears at or below a ts that was said to be complete, and that ts never falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, ChangeBatch
from tailrace.change.tso import Ts
from tailrace.testing.reader.history import Step
from tailrace.testing.validators.base import Finding, Stream, Validator, commits_of
from tailrace.testing.validators.prints import Prints, row_prints


@dataclass(slots=True)
class _LastOfKeys:
    """The last change of each key: sorted prints of keys, commit ts, and whether it was a delete."""

    keys: Prints = field(default_factory=lambda: np.zeros(0, np.uint64))
    commits: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    deleted: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))


class OrderPerKey(Validator):
    """A table without a key has no order to hold."""

    rule = "order per key"

    def __init__(self) -> None:
        self._last: dict[str, _LastOfKeys] = {}

    def rows(self, stream: Stream, batches: Sequence[ChangeBatch]) -> list[Finding]:
        key = batches[0].table.handle_key
        if not key:
            return []
        last = self._last.get(stream.name, _LastOfKeys())
        keys = np.concatenate([last.keys, *(_keys(batch, key) for batch in batches)])
        commits = np.concatenate([last.commits, commits_of(batches)])
        ops = [batch.op.to_numpy() == DELETE for batch in batches]
        deleted = np.concatenate([last.deleted, *ops])
        order = np.lexsort((np.arange(len(keys)), keys))
        keys, commits, deleted = keys[order], commits[order], deleted[order]
        same = keys[1:] == keys[:-1]
        fallen = same & (commits[1:] < commits[:-1])
        twice = same & (commits[1:] == commits[:-1]) & ~(deleted[:-1] & ~deleted[1:])
        final = np.append(~same, True) if len(keys) else np.zeros(0, np.bool_)
        self._last[stream.name] = _LastOfKeys(keys[final], commits[final], deleted[final])
        return self.found(stream, _sentences(fallen, twice, commits))


class NoRowBack(Validator):
    rule = "no row back in time"

    def __init__(self) -> None:
        self._high: dict[tuple[str, int], Ts] = {}

    def rows(self, stream: Stream, batches: Sequence[ChangeBatch]) -> list[Finding]:
        name = (stream.name, stream.partition)
        commits = np.concatenate([[self._high.get(name, 0)], commits_of(batches)])
        highest = np.maximum.accumulate(commits)
        self._high[name] = int(highest[-1])
        back = np.flatnonzero(commits[1:] < highest[:-1])
        return self.found(stream, (f"a row of {commits[at + 1]} comes after one of {highest[at]}" for at in back))


class ResolvedHolds(Validator):
    rule = "resolved holds"

    def __init__(self) -> None:
        self._resolved: Ts = 0

    def rows(self, stream: Stream, batches: Sequence[ChangeBatch]) -> list[Finding]:
        commits = commits_of(batches)
        late = commits[commits <= self._resolved]
        if not len(late):
            return []
        said = f"{self._resolved} was said to be complete"
        return self.found(stream, [f"{len(late)} rows from {late.min()} to {late.max()} appear though {said}"])

    def shape(self, steps: Sequence[Step], version: Ts) -> list[Finding]:
        """A table's shape without a statement may come late: it comes with its first row."""
        late = [step for step in steps if step.query and version <= self._resolved]
        return [
            Finding(self.rule, step.place, f"{step.query!r} of {version} appears though {self._resolved} was complete")
            for step in late
        ]

    def resolved(self, ts: Ts) -> list[Finding]:
        before, self._resolved = self._resolved, max(self._resolved, ts)
        if ts < before:
            return [Finding(self.rule, "resolved", f"it fell from {before} to {ts}")]
        return []


def _keys(batch: ChangeBatch, key: Sequence[str]) -> Prints:
    """The key of each change: of the new row where there is one, else of the old."""
    there = batch.after.is_valid().to_numpy(zero_copy_only=False)
    prints = np.zeros(batch.num_rows, np.uint64)
    for image, chosen in ((batch.after, there), (batch.before, ~there)):
        if chosen.any():
            rows = pa.Table.from_struct_array(image.filter(pa.array(chosen)))
            prints[chosen] = row_prints(rows, key)
    return prints


def _sentences(
    fallen: npt.NDArray[np.bool_], twice: npt.NDArray[np.bool_], commits: npt.NDArray[np.int64]
) -> Iterator[str]:
    for at in np.flatnonzero(fallen):
        yield f"a key's change of {commits[at + 1]} comes after its change of {commits[at]}"
    for at in np.flatnonzero(twice):
        yield f"a key changes twice at {commits[at]}"
