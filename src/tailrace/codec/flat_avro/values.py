"""Values of columns as pieces of a pool: numbers, texts and members, columns of one form together.

A value is one piece, or two where it is long: its length and its bytes. A value that its field cannot carry is an
EncodeError that names the column: NULL without a union, a float that is not finite, a decimal beyond its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.codec.flat_avro.cells import (
    Heads,
    Words,
    decimal_cells,
    fixed_cells,
    unsigned_cells,
    varint_cells,
    zigzag,
)
from tailrace.codec.flat_avro.fields import Field
from tailrace.codec.members import enum_text, set_text
from tailrace.codec.pieces import Places, Pool
from tailrace.errors import EncodeError

_TABLED = 1024  # lengths below it are pieces that every pool has
_BRANCHES = (-1, 0, 2)
_DECIMAL128 = 38


def _length_table() -> pa.BinaryArray:
    """NULL's two branches and nothing, then every short length behind each branch; values in the odd places."""
    lengths = np.tile(zigzag(np.arange(_TABLED)), 2)
    alone = varint_cells(zigzag(np.arange(_TABLED)))
    headed = varint_cells(lengths, np.repeat(np.array(_BRANCHES[1:], np.uint8), _TABLED))
    return pa.concat_arrays([pa.array([b"", b"", b"", b"\0", b"", b"\2"], pa.binary()), alone, headed])


_LENGTHS = _length_table()


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What every pool begins with."""

    begin: int

    def null(self, branch: int) -> int:
        """The piece of a NULL where values have this branch."""
        return self.begin + {-1: 1, 0: 5, 2: 3}[branch]

    def length(self, branch: int) -> int:
        """The piece of length 0; each other one is two further on."""
        return self.begin + 7 + 2 * _TABLED * _BRANCHES.index(branch)


class Columns:
    """Fields whose columns are put into a pool; made once for a table version, with the pieces of ENUMs' members."""

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        self._enums: dict[int, pa.BinaryArray] = {}
        self._groups: dict[tuple[str, bool], list[int]] = {}  # the numbers of fields that are written alike
        for at, field in enumerate(fields):
            self._groups.setdefault((_form(field), field.branch >= 0), []).append(at)
            if _form(field) == "enum":
                self._enums[at] = _counted(field, pa.array(field.column.type.elems, pa.string()))

    def added(self, pool: Pool, values: Sequence[pa.Array]) -> list[list[Places | int]]:
        """The pieces of each column: one or two numbers a value."""
        pieces = _Pieces(pool.add(_LENGTHS))
        found: list[list[Places | int]] = [[] for _ in values]
        for (form, _), members in self._groups.items():
            fields, arrays = [self.fields[at] for at in members], [values[at] for at in members]
            if form == "text":
                texts = _texts(pool, pieces, fields, arrays)
            elif form == "enum":
                texts = [[_member(pool, self.fields[at], self._enums[at], values[at])] for at in members]
            elif form == "set":
                texts = [[_set(pool, self.fields[at], values[at])] for at in members]
            else:
                texts = [[each] for each in _numbers(pool, form, fields, arrays)]
            for at, field, array, places in zip(members, fields, arrays, texts, strict=True):
                found[at] = _nulled(pieces, field, array, places)
        return found


def _form(field: Field) -> str:
    """Which of the writers below a field is for."""
    if field.is_decimal:
        return f"decimal{field.column.type.length}.{field.column.type.fraction}"
    name = field.column.type.name
    if name in ("bit", "enum", "set"):
        return name
    return field.type if field.type in ("int", "long", "float", "double") else "text"


def _nulled(pieces: _Pieces, field: Field, values: pa.Array, places: list[Places | int]) -> list[Places | int]:
    if not values.null_count:
        return places
    null = pc.is_null(values).to_numpy(zero_copy_only=False)
    first = np.where(null, pieces.null(field.branch), places[0]).astype(np.int32)
    return [first, *(np.where(null, pieces.begin, place).astype(np.int32) for place in places[1:])]


def _heads(fields: Sequence[Field], rows: int) -> Heads:
    if fields[0].branch < 0:
        return None
    return np.repeat(np.array([field.branch for field in fields], np.uint8), rows)


def _numbers(pool: Pool, form: str, fields: Sequence[Field], arrays: Sequence[pa.Array]) -> list[Places]:
    rows, heads = len(arrays[0]), _heads(fields, len(arrays[0]))
    if form.startswith("decimal"):
        cells = decimal_cells(
            pa.concat_arrays([_decimals(field, array) for field, array in zip(fields, arrays, strict=True)]), heads
        )
    elif form in ("float", "double"):
        floats = np.concatenate([_floats(field, array) for field, array in zip(fields, arrays, strict=True)])
        cells = fixed_cells(floats, heads)
    elif form == "bit":
        cells = unsigned_cells(np.concatenate([plain_numbers(array) for array in arrays]), heads)
    else:
        cells = varint_cells(_zigzags(arrays), heads)
    begin = pool.add(cells) + 1
    every = np.arange(begin, begin + len(cells), 2, dtype=np.int32)
    return [every[at * rows : (at + 1) * rows] for at in range(len(fields))]


def plain_numbers(array: pa.Array) -> npt.NDArray[np.generic]:
    """The numbers, with whatever stands where one is NULL."""
    raw = np.frombuffer(array.buffers()[1], array.type.to_pandas_dtype())
    return raw[array.offset : array.offset + len(array)]


def _zigzags(arrays: Sequence[pa.Array]) -> Words:
    whole = np.empty(sum(map(len, arrays)), np.int64)
    begin = 0
    for array in arrays:
        numbers = plain_numbers(array)
        whole[begin : begin + len(array)] = numbers.view(np.int64) if numbers.dtype == np.uint64 else numbers
        begin += len(array)
    return zigzag(whole)


def _floats(field: Field, array: pa.Array) -> npt.NDArray[np.generic]:
    finite = np.isfinite(plain_numbers(array))
    if not finite.all() and pc.all(pc.is_finite(array)).as_py() is False:
        raise EncodeError(f"column {field.column.name} holds a number that is not finite")
    return plain_numbers(array)


def _decimals(field: Field, array: pa.Array) -> pa.Array:
    kind = field.column.type
    precision = max(kind.length, 1)
    wanted = (
        pa.decimal128(precision, kind.fraction) if precision <= _DECIMAL128 else pa.decimal256(precision, kind.fraction)
    )
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid as wrong:
        raise EncodeError(
            f"column {field.column.name} holds what is no decimal({precision},{kind.fraction}): {wrong}"
        ) from None


def _counted(field: Field, texts: pa.StringArray) -> pa.BinaryArray:
    """Each text in one piece with its length."""
    raw = texts.cast(pa.binary())
    lengths = zigzag(pc.binary_length(raw).to_numpy(zero_copy_only=False).astype(np.int64))
    heads = varint_cells(lengths, _heads([field], len(raw)))
    return pc.binary_join_element_wise(heads.take(pa.array(np.arange(1, len(heads), 2))), raw, b"")


def _member(pool: Pool, field: Field, counted: pa.BinaryArray, array: pa.Array) -> Places:
    numbers = plain_numbers(array).astype(np.int32)
    if ((numbers < 1) | (numbers > len(counted))).any():
        enum_text(array, field.column.type, field.column.name)  # which says so where it is no NULL
        numbers = np.clip(numbers, 1, max(len(counted), 1))
    return numbers + (pool.add(counted) - 1)


def _set(pool: Pool, field: Field, array: pa.Array) -> Places:
    """One piece for each set of members that the column holds."""
    coded = array.dictionary_encode()
    begin = pool.add(_counted(field, set_text(coded.dictionary, field.column.type, field.column.name)))
    which: Places = coded.indices.fill_null(0).to_numpy().astype(np.int32)
    return which + begin


def _texts(
    pool: Pool, pieces: _Pieces, fields: Sequence[Field], arrays: Sequence[pa.Array]
) -> list[list[Places | int]]:
    found: list[list[Places | int]] = []
    for field, array in zip(fields, arrays, strict=True):
        text = array if pa.types.is_string(array.type) or pa.types.is_binary(array.type) else array.cast(pa.string())
        text = text.view(pa.binary())
        offsets = np.frombuffer(text.buffers()[1], np.int32)[text.offset : text.offset + len(text) + 1]
        lengths = np.diff(offsets)
        places = pieces.length(field.branch) + 2 * lengths
        odd = np.flatnonzero(lengths >= _TABLED)
        if len(odd):
            long = varint_cells(zigzag(lengths[odd].astype(np.int64)), _heads([field], len(odd)))
            places[odd] = pool.add(long) + 1 + 2 * np.arange(len(odd))
        begin = pool.add(text)
        found.append([places, np.arange(begin, begin + len(text), dtype=np.int32)])
    return found
