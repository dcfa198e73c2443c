"""Rows of cells to change batches: the operation, the commit ts and the images of each row.

`D` and `I` rows with is-update `true` are the two halves of one update and become one again. A batch is in commit
order, so a text that goes back in time, as one that was written twice does, becomes several batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType
from tailrace.codec.columns import shown, visible
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.csv.unescape import unescaped
from tailrace.codec.csv.values import image_columns
from tailrace.codec.grid import Flags, Grid, Malformed
from tailrace.codec.numbers import integers

Ops = npt.NDArray[np.uint8]
Stamps = npt.NDArray[np.int64]
_OPS = ((INSERT, b"I"), (UPDATE, b"U"), (DELETE, b"D"))
_COMMIT = Column(0, "commit-ts", ColumnType("bigint"), nullable=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which place of a row is what: operation, table, schema, then what the options add, then the columns.

    `wanted`: only these columns are looked at, all others are NULL.
    """

    options: CsvOptions
    table: TableSchema
    wanted: frozenset[str] | None = None

    @property
    def update_place(self) -> int:
        return 3 + self.options.include_commit_ts

    @property
    def first_column(self) -> int:
        return self.update_place + self.options.output_old_value + self.options.output_handle_key

    @property
    def cells(self) -> int:
        return self.first_column + len(visible(self.table))

    def whole(self, grid: Grid) -> Grid:
        """The grid without a last row that is only the first half of an update."""
        if not self.options.output_old_value or not grid.rows:
            return grid
        half = grid.equal(0, b"D")[-1] and grid.equal(self.update_place, b"true")[-1]
        return grid.without_last() if half else grid

    def batches(self, grid: Grid, commit_ts: Ts) -> Iterator[ChangeBatch]:
        """The changes of all rows; rows without a commit ts get this one."""
        ops = _operations(grid)
        for place, name in ((1, self.table.name), (2, self.table.schema)):
            self._check_name(grid, place, name)
        stamps = np.full(grid.rows, commit_ts, np.int64)
        if self.options.include_commit_ts:
            stamps = integers(grid, [3], [_COMMIT], None)[0].to_numpy()
        image = self._image(grid)
        new_halves = self._new_halves(grid, ops, stamps)
        batch = _changes(self.table, ops, stamps, image, new_halves)
        falls = np.flatnonzero(np.diff(batch.commit_ts.to_numpy()) < 0) + 1
        for begin, end in pairwise([0, *falls.tolist(), batch.num_rows]):
            yield batch.slice(begin, end - begin)

    def _check_name(self, grid: Grid, place: int, name: str) -> None:
        """Rows of another table would become rows of this one. Databases differ in the case of names."""
        if grid.equal(place, name.encode()).all():
            return
        values = unescaped(grid, place, grid.raw(place), None, self.options).dictionary_encode()
        for found in values.dictionary.to_pylist():
            if found.decode("utf-8", "replace").casefold() != name.casefold():
                row = int(np.argmax(values.indices.to_numpy() == values.dictionary.index(found).as_py()))
                raise Malformed(row, f"the row is of {found!r}, and the file of {name!r}")

    def _image(self, grid: Grid) -> pa.StructArray:
        columns = dict(enumerate(visible(self.table), self.first_column))
        wanted = self.wanted
        if wanted is not None:
            columns = {place: column for place, column in columns.items() if column.name in wanted}
        found = image_columns(grid, columns, self.options)
        struct = self.table.arrow_struct
        filled = [found.get(field.name, pa.nulls(grid.rows, field.type)) for field in struct]
        return pa.StructArray.from_arrays(filled, fields=list(struct))

    def _new_halves(self, grid: Grid, ops: Ops, stamps: Stamps) -> Flags:
        """Which rows hold the new values of an update whose old values are in the row before."""
        if not self.options.output_old_value:
            return np.zeros(grid.rows, np.bool_)
        halves = grid.equal(self.update_place, b"true")
        wrong = ~halves & ~grid.equal(self.update_place, b"false")
        if wrong.any():
            raise Malformed(int(np.argmax(wrong)), "is-update must be true or false")
        old: Flags = halves & (ops == DELETE)
        new: Flags = halves & (ops == INSERT)
        follows = np.append(False, old[:-1] & new[1:] & (stamps[1:] == stamps[:-1]))
        wrong = (halves & ~old & ~new) | (new & ~follows) | (old & ~np.append(follows[1:], False))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise Malformed(row, "an update must be a D row and right after it an I row, both of one commit ts")
        return new


def _operations(grid: Grid) -> Ops:
    ops = np.full(grid.rows, 255, np.uint8)
    for number, letter in _OPS:
        ops[grid.equal(0, letter)] = number
    wrong = ops == 255
    if wrong.any():
        row = int(np.argmax(wrong))
        raise Malformed(row, f"the operation is {shown(grid.raw(0), row)}; it must be I, U or D")
    return ops


def _changes(table: TableSchema, ops: Ops, stamps: Stamps, image: pa.StructArray, new_halves: Flags) -> ChangeBatch:
    """One change a row, or one for the two halves of an update."""
    rows = np.flatnonzero(~np.append(new_halves[1:], False))
    joined = new_halves[rows]
    op = np.where(joined, UPDATE, ops[rows]).astype(np.uint8)
    deleted = op == DELETE
    struct = table.arrow_struct
    after, before = image, pa.nulls(len(rows), struct)
    if deleted.any() or joined.any():
        after = image.take(pa.array(rows, mask=deleted))
        before = image.take(pa.array(rows - joined, mask=~(deleted | joined)))
    commit = pa.array(stamps[rows])
    data = pa.RecordBatch.from_arrays([pa.array(op), commit, commit, after, before], schema=batch_schema(table))
    return ChangeBatch(table, data)
