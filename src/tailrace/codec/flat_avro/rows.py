"""Rows of a batch to the bytes of keys and values: which pieces each is made of.

A key is its header and the cells of the key's columns, from `before` where the row is a DELETE; a value is its
header, the cells of all columns and the fields of the extension. A DELETE has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, UPDATE
from tailrace.codec.flat_avro.cells import varint_cells, zigzag
from tailrace.codec.flat_avro.checksums import row_checksums
from tailrace.codec.flat_avro.options import FlatAvroOptions
from tailrace.codec.flat_avro.schemas import Shape
from tailrace.codec.flat_avro.values import Columns
from tailrace.codec.pieces import Places, Pool
from tailrace.errors import EncodeError

Header = Callable[[str], bytes]  # of the messages' part that is named, "key" or "value"
Rows = tuple[npt.NDArray[np.int64], pa.Buffer]


class RowWriter:
    """Writes rows of one table version. `header` is asked only for parts that are written."""

    def __init__(self, shape: Shape, options: FlatAvroOptions) -> None:
        self._shape = shape
        self._options = options
        self._columns = Columns(shape.fields)

    def written(self, data: pa.RecordBatch, header: Header) -> tuple[pa.LargeBinaryArray, pa.LargeBinaryArray]:
        """Keys and values of the rows."""
        op = data.column(0).to_numpy()
        deletes = op == DELETE
        values = self._images(data, deletes)
        live = np.flatnonzero(~deletes)
        pool = Pool()
        cells = self._columns.added(pool, values)
        layouts = [
            _joined([pool.add([header("key")]), *chain.from_iterable(cells[at] for at in self._shape.keys)], len(op))
        ]
        if len(live):
            pieces = [pool.add([header("value")]), *chain.from_iterable(cells)]
            pieces += self._extension(pool, data, op)
            layouts.append(_joined(pieces, len(op), None if len(live) == len(op) else live))
        made = pool.layouts(*layouts)
        keys = _binary(made[0][0], made[0][1], None)
        if not len(live):
            return keys, pa.nulls(len(op), pa.large_binary())
        borders, text = made[1]
        if len(live) == len(op):
            return keys, _binary(borders, text, None)
        ends = np.zeros(len(op) + 1, np.int64)
        np.cumsum(_spread(np.diff(borders), live, len(op)), out=ends[1:])
        return keys, _binary(ends, text, pa.array(~deletes).buffers()[1])

    def _images(self, data: pa.RecordBatch, deletes: npt.NDArray[np.bool_]) -> list[pa.Array]:
        """The columns of `after`; those of the key from `before` where `after` is absent."""
        after, gone = data.column(3).flatten(), int(deletes.sum())
        before = data.column(4).flatten() if gone else []
        values = []
        for at, (field, place) in enumerate(zip(self._shape.fields, self._shape.places, strict=True)):
            array, allowed = after[place], gone
            if gone and at in self._shape.keys:
                array, allowed = pc.if_else(pa.array(deletes), before[place], array), 0
            if field.null_branch < 0 and array.null_count > allowed:
                raise EncodeError(f"column {field.column.name} is NOT NULL, and holds a NULL")
            values.append(array)
        return values

    def _extension(self, pool: Pool, data: pa.RecordBatch, op: npt.NDArray[np.uint8]) -> list[Places | int]:
        if not self._options.enable_tidb_extension:
            return []
        begin = pool.add([b"\2c", b"\2u"])
        pieces: list[Places | int] = [begin + (op == UPDATE).astype(np.int32)]
        commits = data.column(1).to_numpy()
        new = np.append(True, commits[1:] != commits[:-1])
        stamps = commits[new]
        cells = varint_cells(zigzag(np.concatenate([stamps, stamps >> 18])))
        begin = pool.add(cells) + 1
        which = 2 * (np.cumsum(new, dtype=np.int32) - 1)
        pieces += [begin + which, begin + 2 * len(stamps) + which]
        if self._options.enable_row_checksum:
            pieces.append(self._checksums(pool, data))
        return [np.asarray(each, np.int32) for each in pieces]

    def _checksums(self, pool: Pool, data: pa.RecordBatch) -> Places:
        """The checksum's text, that nothing is corrupted, and the version; nothing is said of a sum that is 0."""
        sums = row_checksums(self._shape, self._options.time_zone, data.column(3))
        text = pc.if_else(pc.equal(sums, 0), "", sums.cast(pa.string())).cast(pa.binary())
        lengths = pa.array([bytes([2 * length]) for length in range(11)], pa.binary()).take(pc.binary_length(text))
        begin = pool.add(pc.binary_join_element_wise(lengths, text, pa.scalar(b"\0\0"), pa.scalar(b"")))
        return np.arange(begin, begin + len(text), dtype=np.int32)


def _joined(pieces: Sequence[Places | int], rows: int, live: npt.NDArray[np.intp] | None = None) -> Places:
    """The pieces of each row in one line; of the `live` rows only."""
    whole = np.empty((rows if live is None else len(live), len(pieces)), np.int32)
    for at, each in enumerate(pieces):
        whole[:, at] = each if live is None or isinstance(each, int) else each[live]
    return whole


def _spread(lengths: npt.NDArray[np.int32], live: npt.NDArray[np.intp], rows: int) -> npt.NDArray[np.int64]:
    whole = np.zeros(rows, np.int64)
    whole[live] = lengths
    return whole


def _binary(borders: npt.NDArray[np.integer], data: pa.Buffer, validity: pa.Buffer | None) -> pa.LargeBinaryArray:
    buffers = [validity, pa.py_buffer(borders.astype(np.int64)), data]
    return pa.Array.from_buffers(pa.large_binary(), len(borders) - 1, buffers)
