"""CSV to change batches: the way back, and the way in for buckets that TiCDC wrote.

Every cell that is accepted is the one value that its column's type has for it; anything else is a DecodeError that
names the file, the row (from 1 on, a header not counted) and what would be right. A file that does not end in the
terminator was cut off and is refused. The format carries no start ts (the commit ts stands in) and, without
`include-commit-ts`, no commit ts either. A `U` row has no old values, so its `before` is absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.csv.changes import Layout
from tailrace.codec.csv.encode import header_line
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.csv.scan import scan
from tailrace.codec.grid import Malformed
from tailrace.errors import ConfigError, DecodeError

_LONGEST_ROW = 1 << 30
_HEADER_MARK = b"ticdc-meta$operation"


@dataclass(frozen=True, slots=True)
class CsvDecoder:
    """A FileDecoder. `commit_ts` is what rows get that carry none; `block_bytes` is how much is read at a time.

    With `wanted`, the cells of other columns are neither parsed nor checked, and their values are NULL.
    """

    options: CsvOptions
    commit_ts: Ts = 0
    block_bytes: int = 4 << 20
    wanted: frozenset[str] | None = None

    def __post_init__(self) -> None:
        form = self.options
        if not form.terminator or (form.quote and form.quote in form.terminator):
            raise ConfigError(f"sink.terminator is {form.terminator!r}; CSV that ends rows so cannot be read back")
        if not form.quote and (set(form.delimiter) & set("nr\\") or form.null.endswith("\\")):
            raise ConfigError(
                f"sink.csv.quote is empty while delimiter is {form.delimiter!r} and null {form.null!r}; "
                "they must not look like an escape, or such CSV cannot be read back"
            )

    def decode(self, data: pa.Buffer, table: TableSchema, place: str) -> Iterator[ChangeBatch]:
        text, row = np.frombuffer(data, np.uint8), 0
        position = self._after_header(data, table, place)
        layout, size = Layout(self.options, table, self.wanted), self.block_bytes
        while position < len(text):
            block = text[position : position + size]
            try:
                grid = layout.whole(scan(block, layout.cells, self.options))
                if grid.rows:
                    yield from layout.batches(grid, self.commit_ts)
                elif position + len(block) == len(text) or size > _LONGEST_ROW:
                    raise Malformed(0, f"the row, or the update, does not end with {self.options.terminator!r}")
            except Malformed as wrong:
                at = f"{place} row {row + wrong.row + 1}"
                raise DecodeError(wrong.message, table=table.full_name, position=at) from None
            size = self.block_bytes if grid.rows else size * 2
            position, row = position + grid.consumed, row + grid.rows

    def _after_header(self, data: pa.Buffer, table: TableSchema, place: str) -> int:
        """Where the first row begins. A header is recognised whether or not the options ask for one."""
        want = header_line(self.options, table)
        found = data.slice(0, min(len(want), data.size)).to_pybytes()
        if not found.startswith(_HEADER_MARK):
            if self.options.output_field_header and data.size:
                raise DecodeError(f"the header row is missing: {want!r}", table=table.full_name, position=place)
            return 0
        if found.lower() != want.lower():
            raise DecodeError(f"the header row is {found!r}, not {want!r}", table=table.full_name, position=place)
        return len(want)
