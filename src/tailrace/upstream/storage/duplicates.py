"""Duplicates of a writer that delivers at least once, removed per partition of a table, by columns.

A writer that starts again writes rows again, in commit order from an earlier ts on: so where the commit ts of a stream
falls back, a new *generation* begins. What happened at a commit ts is the largest that any generation has of it: per
row, as often as the generation that has it most often. Never the sum, and never less: a table without a key holds
equal rows for good reasons, and a generation may have been cut off in the middle of a transaction.

A new generation may also begin at the very commit ts at which the last one ended. At the border of two files of one
commit ts it is one when the rows of that ts on one side are all among those on the other: a transaction that goes on
in the next file goes on with other rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch

Numbers = npt.NDArray[np.int64]


def distinct(files: Sequence[Sequence[ChangeBatch]]) -> list[ChangeBatch]:
    """The changes of one stream, file after file as they were written, each as often as it happened."""
    found: list[ChangeBatch] = []
    group: list[list[ChangeBatch]] = []
    for file in files:
        if group and file and group[-1][-1].data.schema != file[0].data.schema:
            found += _distinct(group)
            group = []
        if file:
            group.append(list(file))
    return found + (_distinct(group) if group else [])


def _distinct(group: list[list[ChangeBatch]]) -> list[ChangeBatch]:
    flat = [batch for file in group for batch in file]
    stamps = np.concatenate([each.commit_ts.to_numpy() for each in flat])
    borders = np.cumsum([sum(each.num_rows for each in file) for file in group])[:-1]
    touching = [int(at) for at in borders if stamps[at] == stamps[at - 1]]
    if not touching and not (np.diff(stamps) < 0).any():
        return flat
    whole = pa.Table.from_batches([each.data for each in flat]).combine_chunks().to_batches()[0]
    generation = _generations(whole, stamps, touching)
    if not generation[-1]:
        return flat
    shared = _shared(stamps, generation)
    kept = np.ones(len(stamps), np.bool_)
    if shared.any():
        places = np.flatnonzero(shared)
        kept[places] = _first_times(whole.take(pa.array(places)), generation[places])
    order = np.flatnonzero(kept)
    order = order[np.argsort(stamps[order], kind="stable")]
    return [ChangeBatch(flat[0].table, whole.take(pa.array(order)))]


def _generations(whole: pa.RecordBatch, stamps: Numbers, touching: Sequence[int]) -> Numbers:
    """The number of each row's generation."""
    begins = np.append(False, np.diff(stamps) < 0)
    for border in touching:
        falls = np.flatnonzero(begins[:border])
        start = int(falls[-1]) if len(falls) else 0
        first = start + int(np.searchsorted(stamps[start:border], stamps[border], side="left"))
        later = np.flatnonzero(stamps[border:] != stamps[border])
        end = border + int(later[0]) if len(later) else len(stamps)
        begins[border] = _says_again(whole.slice(first, end - first), border - first)
    return np.cumsum(begins).astype(np.int64)


def _says_again(rows: pa.RecordBatch, border: int) -> bool:
    """Whether the rows before the border are all among those after it, or those after it among those before."""
    number = _numbered(rows)
    size = int(number.max()) + 1
    before, after = np.bincount(number[:border], minlength=size), np.bincount(number[border:], minlength=size)
    return bool((before <= after).all() or (after <= before).all())


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
