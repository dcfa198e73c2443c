"""Bytes as text: base64 and hex of whole columns, in both directions.

Encoding never fails. Decoding is strict: whatever an encoder would not have written is refused, by returning the
index of the first such value, so that no damaged cell becomes a value. Nothing here loops over rows.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_PADDING = pa.array([b"", b"\0\0", b"\0"], pa.binary())


def base64_text(values: pa.BinaryArray) -> pa.StringArray:
    """Standard base64 with padding, of each value by itself."""
    left = pc.subtract(pc.binary_length(values), pc.multiply(pc.divide(pc.binary_length(values), 3), 3))
    padded = pc.binary_join_element_wise(values, _PADDING.take(left), pa.scalar(b""))
    offsets, data = content(padded)
    text = np.frombuffer(binascii.b2a_base64(data, newline=False), np.uint8).copy()
    ends = offsets[1:] // 3 * 4
    short = left.to_numpy(zero_copy_only=False)
    text[ends[(short == 1) | (short == 2)] - 1] = ord("=")
    text[ends[short == 1] - 2] = ord("=")
    return _rebuilt(padded, offsets // 3 * 4, text)


def hex_text(values: pa.BinaryArray) -> pa.StringArray:
    """Two lower-case digits a byte."""
    offsets, data = content(values)
    return _rebuilt(values, offsets * 2, np.frombuffer(binascii.hexlify(data), np.uint8))


def content(values: pa.Array) -> tuple[npt.NDArray[np.int64], memoryview]:
    """The offsets of a string or binary column, from 0 on, and the bytes that they point into."""
    _, offsets, data = values.buffers()
    wide = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    held = memoryview(data if data is not None else b"")[int(wide[0]) : int(wide[-1])]
    return wide - wide[0], held


def gathered(texts: Iterable[pa.Buffer], count: int) -> pa.Buffer:
    """`count` texts one after the other; each is copied before the next is made, which then takes over its memory."""
    if count == 1:
        return next(iter(texts))
    out, length = pa.allocate_buffer(0, resizable=True), 0
    for number, text in enumerate(texts):
        if length + text.size > out.size:  # the others are taken to be as long as this one
            out.resize(length + text.size * (count - number) * 33 // 32 + 1)
        np.frombuffer(out, np.uint8)[length : length + text.size] = np.frombuffer(text, np.uint8)
        length += text.size
    return out.slice(0, length)


def spans(
    starts: npt.NDArray[np.integer[Any]],
    ends: npt.NDArray[np.integer[Any]],
    data: npt.NDArray[np.uint8],
    absent: npt.NDArray[np.bool_] | None = None,
) -> pa.BinaryArray:
    """The bytes from each start to its end, in whatever order; NULL where `absent` says so."""
    borders = np.empty(2 * len(starts) + 1, np.int32)
    borders[:-1:2], borders[1::2], borders[-1] = starts, ends, len(data)
    buffers = [None, pa.py_buffer(borders), pa.py_buffer(data)]
    between = pa.Array.from_buffers(pa.binary(), 2 * len(starts), buffers)  # every other value lies between two spans
    return between.take(pa.array(np.arange(0, 2 * len(starts), 2, dtype=np.int32), mask=absent))


def _rebuilt(like: pa.Array, offsets: npt.NDArray[np.int64], text: npt.NDArray[np.uint8]) -> pa.StringArray:
    validity = pc.is_valid(like).buffers()[1] if like.null_count else None
    buffers = [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text)]
    return pa.Array.from_buffers(pa.string(), len(like), buffers)


def base64_bytes(values: pa.BinaryArray) -> tuple[pa.BinaryArray, int]:
    """The bytes of each base64 text and -1, or, if one is no canonical base64, whatever and its index."""
    offsets, held = content(values)
    lengths = np.diff(offsets)
    if (lengths % 4).any():
        return values, int(np.argmax(lengths % 4 > 0))
    text = np.frombuffer(held, np.uint8).copy()
    full = np.flatnonzero(lengths)
    ends = offsets[1:][full]
    one = text[ends - 1] == ord("=")
    two = one & (text[ends - 2] == ord("="))
    text[ends[one] - 1] = text[ends[two] - 2] = ord("A")
    try:
        data = np.frombuffer(binascii.a2b_base64(text.data, strict_mode=True), np.uint8)
    except binascii.Error:
        return values, int(np.searchsorted(offsets, np.argmax(_BASE64_WRONG[text]), "right")) - 1
    padding = np.zeros(len(values), np.int64)
    padding[full] = one.astype(np.int64) + two
    starts, stops = offsets[:-1] // 4 * 3, offsets[1:] // 4 * 3
    last, last_two = full[one], full[two]
    wrong = np.append(last[data[stops[last] - 1] > 0], last_two[data[stops[last_two] - 2] > 0])
    if len(wrong):  # bits that no byte of the value owns
        return values, int(wrong.min())
    absent = pc.is_null(values).to_numpy(zero_copy_only=False) if values.null_count else None
    return spans(starts, stops - padding, data, absent), -1


def hex_bytes(values: pa.BinaryArray) -> tuple[pa.BinaryArray, int]:
    """The bytes of each lower-case hex text and -1, or, if one is none, whatever and its index."""
    offsets, held = content(values)
    odd = np.diff(offsets) % 2 > 0
    if odd.any():
        return values, int(np.argmax(odd))
    wrong = _HEX_WRONG[np.frombuffer(held, np.uint8)]
    if wrong.any():
        return values, int(np.searchsorted(offsets, np.argmax(wrong), "right")) - 1
    return _bytes(values, offsets // 2, np.frombuffer(binascii.unhexlify(held), np.uint8)), -1


def _alien(alphabet: bytes) -> npt.NDArray[np.bool_]:
    wrong = np.ones(256, np.bool_)
    wrong[list(alphabet)] = False
    return wrong


_HEX_WRONG = _alien(b"0123456789abcdef")
_BASE64_WRONG = _alien(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _bytes(like: pa.Array, offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> pa.BinaryArray:
    validity = pc.is_valid(like).buffers()[1] if like.null_count else None
    return pa.Array.from_buffers(
        pa.binary(), len(like), [validity, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    )
