"""CSV to change batches: the way back, and the way in for buckets that TiCDC wrote.

Every cell that is accepted is the one value that its column's type has for it; anything else is a DecodeError that
names the file, the row (from 1 on, a header not counted) and what would be right. A file that does not end in the
terminator was cut off and is refused. The format carries no start ts (the commit ts stands in), and without
`include-commit-ts` no commit ts either: then every row gets the one that the decoder was given. A `U` row has no old
values, so its `before` is absent; `D` and `I` rows with is-update `true` become one update again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch, batch_schema
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.csv.encode import header_line
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.csv.scan import Grid, Malformed, scan
from tailrace.codec.csv.values import column_values, integers
from tailrace.errors import ConfigError, DecodeError

_BLOCK = 4 << 20
_HEADER_MARK = b"ticdc-meta$operation"


@dataclass(frozen=True, slots=True)
class CsvDecoder:
    """A FileDecoder. `commit_ts` is what rows get that carry none."""

    options: CsvOptions
    commit_ts: Ts = 0

    def __post_init__(self) -> None:
        form = self.options
        if not form.terminator or (form.quote and form.quote in form.terminator):
            raise ConfigError(f"sink.terminator is {form.terminator!r}; CSV with it cannot be read back")
        if not form.quote and (set(form.delimiter) & set("nr\\") or form.null.endswith("\\")):
            raise ConfigError(
                f"sink.csv.quote is empty, and delimiter {form.delimiter!r} or null {form.null!r} looks like an "
                "escape; CSV with them cannot be read back"
            )

    def decode(self, data: pa.Buffer, table: TableSchema, place: str) -> Iterator[ChangeBatch]:
        text = np.frombuffer(data, np.uint8)
        position, row = self._after_header(data, table, place), 0
        layout = _Layout.of(self.options, table)
        size = _BLOCK
        while position < len(text):
            block = text[position : position + size]
            try:
                grid = layout.whole(scan(block, layout.cells, self.options))
                if grid.rows:
                    yield from layout.batches(grid, self.commit_ts)
            except Malformed as wrong:
                raise DecodeError(
                    wrong.message, table=table.full_name, position=f"{place} row {row + wrong.row + 1}"
                ) from None
            if not grid.rows and position + len(block) == len(text):
                raise DecodeError(
                    f"the file ends inside a row; it must end with the terminator {self.options.terminator!r}",
                    table=table.full_name,
                    position=f"{place} row {row + 1}",
                )
            size = _BLOCK if grid.rows else size * 2
            position, row = position + grid.consumed, row + grid.rows

    def _after_header(self, data: pa.Buffer, table: TableSchema, place: str) -> int:
        """Where the first row begins. A header is recognised whether or not the options ask for one."""
        begin = data.slice(0, min(data.size, 64)).to_pybytes()
        if not begin.startswith(_HEADER_MARK):
            if self.options.output_field_header and data.size:
                raise DecodeError("the header row is missing", table=table.full_name, position=place)
            return 0
        want = header_line(self.options, table)
        found = data.slice(0, min(len(want), data.size)).to_pybytes()
        if found.lower() != want.lower():
            raise DecodeError(
                f"the header row is {found!r}; it must be {want!r}", table=table.full_name, position=place
            )
        return len(want)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which cell of a row is what."""

    options: CsvOptions
    table: TableSchema
    commit_at: int
    update_at: int
    first: int
    cells: int

    @classmethod
    def of(cls, options: CsvOptions, table: TableSchema) -> _Layout:
        update_at = 3 + options.include_commit_ts
        first = update_at + options.output_old_value + options.output_handle_key
        return cls(options, table, 3, update_at, first, first + len(table.row_columns))

    def whole(self, grid: Grid) -> Grid:
        """Without a last row that is the first half of an update, if more than it was read."""
        if not self.options.output_old_value or not grid.rows:
            return grid
        open_half = bool(grid.equal(0, b"D")[-1] and grid.equal(self.update_at, b"true")[-1])
        return grid.cut(grid.rows - 1) if open_half else grid

    def batches(self, grid: Grid, commit_ts: Ts) -> Iterator[ChangeBatch]:
        letters = self._letters(grid)
        self._check_names(grid)
        commits = np.full(grid.rows, commit_ts, np.int64)
        if self.options.include_commit_ts:
            commits = integers(grid.raw(self.commit_at), pa.int64(), "the commit ts").to_numpy()
        columns = [
            column_values(grid, self.first + at, column, self.options)
            for at, column in enumerate(self.table.row_columns)
        ]
        image = pa.StructArray.from_arrays(columns, fields=list(self.table.arrow_struct))
        batch = self._changes(letters, commits, image, self._second_halves(grid, letters, commits))
        for begin, end in _climbs(batch.commit_ts.to_numpy()):
            yield batch.slice(begin, end - begin)

    def _letters(self, grid: Grid) -> npt.NDArray[np.uint8]:
        known = {INSERT: b"I", UPDATE: b"U", DELETE: b"D"}
        op = np.full(grid.rows, 255, np.uint8)
        for number, letter in known.items():
            op[grid.equal(0, letter)] = number
        wrong = np.flatnonzero(op == 255)
        if len(wrong):
            raise Malformed(
                int(wrong[0]), f"the operation is {grid.raw(0)[int(wrong[0])].as_py()!r}; it must be I, U or D"
            )
        return op

    def _check_names(self, grid: Grid) -> None:
        """Rows of another table in this file would become rows of this one."""

    def _second_halves(
        self, grid: Grid, letters: npt.NDArray[np.uint8], commits: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_] | None:
        """Which rows hold the new values of an update whose old values are in the row before; None: no such rows."""
        if not self.options.output_old_value:
            return None
        paired = grid.equal(self.update_at, b"true")
        wrong = ~paired & ~grid.equal(self.update_at, b"false")
        if wrong.any():
            raise Malformed(int(np.argmax(wrong)), "is-update is neither true nor false")
        old, new = paired & (letters == DELETE), paired & (letters == INSERT)
        wrong = paired & ~old & ~new
        wrong[:-1] |= old[:-1] & ~(new[1:] & (commits[1:] == commits[:-1]))
        wrong[1:] |= new[1:] & ~old[:-1]
        wrong[:1] |= new[:1]
        wrong[-1:] |= old[-1:]
        if wrong.any():
            raise Malformed(
                int(np.argmax(wrong)), "an update must be a D row and at once an I row of the same commit ts"
            )
        return new

    def _changes(
        self,
        letters: npt.NDArray[np.uint8],
        commits: npt.NDArray[np.int64],
        image: pa.StructArray,
        second: npt.NDArray[np.bool_] | None,
    ) -> ChangeBatch:
        struct = self.table.arrow_struct
        old = letters == DELETE
        rows = np.arange(len(letters))
        op = letters
        if second is not None and second.any():
            rows = np.flatnonzero(~np.append(second[1:], False))
            op = np.where(second[rows], UPDATE, letters[rows]).astype(np.uint8)
        if not old.any():
            after, before = image, pa.nulls(len(rows), struct)
        else:
            is_update = np.zeros(len(rows), np.bool_) if second is None else second[rows]
            gone = op == DELETE
            after = image.take(pa.array(rows, mask=gone))
            before = image.take(pa.array(rows - is_update, mask=~(gone | is_update)))
        stamps = pa.array(commits[rows])
        data = pa.RecordBatch.from_arrays(
            [pa.array(op), stamps, stamps, after, before], schema=batch_schema(self.table)
        )
        return ChangeBatch(self.table, data)


def _climbs(commits: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The stretches in which commit time never falls: a batch is in commit order, a file that was replayed is not."""
    falls = np.flatnonzero(commits[1:] < commits[:-1]) + 1
    yield from pairwise([0, *falls.tolist(), len(commits)])
