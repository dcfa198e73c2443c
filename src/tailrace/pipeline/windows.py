"""Windows: the segments of one route as batches in the route's order, with no more in memory than overlaps.

Segments come in the order of their first rows (that is Spark's sort). So all that is before the first row of the one
that has just come is complete, and is handed out, sorted over columns, whenever enough has gathered. Guarantees: every
row once; each table's rows in the order of `segments`, whatever the bounds of the segments are. What is held is what
may still be overtaken: the overlap of the ranges that feed a route, and of one transaction with rows of several ranks
all of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.pipeline.segments import is_sorted, joined, order_columns, sorting

WINDOW_ROWS = 65_536
WINDOW_BYTES = 32 << 20


def windows(segments: Iterator[ChangeBatch]) -> Iterator[ChangeBatch]:
    held: dict[int, list[ChangeBatch]] = {}
    due = 1.0
    for segment in segments:
        if _fullness(held) >= due:
            yield from _complete(held, segment)
            # Where little could go out, nothing is sorted again before twice as much is there.
            due = max(1.0, 2 * _fullness(held))
        held.setdefault(segment.table.table_id, []).append(segment)
    for table_id in sorted(held):
        whole = joined(held[table_id])
        columns = order_columns(whole)
        yield from _sized(whole if is_sorted(columns) else whole.take(sorting(columns)))


def _fullness(held: dict[int, list[ChangeBatch]]) -> float:
    parts = [part for each in held.values() for part in each]
    rows, size = sum(part.num_rows for part in parts), sum(part.nbytes for part in parts)
    return max(rows / WINDOW_ROWS, size / WINDOW_BYTES)


def _complete(held: dict[int, list[ChangeBatch]], horizon: ChangeBatch) -> Iterator[ChangeBatch]:
    """Takes out of `held`, and gives, all rows that come before the first one of `horizon`."""
    for table_id in sorted(held):
        if table_id == horizon.table.table_id:
            done, left = _before_row(joined([*held[table_id], horizon.slice(0, 1)]))
        else:
            done, left = _before_time(joined(held[table_id]), horizon, table_id < horizon.table.table_id)
        if left.num_rows:
            held[table_id] = [left]
        else:
            del held[table_id]
        yield from _sized(done)


def _before_row(whole: ChangeBatch) -> tuple[ChangeBatch, ChangeBatch]:
    """The rows before the last one, which is the horizon, and those behind it; it is in neither."""
    columns, last = order_columns(whole), whole.num_rows - 1
    if is_sorted(columns):
        return whole.slice(0, last), whole.slice(0, 0)
    order = sorting(columns).to_numpy()
    at = int(np.flatnonzero(order == last)[0])
    return whole.take(pa.array(order[:at])), whole.take(pa.array(order[at + 1 :]))


def _before_time(whole: ChangeBatch, horizon: ChangeBatch, inclusive: bool) -> tuple[ChangeBatch, ChangeBatch]:
    """Of another table the rows whose transaction is over; of the horizon's own, those of a table before it."""
    columns = order_columns(whole)
    if not is_sorted(columns):
        whole = whole.take(sorting(columns))
    commit, start = whole.commit_ts.to_numpy(), whole.start_ts.to_numpy()
    then, since = horizon.commit_ts[0].as_py(), horizon.start_ts[0].as_py()
    within = start <= since if inclusive else start < since
    count = int(((commit < then) | ((commit == then) & within)).sum())
    return whole.slice(0, count), whole.slice(count)


def _sized(batch: ChangeBatch) -> Iterator[ChangeBatch]:
    for first in range(0, batch.num_rows, WINDOW_ROWS):
        yield batch.slice(first, WINDOW_ROWS)
