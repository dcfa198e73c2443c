"""What messages hold, put back into the order in which it arrived: rows of one table were read together.

Neighbours of one table version in rising commit ts are one batch; a DDL event or a watermark stands between batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import TableSchema
from tailrace.codec.base import Decoded

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Arrival:
    """Rows of one table version: which of all rows they are, rising, and their changes."""

    rows: Rows
    batch: ChangeBatch


def in_order(found: Sequence[Arrival], events: Mapping[int, Decoded], count: int) -> Iterator[Decoded]:
    """`count` things that arrived, each of which is a row of one arrival or an event."""
    owner, row, stamps = np.full(count, -1), np.zeros(count, np.int64), np.zeros(count, np.int64)
    for number, each in enumerate(found):
        owner[each.rows], row[each.rows] = number, np.arange(len(each.rows))
        stamps[each.rows] = each.batch.commit_ts.to_numpy()
    apart = (owner[1:] != owner[:-1]) | (owner[1:] < 0) | (np.diff(stamps) < 0)
    for begin, end in pairwise([0, *(np.flatnonzero(apart) + 1).tolist(), count] if count else []):
        if owner[begin] < 0:
            yield events[begin]
        else:
            yield found[owner[begin]].batch.slice(int(row[begin]), end - begin)


def assembled(
    table: TableSchema, ops: npt.NDArray[np.uint8], commit: pa.Int64Array, after: pa.Array, before: pa.Array
) -> ChangeBatch:
    """A batch of these images, as far as each operation has them; the format carries no start ts."""
    rows = np.arange(len(ops))
    images = [
        image.take(pa.array(rows, mask=mask)) if mask.any() else image
        for image, mask in ((after, ops == DELETE), (before, ops == INSERT))
    ]
    data = pa.RecordBatch.from_arrays([pa.array(ops), commit, commit, *images], schema=batch_schema(table))
    return ChangeBatch(table, data)


OPS = {"INSERT": INSERT, "UPDATE": UPDATE, "DELETE": DELETE}
