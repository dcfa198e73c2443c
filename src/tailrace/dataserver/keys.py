"""Bounds: where a byte string stands among the sortable keys of one physical table (`rows.sort_keys`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tailrace.dataserver.rows import SortKeys

# t, 8 bytes of the physical id, _r: what all keys of a physical table begin with.
PREFIX_BYTES = 11
_MAX_HANDLE = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Bound:
    """A cut between keys: before all keys that are at or above `value` (left), or above it (right)."""

    value: np.uint64 | np.bytes_ | None
    side: Literal["left", "right"] = "left"

    def position(self, keys: SortKeys) -> int:
        """How many of the keys lie below."""
        return len(keys) if self.value is None else int(np.searchsorted(keys, self.value, side=self.side))


END = Bound(None)


def bound(key: bytes, prefix: bytes, common_handle: bool, inclusive: bool = False) -> Bound:
    """The cut below `key`, or above it where `inclusive`. An empty `key` is the start of the table."""
    if key[:PREFIX_BYTES] > prefix:
        return END
    if common_handle:
        side: Literal["left", "right"] = "right" if inclusive or key.endswith(b"\0") else "left"
        return Bound(np.bytes_(key), side)
    if key[:PREFIX_BYTES] < prefix:
        return Bound(np.uint64(0))
    rest = key[PREFIX_BYTES:]
    handle = int.from_bytes(rest[:8].ljust(8, b"\0"), "big")
    above = (inclusive and len(rest) >= 8) or len(rest) > 8
    return Bound(np.uint64(handle), "right" if above else "left")
