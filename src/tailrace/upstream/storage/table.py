"""The TableConsumer: one table over all its versions and names, and which of its files hold a span of time.

Files whose times overlap belong together: two generations of the same rows, several partitions, a transaction that
goes on in the next file. A *cluster* is such a group; clusters follow each other in time and share none of it, so a
table is read cluster by cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.change.tso import Ts
from tailrace.upstream.base import Bucket
from tailrace.upstream.storage.history import Lineage
from tailrace.upstream.storage.version import KnownFile, TableVersionConsumer

# What a row of a file is thought to take; only the size of cuts depends on it.
_ROW_BYTES = 200


@dataclass(frozen=True, slots=True)
class Cluster:
    """Files of a table whose times overlap, in the order in which they were written; all rows are above `begin`."""

    begin: Ts
    end: Ts
    files: tuple[KnownFile, ...]

    @property
    def in_order(self) -> bool:
        """Whether the files, one after the other, are in commit order and of one stream."""
        pairs = zip(self.files, self.files[1:], strict=False)
        return all(one.stream == other.stream and one.last <= other.first for one, other in pairs)

    @property
    def size(self) -> int:
        return sum(each.file.size for each in self.files)


class TableConsumer:
    def __init__(self, lineage: Lineage, versions: Sequence[TableVersionConsumer]) -> None:
        self.lineage = lineage
        self._versions = versions
        self._files: list[KnownFile] | None = None
        self.newest: Ts = 0

    def changed(self) -> None:
        """Some of its files came, or are known better."""
        self._files = None

    @property
    def files(self) -> list[KnownFile]:
        """All files that hold rows, by the time of their first."""
        if self._files is None:
            self._files = [each for version in self._versions for each in version.files() if each.first]
            self._files.sort(key=lambda each: (each.first, each.file.order))
            self.newest = max((each.last for each in self._files), default=0)
        return self._files

    def buckets(self, after: Ts, upto: Ts) -> tuple[Bucket, ...]:
        """What lies above a ts, by the ends of files."""
        files = self.files
        if self.newest <= after:
            return ()
        totals: dict[Ts, int] = {}
        for each in files:
            if each.last > after and each.first <= upto:
                end = min(each.last, upto)
                totals[end] = totals.get(end, 0) + each.file.size
        return tuple(Bucket(ts, max(1, totals[ts] // _ROW_BYTES), totals[ts]) for ts in sorted(totals))

    def clusters(self, after: Ts, upto: Ts) -> list[Cluster]:
        """The files with rows in (after, upto], grouped."""
        found: list[Cluster] = []
        group: list[KnownFile] = []
        begin, end = after, after
        for each in self.files:
            if each.last <= after or each.first > upto:
                continue
            if group and each.first > end:
                found.append(_cluster(begin, end, group))
                group, begin = [], end
            group.append(each)
            end = max(end, each.last)
        return [*found, _cluster(begin, min(end, upto), group)] if group else found


def _cluster(begin: Ts, end: Ts, group: list[KnownFile]) -> Cluster:
    return Cluster(begin, end, tuple(sorted(group, key=lambda each: (each.stream, each.file.order))))
