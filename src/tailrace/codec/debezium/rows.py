"""Rows of a batch to debezium messages: which pieces each is made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, UPDATE
from tailrace.codec.debezium.options import DebeziumOptions
from tailrace.codec.debezium.shape import Shape
from tailrace.codec.debezium.values import text_of
from tailrace.codec.images import ABSENT, TEXT, add_alike, joined, numbered
from tailrace.codec.pieces import Places, Pool


def written(
    shape: Shape, options: DebeziumOptions, data: pa.RecordBatch, ts: int
) -> tuple[npt.NDArray[np.int32], pa.Buffer]:
    """The rows' bytes and their offsets; `ts` is the time of writing."""
    pool, op = Pool(), data.column(0).to_numpy()
    form, commit = shape.form, data.column(1)
    heads = pool.add([shape.head.encode(), shape.names.encode()])
    literals = pool.add(form.literals)
    pieces: list[Places | int] = [heads, numbered(pool, pc.shift_right(commit, 18)), heads + 1, numbered(pool, commit)]
    start = f'{shape.source}{ts},"transaction":null,"op":"'
    update = '"u","before":{' if options.output_old_value else '"u","after":{'
    leads = ['c","before":null,"after":{', update[1:], 'd","after":null,"before":{']
    begins = pool.add([f"{start}{lead}".encode() for lead in leads])
    pieces.append(begins + op.astype(np.int32))
    last: Places | int = ABSENT
    old_shown = (op == DELETE) | ((op == UPDATE) & options.output_old_value)
    if old_shown.any():
        block, last = _image(shape, options, pool, data.column(4), old_shown, literals)
        pieces.append(block)
        links = pool.add([*form.ended('},"after":{'), b""])
        both = (op == UPDATE) & options.output_old_value
        if both.any():
            pieces.append(np.where(both, links + last, links + len(form.closings)).astype(np.int32))
    new_shown = op != DELETE
    if new_shown.any():
        block, after = _image(shape, options, pool, data.column(3), new_shown, literals)
        pieces.append(block)
        last = after if new_shown.all() else np.where(new_shown, after, last).astype(np.int32)
    ends = pool.add(form.ended(f"}}{shape.end}"))
    pieces.append(ends + last if isinstance(last, int) else (ends + last).astype(np.int32))
    return pool.rows(joined(pieces, len(op)))


def _image(
    shape: Shape,
    options: DebeziumOptions,
    pool: Pool,
    image: pa.StructArray,
    shown: npt.NDArray[np.bool_],
    literals: int,
) -> tuple[Places, Places | int]:
    fields = image.flatten()
    places, kinds = add_alike(
        pool,
        [fields[at] for at in shape.fields],
        shape.alike,
        lambda values, at: text_of(values, shape.columns[at], options.time_zone),
    )
    if not shown.all():
        kinds = np.full(places.shape, TEXT, np.uint8) if kinds is None else kinds
        kinds[:, ~shown] = ABSENT
    return shape.form.block(literals, places, kinds)
