"""Rows as runs of pieces: every literal and every value's text is in one pool, and a row says which ones it is made of.

Writing rows is then one gather of Arrow, whatever differs from row to row: a NULL, another operation, a cell that is
left out. Values of one Arrow type are turned into text together, so a hundred short columns cost no more calls than
one long one. Nothing here loops over rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.floats import fixed_text
from tailrace.change.schema import Column
from tailrace.codec.escapes import escaped, latin1_escaped, needing_escape
from tailrace.errors import EncodeError

Places = npt.NDArray[np.int32]

_SLICE_BYTES, _LONG_ROW = 10 << 20, 4096


class Pool:
    """Pieces by number; `add` and `add_columns` say which numbers their values got."""

    def __init__(self) -> None:
        self._arrays: list[pa.Array] = []
        self._size = 0

    def add(self, values: pa.Array | Sequence[bytes]) -> int:
        """The number of the first value; the others follow."""
        array = values if isinstance(values, pa.Array) else pa.array(values, pa.binary())
        self._arrays.append(array if pa.types.is_binary(array.type) else array.cast(pa.binary()))
        begin, self._size = self._size, self._size + len(array)
        return begin

    def add_columns(self, groups: Mapping[pa.DataType, Sequence[int]], values: Sequence[pa.Array]) -> Places:
        """The numbers of the values' texts, as they stand inside of JSON strings: one line a column.

        `groups` says which columns are of which type; what is NULL has a number too, of an empty piece.
        """
        rows = len(values[0]) if values else 0
        places = np.empty((len(values), rows), np.int32)
        for kind, members in groups.items():
            joined = pa.concat_arrays([values[at] for at in members]) if len(members) > 1 else values[members[0]]
            places[list(members)] = self._added(kind, joined).reshape(len(members), rows)
        return places

    def _added(self, kind: pa.DataType, values: pa.Array) -> Places:
        text = latin1_escaped(values) if pa.types.is_binary(kind) else text_of(values)
        odd = needing_escape(text) if pa.types.is_string(kind) else np.zeros(0, np.int64)
        if len(odd) == len(text) > 0:
            text, odd = escaped(text), odd[:0]
        begin = self.add(text)
        places = np.arange(begin, begin + len(text), dtype=np.int32)
        if len(odd):
            begin = self.add(escaped(text.take(pa.array(odd))))
            places[odd] = np.arange(begin, begin + len(odd), dtype=np.int32)
        return places

    def rows(self, pieces: Places) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
        """The bytes of all rows, each line of `pieces` being one, and their offsets. The pool is empty then."""
        return self.layouts(pieces)[0]

    def layouts(self, *several: Places) -> list[tuple[npt.NDArray[np.int32], pa.Buffer]]:
        """The same for several sorts of rows, which share their pieces."""
        arrays, self._arrays = pa.concat_arrays(self._arrays), []
        return [_gathered(arrays, pieces) for pieces in several]


def _gathered(arrays: pa.BinaryArray, pieces: Places) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
    whole = arrays.take(pa.array(pieces.reshape(-1)))
    _, offsets, data = whole.buffers()
    borders = np.frombuffer(offsets, np.int32)[: len(whole) + 1 : pieces.shape[1]]
    return borders, data.slice(0, int(borders[-1]))


def slices(data: pa.RecordBatch, columns: int) -> list[pa.RecordBatch]:
    """A batch in equal parts, so that none makes more text than an Arrow column or our memory can take."""
    rows = data.num_rows
    each = 200 + 60 * columns + 2 * data.nbytes // max(rows, 1)
    limit = max(_SLICE_BYTES // (each if each < _LONG_ROW else 4 * each), 1)
    size = -(-rows // -(-rows // limit)) if rows else 1
    return [data.slice(begin, size) for begin in range(0, rows, size)]


def by_type(columns: Sequence[Column]) -> dict[pa.DataType, list[int]]:
    """The columns' numbers by Arrow type, as `add_columns` wants them."""
    groups: dict[Any, list[int]] = {}
    for at, column in enumerate(columns):
        groups.setdefault(column.type.arrow, []).append(at)
    return groups


def text_of(values: pa.Array) -> pa.StringArray:
    """Numbers as decimal text, floats without an exponent; text as it is."""
    if pa.types.is_string(values.type):
        return values
    if not pa.types.is_floating(values.type):
        return values.cast(pa.string())
    if pc.all(pc.is_finite(values)).as_py() is False:
        raise EncodeError("a column of floats holds a number that is not finite, which has no text")
    return fixed_text(values)
