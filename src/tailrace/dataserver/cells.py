"""Cells: versions of rows as sorted columns, and the pure arithmetic of multi-version reads.

Cells are sorted by key and, of one key, from the newest version to the oldest. A null value is a deletion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.change.tso import Ts
from tailrace.dataserver.rows import Ints, SortKeys


@dataclass(frozen=True, slots=True)
class Cells:
    keys: SortKeys
    ts: Ints
    key: pa.BinaryArray
    value: pa.BinaryArray

    def __len__(self) -> int:
        return len(self.keys)

    def slice(self, low: int, high: int) -> Cells:
        rows = high - low
        return Cells(self.keys[low:high], self.ts[low:high], self.key.slice(low, rows), self.value.slice(low, rows))

    def take(self, order: Ints) -> Cells:
        wanted = pa.array(order)
        return Cells(self.keys[order], self.ts[order], self.key.take(wanted), self.value.take(wanted))


def merged(parts: Sequence[Cells]) -> Cells:
    """All cells of all parts, each (key, ts) once."""
    if len(parts) == 1:
        return parts[0]
    keys = np.concatenate([part.keys for part in parts])
    ts = np.concatenate([part.ts for part in parts])
    order = np.lexsort((-ts, keys)).astype(np.int64)
    keys, ts = keys[order], ts[order]
    again = (keys[1:] == keys[:-1]) & (ts[1:] == ts[:-1])
    first = np.append(True, ~again) if len(keys) else np.zeros(0, bool)
    wanted = pa.array(order[first])
    key = pa.concat_arrays([part.key for part in parts]).take(wanted)
    value = pa.concat_arrays([part.value for part in parts]).take(wanted)
    return Cells(keys[first], ts[first], key, value)


def newest(cells: Cells, at: Ts) -> Ints:
    """Positions of the newest cell of each key that is not above `at`; deletions too."""
    old = np.flatnonzero(cells.ts <= at)
    keys = cells.keys[old]
    first = np.append(True, keys[1:] != keys[:-1]) if len(old) else np.zeros(0, bool)
    return np.asarray(old[first], np.int64)


def visible(cells: Cells, at: Ts) -> Cells:
    """The rows as of `at`."""
    found = newest(cells, at)
    values = cells.value.take(pa.array(found))
    if values.null_count:
        found = found[values.is_valid().to_numpy(zero_copy_only=False)]
    return cells if len(found) == len(cells) else cells.take(found)


def compacted(cells: Cells, safe: Ts) -> Cells:
    """Without what no read at `safe` or above can see."""
    keep = cells.ts > safe
    base = newest(cells, safe)
    keep[base] = cells.value.take(pa.array(base)).is_valid().to_numpy(zero_copy_only=False)
    return cells if keep.all() else cells.take(np.flatnonzero(keep).astype(np.int64))


def simple(cells: Cells) -> bool:
    """One version a key and no deletion: at or above the newest ts the cells are the rows."""
    return not cells.value.null_count and bool((cells.keys[1:] != cells.keys[:-1]).all())
