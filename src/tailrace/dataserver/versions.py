"""Versions: all row versions of one range, in blocks on disk and in fresh runs that are not in blocks yet.

A commit adds its pages as runs, at once visible; `merge` folds them into the blocks later, in the order of their
commits. Readers see every version exactly as long as it may be asked for: a run leaves the fresh list only after its
blocks are committed, and a reader takes the list before it opens its LMDB transaction, so it may see a version
twice, never not at all. What no read at `safe_ts` or above can see is dropped while merging.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.change.tso import Ts
from tailrace.dataserver.blocks import Block, RangeBlocks, chunks
from tailrace.dataserver.cells import Cells, compacted, merged, visible
from tailrace.dataserver.keys import END, Bound, bound
from tailrace.dataserver.rows import Ints, SortKeys, positions

SPAN_ROWS = 65_536
SMALL_RUN = 8192
MANY_RUNS = 64
MERGE_ROWS = 1 << 19
DECODED_BLOCKS = 16
Fetch = Callable[[], tuple[pa.BinaryArray, pa.BinaryArray]]


@dataclass(frozen=True, slots=True)
class Run:
    """A committed page: its sorted keys and their ts here, its bytes where `fetch` finds them.

    `index` is the log index of its commit and `segment` where the log holds it, of several pages in one the lowest.
    """

    keys: SortKeys
    ts: Ints
    fetch: Fetch
    index: int
    segment: int

    def cells(self) -> Cells:
        return Cells(self.keys, self.ts, *self.fetch())


@dataclass(frozen=True, slots=True)
class Found:
    """The newest version of each key that was looked up: its ts (0: none) and its value (null: none or deleted)."""

    ts: Ints
    value: pa.BinaryArray


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a snapshot: cells, or a block's Arrow bytes as they are stored."""

    rows: int
    last_key: bytes
    cells: Cells | None
    stored: bytes = b""


class Versions:
    def __init__(self, env: Any, table: Any, range_id: int, prefix: bytes, common_handle: bool) -> None:
        self._env, self._table, self._range_id = env, table, range_id
        self._prefix, self._common = prefix, common_handle
        self._mutex = threading.Lock()
        self._fresh: list[Run] = []
        self._decoded: OrderedDict[int, Cells] = OrderedDict()

    @property
    def fresh_rows(self) -> int:
        return sum(len(run.keys) for run in self._fresh)

    def add(self, run: Run) -> None:
        with self._mutex:
            self._fresh.append(run)
            if len(self._fresh) >= MANY_RUNS:
                self._fresh = _gathered(self._fresh)

    def lookup(self, keys: SortKeys, key: pa.BinaryArray) -> Found:
        """The newest versions of sorted keys. Whoever needs them to stay the newest holds the range's mutex."""
        fresh = self._runs()
        ts = np.zeros(len(keys), np.int64)
        chosen = np.full(len(keys), -1, np.int64)
        values: list[pa.BinaryArray] = []
        size = 0
        with self._env.begin(db=self._table, buffers=True) as txn:
            for low, cells in self._blocks_of(RangeBlocks(txn, self._range_id), keys, key):
                size += _pick(cells, keys, low, ts, chosen, values, size)
        for run in fresh:
            if len(run.keys) and run.keys[0] <= keys[-1] and run.keys[-1] >= keys[0]:
                hit = positions(run.keys, keys)
                if (hit >= 0).any():
                    size += _pick(run.cells(), keys, 0, ts, chosen, values, size)
        if not values:
            return Found(ts, pa.nulls(len(keys), pa.binary()))
        return Found(ts, pa.concat_arrays(values).take(pa.array(chosen, mask=chosen < 0)))

    def read(self, at: Ts, after: Bound, end: Bound, end_key: bytes, first_key: bytes, limit: int) -> Iterator[Piece]:
        """Rows as of `at` between two bounds, in key order, at most `limit`.

        `first_key` is the key from which blocks are looked for, `end_key` (may be empty) where they end.
        """
        if after.value is None:
            return
        fresh = self._runs()
        with self._env.begin(db=self._table, buffers=True) as txn:
            blocks = RangeBlocks(txn, self._range_id)
            block = blocks.floor(first_key) or blocks.following(first_key)
            low = after
            while limit > 0:
                beyond = blocks.following(block.first) if block is not None else None
                ends = beyond is None or (end_key != b"" and beyond.first >= end_key)
                high = end if ends or beyond is None else bound(beyond.first, self._prefix, self._common)
                whole = block is not None and self._servable(block, fresh, at, low, high, ends, limit)
                if block is not None and whole:
                    piece = _stored(block)
                    limit -= piece.rows
                    yield piece
                else:
                    parts = [block.cells(self._common)] if block is not None else []
                    for piece in _spans(parts, fresh, at, low, high, limit):
                        limit -= piece.rows
                        yield piece
                if ends:
                    return
                low, block = high, beyond

    def measure(self, middle: bool) -> tuple[int, bytes]:
        """About how many rows there are, and on demand a key with half of them below; empty where there is none."""
        with self._env.begin(db=self._table, buffers=True) as txn:
            blocks = RangeBlocks(txn, self._range_id)
            sizes = [(first, found.rows) for first in blocks.firsts() if (found := blocks.get(first)) is not None]
            total = sum(rows for _, rows in sizes)
            key = b""
            for first, rows in sizes if middle else ():
                below = sum(size for other, size in sizes if other < first)
                if below + rows > total // 2:
                    block = blocks.get(first)
                    assert block is not None
                    key = block.cells(self._common).key[total // 2 - below].as_py()
                    break
            lowest = sizes[0][0] if sizes else b""
        return total + self.fresh_rows, key if key > lowest else b""

    def merge(self, safe_ts: Ts, serial: Iterator[int], note: Callable[[Any, frozenset[int]], None]) -> int:
        """Fold some fresh runs into blocks; `note(txn, their ids)` belongs to the same LMDB transaction.

        Returns the rows that were folded. One caller at a time."""
        fresh = self._runs()
        sizes = itertools.accumulate(len(run.keys) for run in fresh)
        count = sum(1 for size in sizes if size <= MERGE_ROWS) or 1
        taken = fresh[:count]
        if not taken:
            return 0
        incoming = merged([run.cells() for run in taken])
        ids = frozenset(id(run) for run in taken)
        with self._env.begin(write=True, db=self._table, buffers=True) as txn:
            self._fold(RangeBlocks(txn, self._range_id), incoming, safe_ts, serial)
            note(txn, ids)
        with self._mutex:
            self._fresh = [run for run in self._fresh if id(run) not in ids]
        return len(incoming)

    def lowest_index(self, otherwise: int, but: frozenset[int]) -> int:
        """The lowest commit that is not in blocks, not counting the runs with these ids."""
        with self._mutex:
            return min((run.index for run in self._fresh if id(run) not in but), default=otherwise)

    def first_segment(self, otherwise: int) -> int:
        """The first segment of the log that holds rows which are not in blocks."""
        return min((run.segment for run in self._runs()), default=otherwise)

    def _runs(self) -> list[Run]:
        with self._mutex:
            return list(self._fresh)

    def _fold(self, blocks: RangeBlocks, incoming: Cells, safe_ts: Ts, serial: Iterator[int]) -> None:
        firsts = blocks.firsts()
        if not firsts:
            for part in chunks(compacted(incoming, safe_ts)):
                blocks.put(part, next(serial))
            return
        cuts = [bound(first, self._prefix, self._common).position(incoming.keys) for first in firsts[1:]]
        for first, low, high in zip(firsts, [0, *cuts], [*cuts, len(incoming)], strict=True):
            if low == high:
                continue
            old = blocks.get(first)
            assert old is not None
            both = compacted(merged([old.cells(self._common), incoming.slice(low, high)]), safe_ts)
            # `both` is a copy (two parts were merged), so the old block's bytes may go.
            blocks.delete(first)
            for part in chunks(both):
                blocks.put(part, next(serial))

    def _servable(
        self, block: Block, fresh: Sequence[Run], at: Ts, low: Bound, high: Bound, ends: bool, limit: int
    ) -> bool:
        if not block.simple or block.max_ts > at or block.rows > limit:
            return False
        if any(high.position(run.keys) > low.position(run.keys) for run in fresh):
            return False
        first = bound(block.first, self._prefix, self._common)
        starts_inside = low.value is None or first.value is None or low.value < first.value or low == first
        return bool(starts_inside) and (not ends or high == END)

    def _blocks_of(self, blocks: RangeBlocks, keys: SortKeys, key: pa.BinaryArray) -> Iterator[tuple[int, Cells]]:
        """The blocks in which sorted keys may be, each once, with the position of its first key."""
        at = 0
        while at < len(keys):
            name = key[at].as_py()
            block = blocks.floor(name)
            beyond = blocks.following(name)
            if block is not None:
                yield at, self._cells(block)
            if beyond is None:
                return
            at = max(at + 1, bound(beyond.first, self._prefix, self._common).position(keys))

    def _cells(self, block: Block) -> Cells:
        """A block's cells, kept for the next lookup; they must outlive the LMDB transaction."""
        with self._mutex:
            known = self._decoded.get(block.serial)
            if known is not None:
                self._decoded.move_to_end(block.serial)
                return known
        copy = Block(block.first, block.serial, block.max_ts, block.rows, block.simple, memoryview(bytes(block.data)))
        cells = copy.cells(self._common)
        with self._mutex:
            self._decoded[block.serial] = cells
            while len(self._decoded) > DECODED_BLOCKS:
                self._decoded.popitem(last=False)
        return cells


def _pick(
    cells: Cells, keys: SortKeys, low: int, ts: Ints, chosen: Ints, values: list[pa.BinaryArray], size: int
) -> int:
    """Take over what `cells` know newer of keys[low:]; returns how many values were added."""
    at = np.searchsorted(cells.keys, keys[low:]).astype(np.int64)
    inside = np.flatnonzero(at < len(cells))
    inside = inside[cells.keys[at[inside]] == keys[low:][inside]]
    inside = inside[cells.ts[at[inside]] > ts[low:][inside]]
    if not len(inside):
        return 0
    rows = at[inside]
    ts[low + inside] = cells.ts[rows]
    chosen[low + inside] = size + np.arange(len(rows))
    values.append(cells.value.take(pa.array(rows)))
    return len(rows)


def _stored(block: Block) -> Piece:
    data = bytes(block.data)
    key = pa.ipc.open_stream(data).read_next_batch().column("key")
    return Piece(block.rows, key[-1].as_py(), None, data)


def _spans(parts: list[Cells], fresh: Sequence[Run], at: Ts, low: Bound, high: Bound, limit: int) -> Iterator[Piece]:
    """The rows between two bounds, in steps that hold a bounded number of cells of each run."""
    while limit > 0:
        stop = high
        for run in fresh:
            far = low.position(run.keys) + SPAN_ROWS
            if far < stop.position(run.keys):
                # With all versions of that key, however many: so each step goes on.
                stop = Bound(run.keys[far], "right")
        near = [run.cells() for run in fresh if stop.position(run.keys) > low.position(run.keys)]
        cut = [part.slice(low.position(part.keys), stop.position(part.keys)) for part in [*parts, *near]]
        cut = [part for part in cut if len(part)]
        if cut:
            rows = visible(merged(cut), at)
            rows = rows.slice(0, min(limit, len(rows)))
            if len(rows):
                limit -= len(rows)
                yield Piece(len(rows), rows.key[-1].as_py(), rows)
        if stop == high:
            return
        low = stop


def _gathered(runs: list[Run]) -> list[Run]:
    """The small runs at the end as one, so that a lookup asks few; the order of commits stays."""
    big = max((at + 1 for at, run in enumerate(runs) if len(run.keys) >= SMALL_RUN), default=0)
    small = runs[big:]
    if len(small) < 2:
        return runs
    one = merged([run.cells() for run in small])
    index, segment = min(run.index for run in small), min(run.segment for run in small)
    return [*runs[:big], Run(one.keys, one.ts, lambda: (one.key, one.value), index, segment)]
