"""Rows of a batch to simple messages: which pieces each is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.codec.binary import base64_text
from tailrace.codec.images import ABSENT, TEXT, Kinds, joined, kinds_of, numbered
from tailrace.codec.pieces import Places, Pool
from tailrace.codec.simple.shape import Shape
from tailrace.errors import EncodeError


@dataclass(frozen=True, slots=True)
class Reduced:
    """Rows are sent with the handle key alone. `locations`: of each row where its whole message is, as the inside of a
    JSON string."""

    locations: pa.BinaryArray | None = None


def written(
    shape: Shape, data: pa.RecordBatch, ts: int, reduced: Reduced | None = None
) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
    """The rows' bytes and their offsets; `ts` is the build time."""
    if reduced is not None and not shape.in_key.any():
        raise EncodeError("a change cannot be sent with its handle key alone, for its table has none")
    return _Rows(shape, data, reduced).written(ts)


class _Rows:
    def __init__(self, shape: Shape, data: pa.RecordBatch, reduced: Reduced | None) -> None:
        self._shape = shape
        self._reduced = reduced
        self._op = data.column(0).to_numpy()
        self._commit = data.column(1)
        after = data.column(3).flatten()
        self._after = [after[at] for at in shape.fields]
        before = data.column(4).flatten() if self._op.any() else []
        self._before = [before[at] for at in shape.fields] if len(before) else []
        self._pool = Pool()

    def written(self, ts: int) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
        pool, shape, rows = self._pool, self._shape, len(self._op)
        heads, literals = pool.add(list(shape.heads)), pool.add(shape.form.literals)
        pieces: list[Places | int] = [heads + self._op.astype(np.int32), numbered(pool, self._commit)]
        middle = f',"buildTs":{ts}{shape.middle}'
        if self._reduced is not None and self._reduced.locations is not None:
            pieces.append(pool.add([f'{middle},"claimCheckLocation":"'.encode()]))
            pieces.append(numbered(pool, self._reduced.locations))
            middle = '"'
        middle += ',"handleKeyOnly":true' if self._reduced is not None else ""
        leads = pool.add([f'{middle},"data":{{'.encode(), f'{middle},"old":{{'.encode()])
        pieces.append((leads + (self._op == DELETE)).astype(np.int32))
        texts = self._texts()
        new, old = texts[: len(self._after)], texts[-len(self._after) :]
        last: Places | int = ABSENT
        if (self._op != DELETE).any():
            block, last = shape.form.block(literals, new, self._kinds(self._after, self._op != DELETE))
            pieces.append(block)
        if self._before:
            links = pool.add([*shape.form.ended('},"old":{'), b""])
            updated = self._op == UPDATE
            if updated.any():
                pieces.append(np.where(updated, links + last, links + len(shape.form.closings)).astype(np.int32))
            block, after = shape.form.block(literals, old, self._kinds(self._before, self._op != INSERT))
            pieces.append(block)
            last = np.where(self._op == INSERT, last, after).astype(np.int32)
        ends = pool.add(shape.form.ended("}}"))
        pieces.append(ends + last if isinstance(last, int) else (ends + last).astype(np.int32))
        return pool.rows(joined(pieces, rows))

    def _kinds(self, values: list[pa.Array], there: npt.NDArray[np.bool_]) -> Kinds | None:
        kinds = kinds_of(values)
        if there.all() and self._reduced is None:
            return kinds
        kinds = np.full((len(values), len(self._op)), TEXT, np.uint8) if kinds is None else kinds
        kinds[:, ~there] = ABSENT
        if self._reduced is not None:
            kinds[~self._shape.in_key] = ABSENT
        return kinds

    def _texts(self) -> Places:
        """Which pieces the values are, those of the second image behind those of the first one."""
        images = [self._after, self._before] if self._before else [self._after]
        places = np.empty((sum(map(len, images)), len(self._op)), np.int32)
        for number, image in enumerate(images):
            first = number * len(self._shape.columns)
            for at in self._shape.binaries:
                places[first + at] = numbered(self._pool, base64_text(image[at]).cast(pa.binary()))
            if self._shape.plain:
                chosen = [first + at for at in self._shape.plain]
                places[chosen] = self._pool.add_columns(self._shape.groups, [image[at] for at in self._shape.plain])
        return places
