"""History: the committed pages of one range in commit order, and where in the log each one lies.

An entry is a page of one transaction, or a page of transactions that follow each other without a gap (`step` 1, one a
row). No two entries interleave, because a row's commit ts is never handed out twice and a run of them is handed out
as one: so the order by first commit ts is the order of all rows. Entries of one transaction share their commit ts.

Invariant: everything with a commit ts above `pruned_ts`, or an index above `pruned_index`, that was ever added is
there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tailrace.change.tso import Ts
from tailrace.dataserver.wal import Form, Place

ENTRY = np.dtype(
    [
        ("commit_ts", "i8"),
        ("last_ts", "i8"),
        ("start_ts", "i8"),
        ("index", "u8"),
        ("version", "i8"),
        ("offset", "i8"),
        ("segment", "u4"),
        ("length", "u4"),
        ("rows", "u4"),
        ("form", "u1"),
        ("step", "u1"),
    ]
)
Entries = npt.NDArray[np.void]
MAX_BUCKETS = 256


@dataclass(frozen=True, slots=True)
class Page:
    """A committed page. `index` is the log index of its rows' record."""

    commit_ts: Ts
    start_ts: Ts
    index: int
    version: Ts
    rows: int
    form: Form
    step: int
    place: Place

    @property
    def last_ts(self) -> Ts:
        return self.commit_ts + self.step * (self.rows - 1)


class History:
    """Not thread-safe: its range's mutex guards it."""

    def __init__(self, pruned_ts: Ts = 0, pruned_index: int = 0) -> None:
        self.pruned_ts, self.pruned_index = pruned_ts, pruned_index
        self._entries: Entries = np.zeros(16, ENTRY)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def entries(self) -> Entries:
        return self._entries[: self._count]

    @property
    def last_ts(self) -> Ts:
        return int(self._entries[self._count - 1]["last_ts"]) if self._count else 0

    def add(self, page: Page) -> None:
        """Commits come nearly in order, so what has to move is short."""
        if self._count == len(self._entries):
            self._entries = np.concatenate([self._entries, np.zeros(self._count, ENTRY)])
        at = self._count
        while at and self._entries[at - 1]["commit_ts"] > page.commit_ts:
            at -= 1
        if at < self._count:
            self._entries[at + 1 : self._count + 1] = self._entries[at : self._count].copy()
        self._entries[at] = (
            page.commit_ts, page.last_ts, page.start_ts, page.index, page.version,
            page.place.offset, page.place.segment, page.place.length, page.rows, page.form, page.step,
        )  # fmt: skip
        self._count += 1

    def span(self, from_ts: Ts, upto_ts: Ts) -> Entries:
        """Entries with a row in (from_ts, upto_ts]; a copy, since the log goes on."""
        entries = self.entries
        low = int(np.searchsorted(entries["last_ts"], from_ts, side="right"))
        high = int(np.searchsorted(entries["commit_ts"], upto_ts, side="right"))
        return entries[low : max(low, high)].copy()

    def buckets(self, from_ts: Ts, upto_ts: Ts) -> tuple[list[int], list[int], list[int]]:
        """Ts, rows and bytes of at most MAX_BUCKETS parts of (from_ts, upto_ts]; each ends at a commit ts."""
        if self.last_ts <= from_ts:
            return [], [], []
        entries = self.span(from_ts, upto_ts)
        if not len(entries):
            return [], [], []
        last = np.minimum(entries["last_ts"], upto_ts)
        ends = np.flatnonzero(np.append(last[1:] != last[:-1], True))
        if len(ends) > MAX_BUCKETS:
            ends = ends[np.linspace(0, len(ends), MAX_BUCKETS + 1)[1:].astype(np.int64) - 1]
        rows = np.cumsum(entries["rows"], dtype=np.int64)[ends]
        size = np.cumsum(entries["length"], dtype=np.int64)[ends]
        return last[ends].tolist(), np.diff(rows, prepend=0).tolist(), np.diff(size, prepend=0).tolist()

    def written_by(self, start_ts: Ts) -> Ts:
        """The commit ts of a page whose (first) transaction began at `start_ts`; 0 where there is none."""
        recent = self.entries[int(np.searchsorted(self.entries["commit_ts"], start_ts)) :]
        found = np.flatnonzero(recent["start_ts"] == start_ts)
        return int(recent[found[0]]["commit_ts"]) if len(found) else 0

    def first_index_above(self, ts: Ts, otherwise: int) -> int:
        """The smallest log index of a page with a row above `ts`."""
        if self.last_ts <= ts:
            return otherwise
        above = self.entries[int(np.searchsorted(self.entries["last_ts"], ts, side="right")) :]
        return int(above["index"].min(initial=otherwise))

    def first_segment_above(self, ts: Ts, otherwise: int) -> int:
        """The first segment with a row above `ts`."""
        above = self.entries[int(np.searchsorted(self.entries["last_ts"], ts, side="right")) :]
        return int(above["segment"].min(initial=otherwise))

    def prune(self, segment: int) -> None:
        """Forget every page that lies in `segment` or an older one, and all that was committed before it."""
        gone = np.flatnonzero(self.entries["segment"] <= segment)
        if len(gone):
            forgotten = self.entries[: gone[-1] + 1]
            self.pruned_ts = max(self.pruned_ts, int(forgotten["last_ts"].max()))
            self.pruned_index = max(self.pruned_index, int(forgotten["index"].max()))
            kept = self.entries[gone[-1] + 1 :].copy()
            self._count = len(kept)
            self._entries = np.concatenate([kept, np.zeros(max(16, len(kept)), ENTRY)])
