"""Rows of a batch to frames: which pieces each key and each value is made of.

A frame begins with its length, which is known when it is written; the eight bytes are left free until then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, UPDATE
from tailrace.change.floats import json_float_text
from tailrace.change.schema import Column
from tailrace.codec.binary import base64_text
from tailrace.codec.go_quote import go_quoted
from tailrace.codec.handle import handle_text
from tailrace.codec.images import ABSENT, TEXT, Kinds, add_alike, differs, joined, kinds_of, numbered
from tailrace.codec.open_protocol.options import OpenProtocolOptions
from tailrace.codec.open_protocol.shape import Shape
from tailrace.codec.pieces import Places, Pool, by_type
from tailrace.errors import EncodeError

PREFIX = 8
_FREE = b"\0" * PREFIX


def value_frames(shape: Shape, options: OpenProtocolOptions, data: pa.RecordBatch, only_keys: bool) -> pa.BinaryArray:
    """The value of each row, its length before it. `only_keys`: images hold the handle key alone."""
    return _Values(shape, options, data, only_keys).written()


def key_frames(
    shape: Shape, data: pa.RecordBatch, tail: str, locations: pa.BinaryArray | None = None
) -> pa.BinaryArray:
    """The key of each row, its length before it. `tail` stands behind the type; `locations` are the insides of JSON
    strings behind it."""
    pool, rows = Pool(), data.num_rows
    literals = pool.add([_FREE + b'{"ts":', f"{shape.names}".encode(), b',"rid":', b""])
    pieces: list[Places | int] = [literals, numbered(pool, data.column(1)), literals + 1]
    handles = _row_ids(shape, data)
    if handles is not None:
        there = pc.not_equal(handles, b"0").to_numpy(zero_copy_only=False)
        pieces += [
            np.where(there, literals + 2, literals + 3).astype(np.int32),
            np.where(there, numbered(pool, handles), literals + 3).astype(np.int32),
        ]
    partition = f',"ptn":{shape.partition}' if shape.partition else ""
    pieces.append(pool.add([f'{partition},"t":1{tail}'.encode()]))
    if locations is not None:
        pieces += [numbered(pool, locations), pool.add([b'"}'])]
    return _framed(*pool.rows(joined(pieces, rows)))


def _row_ids(shape: Shape, data: pa.RecordBatch) -> pa.BinaryArray | None:
    """The integer handles; None: the table has none, or its upstream does not tell them."""
    table = shape.table
    if table.common_handle:
        return None
    name = table.handle_key[0] if table.pk_is_handle and table.handle_key else ""
    name = name or next((column.name for column in table.row_columns if column.hidden), "")
    if not name:
        return None
    at = [column.name for column in table.row_columns].index(name)
    after = pc.struct_field(data.column(3), [at])
    gone = pc.equal(data.column(0), pa.scalar(DELETE, pa.uint8()))
    values = pc.if_else(gone, pc.struct_field(data.column(4), [at]), after) if pc.any(gone).as_py() else after
    return handle_text(table, {name: values})


def _framed(borders: npt.NDArray[np.int32], data: pa.Buffer) -> pa.BinaryArray:
    """The lengths put into their places."""
    held = np.frombuffer(data, np.uint8)
    held = held if held.flags.writeable else held.copy()
    if len(borders) > 1:
        words = np.ndarray((len(held) - PREFIX + 1,), np.dtype(">u8"), held, 0, (1,))
        words[borders[:-1]] = np.diff(borders) - PREFIX
    buffers = [None, pa.py_buffer(np.ascontiguousarray(borders)), pa.py_buffer(held)]
    return pa.Array.from_buffers(pa.binary(), len(borders) - 1, buffers)


class _Values:
    def __init__(self, shape: Shape, options: OpenProtocolOptions, data: pa.RecordBatch, only_keys: bool) -> None:
        self._shape = shape
        self._options = options
        self._op = data.column(0).to_numpy()
        self._updates = self._op == UPDATE
        self._deletes = self._op == DELETE
        self._trimmed = self._deletes & options.delete_only_output_handle_key_columns | only_keys
        if not shape.in_key.any() and self._trimmed.any():
            raise EncodeError(
                "a change cannot be sent with its handle key alone, for its table has none",
                table=shape.table.full_name,
                position=f"change {int(np.argmax(self._trimmed)) + 1} of the batch",
            )
        after = data.column(3).flatten()
        self._after = [after[at] for at in shape.fields]
        self._before: list[pa.Array] = []
        if self._op.any():
            before = data.column(4).flatten()
            self._before = [before[at] for at in shape.fields]
        self._with_old = bool(options.output_old_value and self._updates.any())
        self._pool = Pool()

    def written(self) -> pa.BinaryArray:
        pool, form = self._pool, self._shape.form
        literals = pool.add(form.literals)
        opening = pool.add([_FREE + b'{"u":{', _FREE + b'{"d":{'])
        columns = len(self._after)
        texts = self._texts([*self._after, *self._before])
        new, old = texts[:columns], texts[-columns:]
        places = np.where(self._deletes, old, new) if self._deletes.any() else new
        main, last = form.block(literals, places, self._main_kinds())
        pieces: list[Places | int] = [(opening + self._deletes).astype(np.int32), main]
        if self._with_old:
            kinds = self._old_kinds()
            there = (kinds != ABSENT).any(axis=0)
            middle = pool.add([*form.ended('},"p":{'), *form.ended("")])
            pieces.append((middle + last + len(form.closings) * ~there).astype(np.int32))
            block, after = form.block(literals, old, kinds)
            pieces.append(block)
            last = np.asarray(np.where(there, after, ABSENT), np.int32)
        pieces.append(np.asarray(pool.add(form.ended("}}")) + last, np.int32).reshape(-1))
        if len(pieces[-1]) == 1 and len(self._op) != 1:  # type: ignore[arg-type]
            pieces[-1] = int(pieces[-1][0])  # type: ignore[index]
        return _framed(*pool.rows(joined(pieces, len(self._op))))

    def _main_kinds(self) -> Kinds | None:
        kinds = kinds_of(self._after)
        shape = (len(self._after), len(self._op))
        if self._deletes.any():
            gone, whole = kinds_of(self._before), np.full(shape, TEXT, np.uint8)
            kinds = np.where(self._deletes, whole if gone is None else gone, whole if kinds is None else kinds)
        return self._trim(kinds)

    def _old_kinds(self) -> Kinds:
        kinds = kinds_of(self._before)
        kinds = np.full((len(self._before), len(self._op)), TEXT, np.uint8) if kinds is None else kinds
        kinds[:, ~self._updates] = ABSENT
        if self._options.only_output_updated_columns:
            for at, (old, new) in enumerate(zip(self._before, self._after, strict=True)):
                kinds[at, ~differs(old, new)] = ABSENT
        trimmed = self._trim(kinds)
        assert trimmed is not None
        return trimmed

    def _trim(self, kinds: Kinds | None) -> Kinds | None:
        if not self._trimmed.any():
            return kinds
        if kinds is None:
            kinds = np.full((len(self._shape.columns), len(self._op)), TEXT, np.uint8)
        kinds[np.ix_(~self._shape.in_key, self._trimmed)] = ABSENT
        return kinds

    def _texts(self, values: Sequence[pa.Array]) -> Places:
        """Which pieces the values are, as they stand inside of their quotes, or alone."""
        columns = self._shape.columns * (len(values) // len(self._shape.columns))
        places = np.empty((len(values), len(self._op)), np.int32)
        plain = [at for at, column in enumerate(columns) if not _is_rewritten(column)]
        other = [at for at, column in enumerate(columns) if _is_rewritten(column)]
        keys = [(columns[at].type.name.endswith(("text", "blob")), str(values[at].type)) for at in other]
        if other:
            chosen = [values[at] for at in other]
            places[other], _ = add_alike(
                self._pool, chosen, keys, lambda each, at: _rewritten(each, columns[other[at]])
            )
        groups = by_type([columns[at] for at in plain])
        if plain:
            places[plain] = self._pool.add_columns(groups, [values[at] for at in plain])
        return places


def _is_rewritten(column: Column) -> bool:
    """Whether a value's text is neither its own nor that of an integer."""
    kind = column.type
    return kind.is_binary or kind.name.endswith("text") or kind.name in ("float", "double")


def _rewritten(values: pa.Array, column: Column) -> pa.BinaryArray:
    if column.type.name.endswith(("text", "blob")):
        return base64_text(values.cast(pa.binary())).cast(pa.binary())
    return go_quoted(values) if column.type.is_binary else _finite(values, column.name)


def _finite(values: pa.Array, name: str) -> pa.BinaryArray:
    if pc.all(pc.is_finite(values)).as_py() is False:
        raise EncodeError(f"column {name} holds a number that is not finite, which JSON does not have")
    return json_float_text(values).cast(pa.binary())
