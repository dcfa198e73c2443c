"""Routing: which rows of a page belong to which range. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver.keys import PREFIX_BYTES, bound
from tailrace.dataserver.rows import Rows, ascending, sort_keys
from tailrace.proto.cdc_pb2 import Page


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one range, of one schema version, their keys ascending."""

    range: Range
    version: Ts
    common_handle: bool
    rows: Rows

    def slice(self, low: int, count: int) -> Part:
        rows = self.rows
        cut = Rows(
            rows.op[low : low + count], *(each.slice(low, count) for each in (rows.key, rows.value, rows.before))
        )
        return Part(self.range, self.version, self.common_handle, cut)

    def within(self, known: Range) -> Part:
        """Its rows whose keys lie in a range."""
        keys, prefix = sort_keys(self.rows.key, self.common_handle), known.start[:PREFIX_BYTES]
        low = bound(known.start, prefix, self.common_handle).position(keys)
        high = bound(known.end or b"\xff", prefix, self.common_handle).position(keys)
        cut = self.slice(low, max(high - low, 0))
        return Part(known, self.version, self.common_handle, cut.rows)

    def joined(self, parts: Sequence[Part]) -> Part:
        rows = Rows(
            np.concatenate([part.rows.op for part in parts]),
            pa.concat_arrays([part.rows.key for part in parts]),
            pa.concat_arrays([part.rows.value for part in parts]),
            pa.concat_arrays([part.rows.before for part in parts]),
        )
        return Part(self.range, self.version, self.common_handle, in_order(rows, self.common_handle))

    def page(self) -> Page:
        return Page(schema_version=self.version, rows=len(self.rows), arrow=bytes(self.rows.to_arrow()))


def in_order(rows: Rows, common_handle: bool) -> Rows:
    """The rows by key."""
    keys = sort_keys(rows.key, common_handle)
    return rows if ascending(keys) else rows.take(np.argsort(keys, kind="stable").astype(np.int64))


def split(rows: Rows, ranges: Sequence[Range], table: TableSchema) -> Iterator[Part]:
    """The rows by range; `ranges` are those of the rows' physical table, in key order."""
    rows = in_order(rows, table.common_handle)
    keys = sort_keys(rows.key, table.common_handle)
    low = 0
    for known in ranges:
        end = bound(known.end or b"\xff", known.start[:PREFIX_BYTES], table.common_handle)
        high = end.position(keys)
        if high > low:
            whole = Part(known, table.version, table.common_handle, rows)
            yield whole.slice(low, high - low)
        low = max(low, high)
