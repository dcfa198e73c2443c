"""A reach: what is known of one range, from the position of its slowest watcher on. Pure.

Invariant: `buckets` are all the changes of the range in (base, newest.resolved_ts], as the upstream announced them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import replace
from typing import Generic, TypeVar

from tailrace.change.ranges import Range
from tailrace.change.tso import Ts
from tailrace.errors import TailraceError
from tailrace.upstream.base import Bucket, Frontier, Mark

TRIM_BUCKETS, MOST_BUCKETS = 256, 4096

Watcher = TypeVar("Watcher", bound=Hashable)


def _ts(bucket: Bucket) -> Ts:
    return bucket.ts


class Reach(Generic[Watcher]):
    def __init__(self, base: Ts, first: Frontier) -> None:
        self.base = base
        self.watchers: dict[Watcher, Ts] = {}
        self.error: TailraceError | None = None
        self.news_at = -1e9
        """When changes last came, as whoever polls notes it."""
        self._buckets = list(first.buckets)
        self._newest = replace(first, buckets=())

    def mark(self, range: Range) -> Mark:
        """The question for what is not known yet."""
        return Mark(range, self._newest.next_index, self._newest.resolved_ts)

    def extend(self, from_ts: Ts, answer: Frontier) -> bool:
        """Take the answer to `mark`; whether it brought changes, or heirs."""
        if from_ts != self._newest.resolved_ts or answer.resolved_ts < from_ts:
            return False
        self._buckets += answer.buckets
        self._newest = replace(answer, buckets=()) if answer.buckets else answer
        if len(self._buckets) > TRIM_BUCKETS:
            self._trim(min(self.watchers.values(), default=self._newest.resolved_ts))
        return bool(answer.buckets or answer.heirs)

    @property
    def heirs(self) -> tuple[int, ...]:
        """What the range became: nothing new will be said of it."""
        return self._newest.heirs

    def frontier(self, from_ts: Ts) -> Frontier:
        """As the upstream would show it from here. A bucket that `from_ts` divides is shown whole: what was
        announced is never less than what is there."""
        if not self._buckets or self._buckets[-1].ts <= from_ts:
            return self._newest
        at = bisect_right(self._buckets, from_ts, key=_ts)
        return replace(self._newest, buckets=tuple(self._buckets[at:]))

    def _trim(self, needed: Ts) -> None:
        """Forget what every watcher has behind it; of more than the most also what a slow one still needs."""
        at = bisect_right(self._buckets, needed, key=_ts)
        if len(self._buckets) - at > MOST_BUCKETS:
            at = len(self._buckets) - MOST_BUCKETS // 2
        if at:
            self.base = max(self.base, self._buckets[at - 1].ts)
            del self._buckets[:at]
