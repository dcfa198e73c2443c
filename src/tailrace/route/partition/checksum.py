"""CRC-32 of every value of a column at once, each behind the same prefix.

`checksums(prefix, values)` guarantees what `zlib.crc32(prefix + value)` gives for each value, whatever its bytes and
length. A CRC is linear: that of a value is the XOR of what its bytes add and of what the prefix adds to a value of its
length. So values are put flush right in rows of one width, eight bytes at a time go through four tables of 16 bits, and
zeros ahead of a value add nothing. NULLs have to be filled before.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Checksums = NDArray[np.uint32]

_POLYNOMIAL = 0xEDB88320
_WORD = 8
# From here on one call of the library for a value costs less than the passes over its bytes.
WIDEST = 256
# What one pass reads and writes stays in the processor's cache.
_ROWS = 16_384


def checksums(prefix: bytes, values: pa.Array) -> Checksums:
    """One checksum for each value of a string or binary column."""
    binary = values.cast(pa.large_binary())
    offsets = np.frombuffer(binary.buffers()[1], np.int64)[binary.offset : binary.offset + len(binary) + 1]
    sizes = np.diff(offsets)
    result = np.empty(len(binary), np.uint32)
    for start in range(0, len(binary), _ROWS):
        part = slice(start, start + _ROWS)
        result[part] = _block(prefix, binary.slice(start, _ROWS), sizes[part])
    return result


def _block(prefix: bytes, values: pa.LargeBinaryArray, sizes: NDArray[np.int64]) -> Checksums:
    longest = int(sizes.max())
    if longest <= WIDEST:
        return _short(prefix, values, sizes, longest)
    long = sizes > WIDEST
    result = np.empty(len(sizes), np.uint32)
    result[long] = _long(prefix, values.filter(pa.array(long)))
    if not long.all():
        short = ~long
        result[short] = _short(prefix, values.filter(pa.array(short)), sizes[short], int(sizes[short].max()))
    return result


def _long(prefix: bytes, values: pa.LargeBinaryArray) -> Checksums:
    begun = zlib.crc32(prefix)
    return np.fromiter((zlib.crc32(value.as_buffer(), begun) for value in values), np.uint32, len(values))


def _short(prefix: bytes, values: pa.LargeBinaryArray, sizes: NDArray[np.int64], longest: int) -> Checksums:
    state = np.zeros(len(sizes), np.uint32)
    words = _words(values, sizes, -(-longest // _WORD))
    tables = _tables()
    for at in range(words.shape[1]):
        word = (words[:, at] ^ state).view(np.uint16).reshape(-1, _WORD // 2)
        state = tables[0].take(word[:, 0])
        for each in range(1, _WORD // 2):
            state ^= tables[each].take(word[:, each])
    result: Checksums = _of_zeros(prefix)[sizes] ^ state
    return result


def _words(values: pa.LargeBinaryArray, sizes: NDArray[np.int64], words: int) -> NDArray[np.uint64]:
    """The values flush right, `words` words each, zeros ahead of them."""
    width = words * _WORD
    if int(sizes.min()) < width:
        # Bytes stay bytes: the kernel pads byte by byte and never looks at them.
        text = pa.Array.from_buffers(pa.large_string(), len(values), values.buffers(), offset=values.offset)
        values = pc.ascii_lpad(text, width, "\0")
    if not width:
        return np.empty((len(values), 0), np.uint64)
    begin = np.frombuffer(values.buffers()[1], np.int64, 1, values.offset * 8)[0]
    data = np.frombuffer(values.buffers()[2], np.uint8, len(values) * width, begin)
    return data.view("<u8").reshape(-1, words)


@lru_cache(maxsize=4096)
def _of_zeros(prefix: bytes) -> Checksums:
    """What the prefix, and the value's length, add to the checksum of a value: that of so many zero bytes."""
    state = zlib.crc32(prefix)
    found = [state]
    for _ in range(WIDEST):
        state = zlib.crc32(b"\0", state)
        found.append(state)
    return np.array(found, np.uint32)


@lru_cache(maxsize=1)
def _tables() -> tuple[Checksums, ...]:
    """For each 16 bits of a word, in the order of its bytes, what they add to the state behind the word."""
    byte = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        byte = (byte >> np.uint32(1)) ^ (np.uint32(_POLYNOMIAL) * (byte & np.uint32(1)))
    behind = [byte]
    for _ in range(_WORD - 1):
        last = behind[-1]
        behind.append((last >> np.uint32(8)) ^ byte[last & np.uint32(255)])
    pairs = np.arange(1 << 16)
    low, high = pairs & 255, pairs >> 8
    return tuple(behind[_WORD - 1 - at][low] ^ behind[_WORD - 2 - at][high] for at in range(0, _WORD, 2))
