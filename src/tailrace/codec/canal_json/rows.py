"""Rows of a batch to their bytes: which pieces each is made of.

The order of a row's pieces is: head, `es`, the chunks with both type maps, the cells of `old` where a batch has
updates, the cells of `data`, the ending. A row that does not have one of them has an empty piece there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, UPDATE
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.shape import ABSENT, NULL, TEXT, Shape, variant
from tailrace.codec.pieces import Places, Pool

Kinds = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Ending:
    """What follows the images: `text` after the commit ts or, without the extension, after the last image.

    `only_keys`: images hold the handle key alone. `locations`: of each row where its whole message is, as the inside
    of a JSON string.
    """

    text: str
    only_keys: bool = False
    locations: pa.BinaryArray | None = None


def written(
    shape: Shape, options: CanalJsonOptions, data: pa.RecordBatch, ts: int, ending: Ending
) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
    """The rows' bytes and their offsets."""
    return _Rows(shape, options, data, ending).written(ts)


class _Rows:
    def __init__(self, shape: Shape, options: CanalJsonOptions, data: pa.RecordBatch, ending: Ending) -> None:
        self._shape = shape
        self._options = options
        self._ending = ending
        self._op = data.column(0).to_numpy()
        self._commit = data.column(1)
        self._updates = self._op == UPDATE
        self._deletes = self._op == DELETE
        self._trimmed = self._deletes & options.delete_only_output_handle_key_columns | ending.only_keys
        after = data.column(3).flatten()
        self._after = [after[at] for at in shape.fields]
        self._before: list[pa.Array] = []
        if self._op.any():
            before = data.column(4).flatten()
            self._before = [before[at] for at in shape.fields]
        self._pool = Pool()
        self._pieces: list[Places | int] = []

    def written(self, ts: int) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
        cells = self._pool.add(self._shape.cells)
        heads = self._pool.add(self._shape.heads)
        groups = self._shape.pairs if self._before else self._shape.groups
        texts = self._pool.add_columns(groups, self._after + self._before)
        new, old = texts[: len(self._after)], texts[-len(self._after) :]
        self._pieces = [heads + self._op.astype(np.int32), self._numbers(pc.shift_right(self._commit, 18))]
        self._chunks(ts)
        if self._updates.any():
            last = self._cells(cells, old, self._old_kinds())
            tails = self._pool.add([b'}],"data":[{', b'}],"data":[{', b'"}],"data":[{', b""])
            self._pieces.append(np.where(self._updates, tails + last, tails + 3).astype(np.int32))
        places = np.where(self._deletes, old, new) if self._deletes.any() else new
        self._end(self._cells(cells, places, self._data_kinds()))
        widths = [len(each) if isinstance(each, np.ndarray) and each.ndim == 2 else 1 for each in self._pieces]
        whole, begin = np.empty((len(self._op), sum(widths)), np.int32), 0
        for width, pieces in zip(widths, self._pieces, strict=True):
            whole[:, begin : begin + width] = np.reshape(pieces, (width, -1)).T
            begin += width
        return self._pool.rows(whole)

    def _numbers(self, values: pa.Array) -> Places:
        begin = self._pool.add(values.cast(pa.string()))
        return np.arange(begin, begin + len(values), dtype=np.int32)

    def _chunks(self, ts: int) -> None:
        rising = [at for at, kind in enumerate(self._shape.sql_types) if kind.limit is not None]
        beyond = [self._beyond(at) for at in rising]
        rising = [at for at, flags in zip(rising, beyond, strict=True) if flags is not None]
        which = 4 * self._trimmed + 2 * self._updates
        flags = [np.zeros(len(self._op), np.bool_), *(each for each in beyond if each is not None)]
        for texts, here in zip(self._shape.chunks(ts, rising), flags, strict=True):
            self._pieces.append(self._pool.add(texts) + (which + here).astype(np.int32))

    def _beyond(self, at: int) -> npt.NDArray[np.bool_] | None:
        """The rows whose value is beyond the signed range of its type; None: no row's is."""
        limit = self._shape.sql_types[at].limit
        found = None
        for values, shown in ((self._after[at], ~self._deletes), (self._before and self._before[at], self._deletes)):
            if isinstance(values, pa.Array) and shown.any():
                larger = pc.fill_null(pc.greater(values, pa.scalar(limit, values.type)), False)
                if larger.true_count:
                    flags = larger.to_numpy(zero_copy_only=False) & shown
                    found = flags if found is None else found | flags
        return found if found is not None and found.any() else None

    def _data_kinds(self) -> Kinds | None:
        kinds = _kinds(self._after)
        if self._deletes.any():
            gone = _kinds(self._before)
            columns = (len(self._shape.columns), len(self._op))
            whole = np.full(columns, TEXT, np.uint8)
            kinds = np.where(self._deletes, whole if gone is None else gone, whole if kinds is None else kinds)
        return self._trim(None if kinds is not None and kinds.size and kinds.min() == TEXT else kinds)

    def _old_kinds(self) -> Kinds | None:
        kinds = _kinds(self._before)
        kinds = np.full((len(self._before), len(self._op)), TEXT, np.uint8) if kinds is None else kinds
        kinds[:, ~self._updates] = ABSENT
        if self._options.old_is_partial:
            for at, (old, new) in enumerate(zip(self._before, self._after, strict=True)):
                kinds[at, ~_differs(old, new)] = ABSENT
        return self._trim(kinds)

    def _trim(self, kinds: Kinds | None) -> Kinds | None:
        if not self._trimmed.any():
            return kinds
        if kinds is None:
            kinds = np.full((len(self._shape.columns), len(self._op)), TEXT, np.uint8)
        kinds[np.ix_(~self._shape.in_key, self._trimmed)] = ABSENT
        return kinds

    def _cells(self, cells: int, places: Places, kinds: Kinds | None) -> Places | int:
        """Two pieces a column; the answer is what the last cell of each row is."""
        block = np.empty((2 * len(places), len(self._op)), np.int32)
        first = cells + variant(np.arange(len(places), dtype=np.int32), ABSENT, ABSENT)[:, None]
        if kinds is None:
            block[0::2], block[1::2] = first + variant(0, TEXT, TEXT), places
            block[:1] = cells + variant(0, ABSENT, TEXT)
            self._pieces.append(block)
            return TEXT if len(places) else ABSENT
        before = _before(kinds)
        block[0::2] = first + 3 * before[:-1] + kinds
        block[1::2] = np.where(kinds == TEXT, places, first)
        self._pieces.append(block)
        last: Places = before[-1]
        return last

    def _end(self, last: Places | int) -> None:
        extension = self._options.enable_tidb_extension
        link = ',"_tidb":{"commitTs":' if extension else self._ending.text
        ends = self._pool.add([f"}}]{link}".encode()] * 2 + [f'"}}]{link}'.encode()])
        self._pieces.append(np.asarray(ends + last, np.int32))
        if not extension:
            return
        self._pieces.append(self._numbers(self._commit))
        if self._ending.locations is not None:
            begin = self._pool.add(self._ending.locations)
            link_to = self._pool.add([b',"claimCheckLocation":"'])
            self._pieces += [link_to, np.arange(begin, begin + len(self._op), dtype=np.int32)]
        self._pieces.append(self._pool.add([self._ending.text.encode()]))


def _kinds(values: Sequence[pa.Array]) -> Kinds | None:
    """NULL or TEXT for each value of each column; None: nothing is NULL."""
    if not any(array.null_count for array in values):
        return None
    kinds = np.full((len(values), len(values[0])), TEXT, np.uint8)
    for at, array in enumerate(values):
        if array.null_count:
            kinds[at, pc.is_null(array).to_numpy(zero_copy_only=False)] = NULL
    return kinds


def _before(kinds: Kinds) -> Places:
    """What the last cell before each one is, absent ones passed over; one line more, for what follows the last."""
    whole = np.zeros((len(kinds) + 1, kinds.shape[1]), np.int32)
    whole[1:] = kinds
    if kinds.size and kinds.min() == ABSENT:
        there = np.where(whole > ABSENT, np.arange(len(whole))[:, None], 0)
        whole = np.take_along_axis(whole, np.maximum.accumulate(there, axis=0), axis=0)
    return whole


def _differs(old: pa.Array, new: pa.Array) -> npt.NDArray[np.bool_]:
    other = pc.fill_null(pc.not_equal(old, new), False).to_numpy(zero_copy_only=False)
    appears = pc.not_equal(pc.is_null(old), pc.is_null(new)).to_numpy(zero_copy_only=False)
    return np.asarray(other | appears)
