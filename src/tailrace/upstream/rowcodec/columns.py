"""One column: its Arrow values to the cells of row values and back, chosen by its SQL type.

Both ways work on values without NULLs. What a column's type cannot hold raises BadCell: an integer too wide, a member
that an ENUM does not have, text that is no UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.types import ColumnType
from tailrace.upstream.rowcodec import binary_json, decimals, numbers, times, vectors
from tailrace.upstream.rowcodec.cells import BadCell, Cells, Packed, arrow_bytes, bitmap, bytes_of, check
from tailrace.upstream.rowcodec.zones import Zone


def pack(kind: ColumnType, values: pa.Array, zone: Zone) -> Packed:
    """The cells of Arrow values."""
    if kind.is_text or kind.is_binary:
        data, offsets = bytes_of(values)
        return Packed(data[offsets[0] : offsets[-1]], np.diff(offsets))
    if kind.name in ("json", "vector"):
        return _pack_each(binary_json.pack if kind.name == "json" else vectors.pack, values)
    if kind.name in ("float", "double"):
        return numbers.pack_floats(values.to_numpy(zero_copy_only=False).astype(np.float64))
    if kind.name == "decimal":
        return decimals.pack(*bytes_of(values), *decimals.shape_of(kind))
    if kind.name in ("date", "datetime", "timestamp"):
        return numbers.pack_unsigned(packed_times(kind, values, zone))
    if kind.name == "time":
        return numbers.pack_signed(times.parse_times(*bytes_of(values), kind.fraction))
    plain = integers(kind, values)
    return numbers.pack_signed(plain) if plain.dtype == np.int64 else numbers.pack_unsigned(plain)


def unpack(kind: ColumnType, cells: Cells, zone: Zone) -> pa.Array:
    """The Arrow values of cells."""
    if kind.is_text or kind.is_binary:
        return strings(kind, cells)
    if kind.name in ("json", "vector"):
        return _unpack_each(binary_json.unpack if kind.name == "json" else vectors.unpack, cells)
    if kind.name in ("float", "double"):
        return from_floats(kind, numbers.unpack_floats(cells))
    if kind.name == "decimal":
        return strings(kind, decimals.unpack(cells, *decimals.shape_of(kind)), known=True)
    if kind.name in ("date", "datetime", "timestamp"):
        return from_packed_times(kind, numbers.unpack_unsigned(cells), zone)
    if kind.name == "time":
        return from_nanoseconds(kind, numbers.unpack_signed(cells))
    signed = (kind.is_integer and not kind.unsigned) or kind.name == "year"
    return from_integers(kind, numbers.unpack_signed(cells) if signed else numbers.unpack_unsigned(cells))


def integers(kind: ColumnType, values: pa.Array) -> NDArray[Any]:
    """Integers, years, bits, members and sets as int64 or uint64."""
    plain = values.to_numpy(zero_copy_only=False)
    _check_members(kind, plain)
    return plain.astype(np.int64 if plain.dtype.kind == "i" else np.uint64)


def from_integers(kind: ColumnType, plain: NDArray[Any]) -> pa.Array:
    narrow = numbers.narrowed(plain, kind.arrow)
    _check_members(kind, narrow)
    return pa.array(narrow, kind.arrow)


def from_floats(kind: ColumnType, floats: NDArray[np.float64]) -> pa.Array:
    if kind.name == "double":
        return pa.array(floats)
    with np.errstate(over="ignore"):
        single = floats.astype(np.float32)
    check(np.isfinite(single), lambda i: f"{floats[i]} does not fit a FLOAT")
    return pa.array(single)


def packed_times(kind: ColumnType, values: pa.Array, zone: Zone) -> NDArray[np.uint64]:
    """DATE, DATETIME and TIMESTAMP texts as packed numbers, TIMESTAMP in UTC."""
    packed = times.parse_dates(*bytes_of(values), clock=kind.name != "date", fraction=kind.fraction)
    return times.to_utc(packed, zone) if kind.name == "timestamp" else packed


def from_packed_times(kind: ColumnType, packed: NDArray[np.uint64], zone: Zone) -> pa.Array:
    local = times.from_utc(packed, zone) if kind.name == "timestamp" else packed
    return _text(times.format_dates(local, clock=kind.name != "date", fraction=kind.fraction))


def from_nanoseconds(kind: ColumnType, nanos: NDArray[np.int64]) -> pa.Array:
    return strings(kind, times.format_times(nanos, kind.fraction), known=True)


def strings(kind: ColumnType, cells: Cells, *, known: bool = False) -> pa.Array:
    """Cells as they are, `known` to be text. Arrow takes every other piece of the buffer: one copy, no index a byte."""
    if not len(cells):
        return pa.array([], pa.binary() if kind.is_binary else pa.string())
    pieces = np.empty(2 * len(cells), np.int64)
    pieces[0::2], pieces[1::2] = cells.starts, cells.ends
    wide = pieces[-1] > np.iinfo(np.int32).max
    placed = pa.py_buffer(pieces if wide else pieces.astype(np.int32))
    raw = pa.large_binary() if wide else pa.binary()
    whole = pa.Array.from_buffers(raw, len(pieces) - 1, [None, placed, pa.py_buffer(cells.data)], 0)
    taken = whole.take(pa.array(np.arange(0, len(pieces), 2, dtype=np.int32))).cast(pa.binary())
    if kind.is_binary:
        return taken
    return taken.view(pa.string()) if known or _is_utf8(taken) else _utf8(taken)


def spread(values: pa.Array, valid: NDArray[np.bool_]) -> pa.Array:
    """Dense values on the rows that are valid, NULL on the others (one at least)."""
    if not len(values):
        return pa.nulls(len(valid), values.type)
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
        data, offsets = bytes_of(values)
        sizes = np.zeros(len(valid), np.int64)
        sizes[valid] = np.diff(offsets)
        return arrow_bytes(data[offsets[0] :], sizes, values.type, valid)
    plain = values.to_numpy(zero_copy_only=False)
    full = np.zeros(len(valid), plain.dtype)
    full[valid] = plain
    return pa.Array.from_buffers(values.type, len(full), [bitmap(valid), pa.py_buffer(full)])


def _check_members(kind: ColumnType, plain: NDArray[Any]) -> None:
    if kind.name == "enum" and kind.elems:
        check(plain <= len(kind.elems), lambda i: f"member {plain[i]} of an ENUM of {len(kind.elems)}")
    bits = len(kind.elems) if kind.name == "set" else max(kind.length, 0) if kind.name == "bit" else 0
    if 0 < bits < 64:
        check(plain < np.uint64(1 << bits), lambda i: f"{plain[i]} needs more than the {bits} bits of its {kind.name}")


def _is_utf8(values: pa.Array) -> bool:
    """Whether all values are UTF-8: as one text, and none of them begins inside of a character."""
    data, offsets = bytes_of(values)
    ends = pa.py_buffer(offsets[[0, -1]])
    firsts = data[offsets[:-1][np.diff(offsets) > 0]]
    if ((firsts & 0xC0) == 0x80).any():
        return False
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, pa.py_buffer(data)], 0).cast(pa.large_string())
    except pa.ArrowInvalid:
        return False
    return True


def _utf8(raw: pa.Array) -> pa.Array:
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        for index, value in enumerate(raw.to_pylist()):
            try:
                value.decode()
            except UnicodeDecodeError as error:
                raise BadCell(index, f"text that is no UTF-8 ({error.reason} at byte {error.start})") from error
        raise


def _text(packed: Packed) -> pa.Array:
    return arrow_bytes(packed.data, packed.sizes, pa.string())


def _pack_each(convert: Callable[[str], bytes], values: pa.Array) -> Packed:
    """Values converted once for each distinct one."""
    coded = values.dictionary_encode()
    cells = _converted(convert, coded.dictionary, coded.indices, pa.large_binary())
    data, offsets = bytes_of(cells.take(coded.indices))
    return Packed(data[offsets[0] : offsets[-1]], np.diff(offsets))


def _unpack_each(convert: Callable[[bytes], str], cells: Cells) -> pa.Array:
    coded = strings(ColumnType("blob"), cells).dictionary_encode()
    return _converted(convert, coded.dictionary, coded.indices, pa.string()).take(coded.indices)


def _converted(convert: Callable[[Any], Any], distinct: pa.Array, indices: pa.Array, kind: pa.DataType) -> pa.Array:
    results = []
    for number, value in enumerate(distinct.to_pylist()):
        try:
            results.append(convert(value))
        except (ValueError, RecursionError) as error:
            raise BadCell(pc.index(indices, number).as_py(), str(error)) from error
    return pa.array(results, kind)
