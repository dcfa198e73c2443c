"""Merging: the batches of several ranges as one stream in commit order.

Each input is in commit order already. The output never goes back in commit time, holds every row exactly once, and
is made by slicing and, only where the times of two ranges interleave, by one sort over columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch


def merge(streams: Sequence[Iterator[ChangeBatch]]) -> Iterator[ChangeBatch]:
    """All rows of all streams by (commit ts, start ts); rows that are equal in both keep their stream's order."""
    if len(streams) == 1:
        yield from streams[0]
        return
    heads: list[ChangeBatch | None] = [next(stream, None) for stream in streams]
    while any(head is not None for head in heads):
        # A stream may still bring rows of the last ts it has shown, never older ones: so all up to the smallest
        # of these is complete but for equals, and equals may follow.
        horizon = min(_last(head) for head in heads if head is not None)
        ready: list[ChangeBatch] = []
        for at, head in enumerate(heads):
            if head is None:
                continue
            count = int(np.searchsorted(head.commit_ts.to_numpy(), horizon, side="right"))
            if count:
                ready.append(head.slice(0, count))
            heads[at] = head.slice(count) if count < head.num_rows else _following(streams[at])
        yield from _interleave(ready)


def _following(stream: Iterator[ChangeBatch]) -> ChangeBatch | None:
    return next((batch for batch in stream if batch.num_rows), None)


def _first(batch: ChangeBatch) -> int:
    return int(batch.commit_ts[0].as_py())


def _last(batch: ChangeBatch) -> int:
    return int(batch.commit_ts[-1].as_py()) if batch.num_rows else -1


def _interleave(ready: list[ChangeBatch]) -> Iterator[ChangeBatch]:
    ready = sorted((batch for batch in ready if batch.num_rows), key=_first)
    apart = all(_last(before) <= _first(after) for before, after in pairwise(ready))
    if apart or len({batch.table.version for batch in ready}) > 1:
        yield from ready
        return
    whole = pa.Table.from_batches([batch.data for batch in ready]).combine_chunks().to_batches()
    order = pc.sort_indices(
        pa.table({"commit_ts": whole[0].column(1), "start_ts": whole[0].column(2)}),
        sort_keys=[("commit_ts", "ascending"), ("start_ts", "ascending")],
    )
    yield ChangeBatch(ready[0].table, whole[0].take(order))
