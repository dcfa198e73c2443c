"""Duplicates of a writer that delivers at least once, removed per partition of a table, by columns.

A writer that starts again writes rows again, in commit order from an earlier ts on: so where the commit ts of a stream
falls back, a new *generation* begins. What happened at a commit ts is the largest that any generation has of it: per
row, as often as the generation that has it most often. Never the sum, and never less: a table without a key holds
equal rows for good reasons, and a generation may have been cut off in the middle of a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch

Numbers = npt.NDArray[np.int64]


def distinct(stream: Sequence[ChangeBatch]) -> list[ChangeBatch]:
    """The changes of one stream, in the order in which they were written, each as often as it happened."""
    found: list[ChangeBatch] = []
    group: list[ChangeBatch] = []
    for batch in stream:
        if group and group[-1].data.schema != batch.data.schema:
            found += _distinct(group)
            group = []
        group.append(batch)
    return found + (_distinct(group) if group else [])


def _distinct(group: list[ChangeBatch]) -> list[ChangeBatch]:
    stamps = np.concatenate([each.commit_ts.to_numpy() for each in group])
    falls = np.flatnonzero(np.diff(stamps) < 0)
    if not len(falls):
        return group
    whole = pa.Table.from_batches([each.data for each in group]).combine_chunks().to_batches()[0]
    generation = np.zeros(len(stamps), np.int64)
    generation[falls + 1] = 1
    generation = np.cumsum(generation)
    shared = _shared(stamps, generation)
    kept = np.ones(len(stamps), np.bool_)
    if shared.any():
        places = np.flatnonzero(shared)
        kept[places] = _first_times(whole.take(pa.array(places)), generation[places])
    order = np.flatnonzero(kept)
    order = order[np.argsort(stamps[order], kind="stable")]
    return [ChangeBatch(group[0].table, whole.take(pa.array(order)))]


def _shared(stamps: Numbers, generation: Numbers) -> npt.NDArray[np.bool_]:
    """The rows whose commit ts occurs in more than one generation."""
    order = np.lexsort((generation, stamps))
    sorted_stamps, sorted_generation = stamps[order], generation[order]
    first_of_ts = np.append(True, sorted_stamps[1:] != sorted_stamps[:-1])
    new_generation = np.append(True, first_of_ts[1:] | (sorted_generation[1:] != sorted_generation[:-1]))
    ts = np.cumsum(first_of_ts) - 1
    many = np.bincount(ts, weights=new_generation) > 1
    shared = np.zeros(len(stamps), np.bool_)
    shared[order] = many[ts]
    return shared


def _first_times(rows: pa.RecordBatch, generation: Numbers) -> npt.NDArray[np.bool_]:
    """Of rows that are equal, the first one of each time that they occur within a generation."""
    row = _numbered(rows)
    order = np.lexsort((generation, row))
    sorted_row, sorted_generation = row[order], generation[order]
    begins = np.append(True, (sorted_row[1:] != sorted_row[:-1]) | (sorted_generation[1:] != sorted_generation[:-1]))
    at = np.arange(len(row))
    time_of = at - np.maximum.accumulate(np.where(begins, at, 0))
    times = np.empty(len(row), np.int64)
    times[order] = time_of
    _, first = np.unique(np.stack([row, times]), axis=1, return_index=True)
    kept = np.zeros(len(row), np.bool_)
    kept[first] = True
    return kept


def _numbered(rows: pa.RecordBatch) -> Numbers:
    """A number for each row: equal rows have equal ones."""
    columns = [rows.column("op"), rows.column("commit_ts")]
    for name in ("after", "before"):
        image = rows.column(name)
        columns += [pc.is_valid(image), *image.flatten()]
    number: Numbers = np.zeros(rows.num_rows, np.int64)
    for column in columns:
        codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        number = number * (int(codes.max(initial=0)) + 1) + codes
        number = np.unique(number, return_inverse=True)[1].astype(np.int64)
    return number
