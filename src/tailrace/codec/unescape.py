"""JSON strings read: every escape that JSON has is undone, of many values at once.

Strict: an escape that JSON does not know and half of a surrogate pair are refused, by the index of their value. Only
values that hold a backslash belong here. Nothing here loops over rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.codec.binary import content

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]

_MEANING = np.zeros(256, np.uint8)
for _letter, _byte in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _MEANING[_letter] = _byte
HEX = np.full(256, 16, np.uint8)
for _digit in b"0123456789abcdefABCDEF":
    HEX[_digit] = int(chr(_digit), 16)


def escaping(slashes: Places, borders: Places) -> Places:
    """Of all backslashes, those that begin an escape: every other one of a run; a run ends at a border."""
    begins = np.append(True, np.diff(slashes) > 1)[: len(slashes)]
    begins |= np.isin(slashes, borders)
    at = np.arange(len(slashes))
    chosen: Places = slashes[(at - np.maximum.accumulate(np.where(begins, at, 0))) % 2 == 0]
    return chosen


def unescaped(values: pa.BinaryArray) -> tuple[pa.BinaryArray, int]:
    """The values as they were before they were escaped, and -1, or whatever and the index of one that cannot be."""
    offsets, held = content(values)
    data = np.frombuffer(held, np.uint8).copy()
    begins = escaping(np.flatnonzero(data == ord("\\")), offsets)
    owners = np.searchsorted(offsets, begins, "right") - 1
    letters = data[np.minimum(begins + 1, len(data) - 1)]
    is_code = letters == ord("u")
    wrong = (begins + 1 + 4 * is_code >= offsets[owners + 1]) | (~is_code & (_MEANING[letters] == 0))
    if wrong.any():
        return values, int(owners[np.argmax(wrong)])
    data[begins + 1] = _MEANING[letters]
    dropped = np.zeros(len(data), np.bool_)
    dropped[begins] = True
    if is_code.any():
        bad = _write_codes(data, dropped, begins[is_code])
        if bad >= 0:
            return values, int(owners[is_code][bad])
    lost = np.concatenate([[0], np.cumsum(dropped)])
    buffers = [None, pa.py_buffer((offsets - lost[offsets]).astype(np.int32)), pa.py_buffer(data[~dropped])]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers), -1


def _write_codes(data: Bytes, dropped: npt.NDArray[np.bool_], begins: Places) -> int:
    """Writes the characters of `\\uXXXX` over their own digits; the index of one that is none, or -1."""
    digits = HEX[data[begins[:, None] + np.arange(2, 6)]].astype(np.int64)
    if (digits > 15).any():
        return int(np.argmax((digits > 15).any(axis=1)))
    codes = digits @ np.array([4096, 256, 16, 1])
    high, low = (codes >> 10) == 0x36, (codes >> 10) == 0x37
    follows = np.append(False, high[:-1] & low[1:] & (np.diff(begins) == 6))
    lonely = (high & ~np.append(follows[1:], False)) | (low & ~follows)
    if lonely.any():
        return int(np.argmax(lonely))
    first = np.flatnonzero(high)
    codes[first] = 0x10000 + ((codes[first] & 0x3FF) << 10 | (codes[first + 1] & 0x3FF))
    size = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    size[follows] = 0
    for at in range(5):
        dropped[begins + 1 + at] = at >= size
    for length, lead in ((1, 0), (2, 0xC0), (3, 0xE0), (4, 0xF0)):
        chosen = np.flatnonzero(size == length)
        for at in range(length):
            bits = codes[chosen] >> 6 * (length - 1 - at)
            data[begins[chosen] + 1 + at] = bits | lead if at == 0 else bits & 0x3F | 0x80
    return -1


def latin1_bytes(text: pa.BinaryArray) -> tuple[pa.BinaryArray, int]:
    """The bytes that characters up to U+00FF stand for, and -1, or whatever and the index of a value with others."""
    offsets, held = content(text)
    data = np.frombuffer(held, np.uint8)
    if not len(data) or data.max() < 0x80:
        return text, -1
    lead, after = data >= 0xC0, (data & 0xC0) == 0x80
    wrong = (data > 0xC3) | (lead & (data < 0xC2))
    wrong |= after != np.append(False, lead[:-1])
    wrong |= lead & ~np.append(after[1:], False)
    starts = offsets[:-1][np.diff(offsets) > 0]
    wrong[starts] |= after[starts]
    if wrong.any():
        return text, int(np.searchsorted(offsets, np.argmax(wrong), "right")) - 1
    whole = data.copy()
    second = np.flatnonzero(after)
    whole[second] = (data[second - 1] << 6) | (data[second] & 0x3F)
    shorter = offsets - np.concatenate([[0], np.cumsum(lead)])[offsets]
    validity = text.buffers()[0] if text.offset == 0 else None
    if text.null_count and validity is None:
        return latin1_bytes(pa.concat_arrays([text]))
    buffers = [
        validity if text.null_count else None,
        pa.py_buffer(shorter.astype(np.int32)),
        pa.py_buffer(whole[~lead]),
    ]
    return pa.Array.from_buffers(pa.binary(), len(text), buffers), -1
