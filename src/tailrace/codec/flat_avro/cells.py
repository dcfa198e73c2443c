"""Cells: the bytes of one short value each, a NULL's branch or a length before them included, for many values at once.

They are made where they can lie apart, so that no byte moves once it is made: values in the odd places of an Arrow
array, what is between them in the even ones. Nothing here loops over values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
Lengths = npt.NDArray[np.integer[Any]]
Heads = npt.NDArray[np.uint8] | None

LONGEST_VARINT = 10
_SHORT = 1 << 49  # up to seven bytes: with a branch before them they are one word
_CONTINUED = np.uint64(0x8080808080808080)


def zigzag(values: npt.NDArray[np.int64]) -> Words:
    """Signed numbers as unsigned ones, small where the number is near zero."""
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def varint_cells(numbers: Words, heads: Heads = None) -> pa.BinaryArray:
    """Numbers as variable-length integers, each behind its head byte if there are heads."""
    begin = 0 if heads is None else 1
    if int(numbers.max(initial=0)) < _SHORT:
        words, lengths = _spread(numbers)
        if heads is not None:
            words = (words << np.uint64(8)) | heads
        return _apart(words.astype("<u8", copy=False).view(np.uint8), 8, 0, lengths + begin)
    low, lengths = _spread(numbers & np.uint64((1 << 56) - 1))
    high = numbers >> np.uint64(56)
    long = high > 0
    low[long] |= _CONTINUED
    lengths[long] = 9 + (high[long] >> np.uint64(7)).astype(np.int64)
    table = np.zeros((len(numbers), begin + LONGEST_VARINT), np.uint8)
    if heads is not None:
        table[:, 0] = heads
    table[:, begin : begin + 8] = low.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    table[:, begin + 8] = high | (high & np.uint64(0x80))
    table[:, begin + 9] = high >> np.uint64(7)
    return _apart(table.reshape(-1), begin + LONGEST_VARINT, 0, lengths + begin)


def _spread(numbers: Words) -> tuple[Words, npt.NDArray[np.int64]]:
    """Numbers below 2^56 as the words of their varints, first byte lowest, and how many bytes those have."""
    words = (numbers & np.uint64(0x000000000FFFFFFF)) | ((numbers & np.uint64(0x00FFFFFFF0000000)) << np.uint64(4))
    words = (words & np.uint64(0x00003FFF00003FFF)) | ((words & np.uint64(0x0FFFC0000FFFC000)) << np.uint64(2))
    words = (words & np.uint64(0x007F007F007F007F)) | ((words & np.uint64(0x3F803F803F803F80)) << np.uint64(1))
    below = words >> np.uint64(8)
    for bits in (8, 16, 32):
        below |= below >> np.uint64(bits)
    more = (below + np.uint64(0x7F7F7F7F7F7F7F7F)) & _CONTINUED
    return words | more, np.bitwise_count(more).astype(np.int64) + 1


def fixed_cells(values: npt.NDArray[Any], heads: Heads = None) -> pa.BinaryArray:
    """Numbers as their little-endian bytes."""
    size = values.dtype.itemsize
    raw = values.astype(values.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    if heads is not None:
        table = np.empty((len(values), size + 1), np.uint8)
        table[:, 0], table[:, 1:] = heads, raw.reshape(-1, size)
        raw, size = table.reshape(-1), size + 1
    return _apart(raw, size, 0, np.full(len(values), size))


def unsigned_cells(numbers: Words, heads: Heads = None) -> pa.BinaryArray:
    """Numbers as their shortest big-endian bytes, at least one, behind their length."""
    sizes = np.ones(len(numbers), np.int64)
    for size in range(1, 8):
        sizes += numbers >= np.uint64(1 << 8 * size)
    return _big_endian(numbers.astype(">u8").view(np.uint8).reshape(-1, 8), sizes, heads)


def decimal_cells(values: pa.Array, heads: Heads = None) -> pa.BinaryArray:
    """Decimals of 128 or 256 bits as the shortest big-endian bytes of their unscaled number, behind their length."""
    width = values.type.byte_width
    raw = np.frombuffer(values.buffers()[1], np.uint8)
    limbs = raw[values.offset * width : (values.offset + len(values)) * width].view("<u8").reshape(-1, width // 8)
    negative = limbs[:, -1] >> np.uint64(63) > 0
    sizes = np.ones(len(values), np.int64)
    beyond = np.zeros(len(values), np.bool_)  # whether a higher limb says something
    for at in reversed(range(width // 8)):
        limb = np.where(negative, ~limbs[:, at], limbs[:, at])
        for bit in range(7, 64, 8):
            sizes += beyond | (limb >= np.uint64(1 << bit))
        beyond |= limb > 0
    return _big_endian(limbs.view(np.uint8).reshape(-1, width)[:, ::-1], sizes, heads)


def _big_endian(raw: Bytes, sizes: Lengths, heads: Heads) -> pa.BinaryArray:
    """The last bytes of each line, as many as `sizes` says, with length and head right before them."""
    rows, width = raw.shape
    table = np.empty((rows, width + 2), np.uint8)
    table[:, 2:] = raw
    ends = np.arange(1, rows + 1) * (width + 2)
    flat = table.reshape(-1)
    flat[ends - sizes - 1] = 2 * sizes
    if heads is not None:
        flat[ends - sizes - 2] = heads
    lengths = sizes + (1 if heads is None else 2)
    return _apart(flat, width + 2, width + 2 - lengths, lengths)


def _apart(data: Bytes, width: int, skipped: Lengths | int, lengths: Lengths) -> pa.BinaryArray:
    """Values in the odd places: of each `width` bytes those after the skipped ones."""
    offsets = np.zeros(2 * len(lengths) + 1, np.int32)
    starts = np.arange(0, len(lengths) * width, width) + skipped
    offsets[1::2], offsets[2::2] = starts, starts + lengths
    return pa.Array.from_buffers(pa.binary(), 2 * len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
