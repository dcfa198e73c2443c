"""Coalescing: many changes of a table become, for each key, the one that stays. Pure, by columns.

Within one transaction deletes go before puts, as a database means it that checks its keys at the end; between
transactions order is kept. A table without a key is a multiset: what is taken away and put down is summed up per row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import INSERT, UPDATE
from tailrace.errors import SinkRefused

PORTION_BYTES = 64 << 20

_AT = "\0at"
_COUNT = "\0count"


@dataclass(frozen=True, slots=True)
class Coalesced:
    """`deletes`: keys that are gone. `puts`: rows as they are now, one a key."""

    deletes: pa.Table
    puts: pa.Table


@dataclass(frozen=True, slots=True)
class Counted:
    """Rows of a table without a key, with how often each was taken away or put down."""

    gone: pa.Table
    gone_times: Sequence[int]
    new: pa.Table
    new_times: Sequence[int]


def portions(batches: Iterable[pa.RecordBatch], limit: int = PORTION_BYTES) -> Iterator[list[pa.RecordBatch]]:
    """Batches of one table in portions that fit into memory. A portion ends where a transaction does; only one that
    inserts and does nothing else, as the rows of a snapshot, goes over several, because none of its rows can be in
    another's way."""
    portion: list[pa.RecordBatch] = []
    size, only_inserts = 0, True
    for batch in batches:
        inserts = bool(pc.all(pc.equal(batch.column("op"), INSERT)).as_py())
        if portion and size >= limit and (_apart(portion[-1], batch) or (only_inserts and inserts)):
            yield portion
            portion, size, only_inserts = [], 0, True
        portion.append(batch)
        size += batch.nbytes
        only_inserts = only_inserts and inserts
    if portion:
        yield portion


def _apart(before: pa.RecordBatch, after: pa.RecordBatch) -> bool:
    """Whether a transaction ends between two batches."""
    one, other = before.column("commit_ts")[-1].as_py(), after.column("commit_ts")[0].as_py()
    return bool(one != other)


def by_key(batches: Sequence[pa.RecordBatch], key: Sequence[str]) -> Coalesced:
    """`batches` are change batches of equal columns, in the order in which they happened."""
    whole = _whole(batches)
    after, before = whole.column("after"), whole.column("before")
    if pc.all(pc.equal(whole.column("op"), INSERT)).as_py():
        # The source's own key says that no key is inserted twice.
        puts = _flat(after)
        return Coalesced(puts.select(key).slice(0, 0), puts)
    old, new = pc.indices_nonzero(pc.is_valid(before)), pc.indices_nonzero(pc.is_valid(after))
    group = _transactions(whole)
    place = np.concatenate([old.to_numpy(), new.to_numpy()]).astype(np.int64)
    is_put = np.concatenate([np.zeros(len(old), np.int8), np.ones(len(new), np.int8)])
    order = np.lexsort((place, is_put, group[place]))
    olds, news = _flat(before.take(old)), _flat(after.take(new))
    keys = pa.concat_tables([olds.select(key), news.select(key)]).take(pa.array(order))
    keys = keys.append_column(_AT, pa.array(np.arange(len(order))))
    last = keys.group_by(list(key), use_threads=False).aggregate([(_AT, "max")]).column(f"{_AT}_max").to_numpy()
    chosen = order[np.sort(last)]
    put = chosen >= len(old)
    deletes, puts = chosen[~put], chosen[put] - len(old)
    return Coalesced(olds.select(key).take(pa.array(deletes)), news.take(pa.array(puts)))


def by_row(batches: Sequence[pa.RecordBatch], name: str) -> Counted:
    """For a table without a key; an update must bring its old row."""
    whole = _whole(batches)
    after, before = whole.column("after"), whole.column("before")
    blind = pc.and_(pc.equal(whole.column("op"), UPDATE), pc.is_null(before))
    if pc.any(blind).as_py():
        raise SinkRefused(
            "an update without old values in a table without a key: which row it changes cannot be known; "
            "write the files with sink.csv.output-old-value = true",
            table=name,
        )
    sides = [(before.drop_null(), -1), (after.drop_null(), 1)]
    counted = [_flat(rows).append_column(_COUNT, pa.array(np.full(len(rows), sign))) for rows, sign in sides]
    together = pa.concat_tables(counted)
    names = [each for each in together.column_names if each != _COUNT]
    summed = together.group_by(names, use_threads=False).aggregate([(_COUNT, "sum")])
    counts = summed.column(f"{_COUNT}_sum").to_numpy()
    rows = summed.select(names)
    gone, new = np.flatnonzero(counts < 0), np.flatnonzero(counts > 0)
    return Counted(rows.take(pa.array(gone)), (-counts[gone]).tolist(), rows.take(pa.array(new)), counts[new].tolist())


def _whole(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    found: list[pa.RecordBatch] = pa.Table.from_batches(list(batches)).combine_chunks().to_batches()
    return found[0] if found else batches[0]


def _flat(image: pa.StructArray) -> pa.Table:
    return pa.table(image.flatten(), names=[field.name for field in image.type])


def _transactions(whole: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The number of each change's transaction."""
    commit, start = whole.column("commit_ts").to_numpy(), whole.column("start_ts").to_numpy()
    new = (np.diff(commit) != 0) | (np.diff(start) != 0)
    return np.append(0, np.cumsum(new)).astype(np.int64)
