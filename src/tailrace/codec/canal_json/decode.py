"""Canal-json to change batches: files of rows, ours and those that TiCDC wrote.

A row that is accepted says exactly what the batch says; anything else is a DecodeError that names the file, the row
(from 1 on) and what would be right. Rows that were written without the extension have no commit ts: theirs is the
first one of their millisecond. The format carries no start ts (the commit ts stands in), and a column that `old`
leaves out is as in `data`. A DELETE may hold its handle key alone; its other columns are then NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.canal_json.cells import Bytes
from tailrace.codec.canal_json.heads import Places
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.rowtext import RowText
from tailrace.codec.grid import Malformed
from tailrace.errors import ConfigError, DecodeError

_LONGEST_ROW = 1 << 30


@dataclass(frozen=True, slots=True)
class CanalJsonDecoder:
    """A FileDecoder. `block_bytes` is how much is read at a time."""

    options: CanalJsonOptions
    block_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        if not any(char < " " for char in self.options.terminator):
            raise ConfigError(
                f"sink.terminator is {self.options.terminator!r}; rows of JSON can be told apart where it holds a "
                "line break or another control character"
            )

    def decode(self, data: pa.Buffer, table: TableSchema, place: str) -> Iterator[ChangeBatch]:
        text, rows = np.frombuffer(data, np.uint8), RowText(table, self.options.enable_tidb_extension)
        position, row, size = 0, 0, self.block_bytes
        while position < len(text):
            block = text[position : position + size]
            starts, ends, consumed = self._lines(block, position + len(block) == len(text))
            if not len(starts):
                if size > _LONGEST_ROW:
                    raise DecodeError("the row does not end", table=table.full_name, position=f"{place} row {row + 1}")
                size *= 2
                continue
            try:
                yield from _in_order(table, rows.read(block, starts, ends))
            except Malformed as wrong:
                at = f"{place} row {row + wrong.row + 1}"
                raise DecodeError(wrong.message, table=table.full_name, position=at) from None
            position, row, size = position + consumed, row + len(starts), self.block_bytes

    def _lines(self, block: Bytes, is_last: bool) -> tuple[Places, Places, int]:
        """Where whole rows begin and end, and how much they take. The last of a file may lack its terminator."""
        mark = self.options.terminator.encode()
        last = max(range(len(mark)), key=lambda at: mark[at] < 0x20)  # a control character stands nowhere else
        found = np.flatnonzero(block == mark[last]) - last
        for at, byte in enumerate(mark):
            if at != last:
                found = found[(found + at >= 0) & (found + at < len(block))]
                found = found[block[found + at] == byte]
        if len(mark) > 1 and len(found) > 1 and (np.diff(found) < len(mark)).any():
            found = found[np.append(True, np.diff(found) >= len(mark))]
        starts = np.append(0, found + len(mark))
        if is_last and starts[-1] < len(block):
            return starts, np.append(found, len(block)), len(block)
        return starts[:-1], found, int(starts[-1])


def _in_order(table: TableSchema, data: pa.RecordBatch) -> Iterator[ChangeBatch]:
    """One batch, or several where the commit ts goes back, as it does where rows were written twice."""
    falls = np.flatnonzero(np.diff(data.column(1).to_numpy()) < 0) + 1
    for begin, end in pairwise([0, *falls.tolist(), data.num_rows]):
        yield ChangeBatch(table, data.slice(begin, end - begin))
