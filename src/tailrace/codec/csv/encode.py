"""Change batches to CSV: `op,table,schema[,commit-ts][,is-update][,handle-key],columns...` and the terminator.

The bytes are TiCDC's. Two ways lead to them: `pyarrow.csv` wherever it can express the form and the values of the
batch, and joining columns of text where it cannot; both give the same bytes, and a test holds them to it. Never a row
at a time, and never a value that cannot be read back as itself: those are an EncodeError.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.columns import visible
from tailrace.codec.csv.cells import Cell, column_cell
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.csv.write import joined, native, writes_natively
from tailrace.codec.handle import handle_text

_LETTERS = pa.array(["I", "U", "D"])
_SLICE_ROWS, _SLICE_BYTES = 1 << 20, 128 << 20


@dataclass(frozen=True, slots=True)
class CsvEncoder:
    """A FileEncoder."""

    options: CsvOptions

    @property
    def extension(self) -> str:
        return ".csv"

    def header(self, table: TableSchema) -> bytes:
        """The names of the cells, never quoted or escaped; nothing unless `output-field-header` is set."""
        return header_line(self.options, table) if self.options.output_field_header else b""

    def encode(self, batch: ChangeBatch) -> pa.Buffer:
        rows = batch.num_rows
        if rows > 1 and (rows > _SLICE_ROWS or batch.nbytes > _SLICE_BYTES):
            halves = (self.encode(batch.slice(0, rows // 2)), self.encode(batch.slice(rows // 2)))
            return pa.py_buffer(b"".join(halves))
        if not rows:
            return pa.py_buffer(b"")
        cells = _cells(batch, self.options)
        return native(cells, self.options) if writes_natively(cells, self.options) else joined(cells, self.options)


def header_line(options: CsvOptions, table: TableSchema) -> bytes:
    """The header row of a table's files, as newer versions of TiCDC write it: the handle key is not named."""
    meta = ["ticdc-meta$operation", "ticdc-meta$table", "ticdc-meta$schema"]
    meta += ["ticdc-meta$commit-ts"] if options.include_commit_ts else []
    meta += ["ticdc-meta$is-update"] if options.output_old_value else []
    names = [column.name for column in visible(table)]
    return (options.delimiter.join(meta + names) + options.terminator).encode()


def _cells(batch: ChangeBatch, options: CsvOptions) -> list[Cell]:
    """One column of cells for each place of a row, meta cells first."""
    op = batch.op.to_numpy()
    order = _order(op, options)
    letters, commit_ts, is_update = op, batch.commit_ts, op == UPDATE
    if order is not None and options.output_old_value:
        source = order % len(op)
        commit_ts, is_update = commit_ts.take(pa.array(source)), is_update[source]
        letters = np.where(order < len(op), INSERT, DELETE)
    rows = len(letters)
    cells = [
        Cell(_LETTERS.take(pa.array(letters)), quoted=True),
        Cell(pa.repeat(batch.table.name, rows), quoted=True),
        Cell(pa.repeat(batch.table.schema, rows), quoted=True),
    ]
    if options.include_commit_ts:
        cells.append(Cell(commit_ts, quoted=False))
    if options.output_old_value:
        cells.append(Cell(pa.array(is_update), quoted=False))
    images = dict(zip((column.name for column in batch.table.row_columns), _images(batch, order), strict=True))
    if options.output_handle_key:
        cells.append(Cell(handle_text(batch.table, images), quoted=True))
    method = options.binary_encoding_method
    return cells + [column_cell(column, images[column.name], method) for column in visible(batch.table)]


def _order(op: np.ndarray[tuple[int], np.dtype[np.uint8]], options: CsvOptions) -> np.ndarray | None:
    """Where each row's values come from: i is row i's new values, rows + i its old ones; None: all are new."""
    rows = len(op)
    if not op.any():
        return None
    at = np.arange(rows, dtype=np.int64)
    if not options.output_old_value:
        return np.where(op == DELETE, at + rows, at)
    twice = np.repeat(at, np.where(op == UPDATE, 2, 1))
    first = np.append(True, twice[1:] != twice[:-1])
    old = (op[twice] == DELETE) | ((op[twice] == UPDATE) & first)
    return np.where(old, twice + rows, twice)


def _images(batch: ChangeBatch, order: np.ndarray | None) -> list[pa.Array]:
    after = batch.after.flatten()
    if order is None:
        return list(after)
    places = pa.array(order)
    return [pa.concat_arrays(pair).take(places) for pair in zip(after, batch.before.flatten(), strict=True)]
