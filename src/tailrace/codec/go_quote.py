"""Bytes as Go prints them between double quotes, and once more as they stand inside of a JSON string.

What is printable stays as it is; a quote and a backslash get a backslash, control characters their escape, a byte that
is not UTF-8 `\\xNN`, and a character that does not print `\\uNNNN` or `\\UNNNNNNNN`. So no byte is lost. Nothing here
loops over rows; only over the characters that differ.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.go_json import quote
from tailrace.codec.binary import content
from tailrace.codec.escapes import written
from tailrace.codec.unescape import HEX, escaping

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]

_SHORT = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
_DAMAGED, _GONE = 256, 512


def _in_json(text: str) -> bytes:
    return quote(text)[1:-1].encode()


def _of_ascii(code: int) -> bytes:
    return _in_json(_SHORT.get(code) or (chr(code) if 32 <= code < 127 else f"\\x{code:02x}"))


_PIECES = [
    *(_of_ascii(code) for code in range(128)),
    *(bytes([code]) for code in range(128, 256)),
    *(_in_json(f"\\x{code:02x}") for code in range(256)),
    b"",
]
_PLAIN = pa.array(_PIECES, pa.binary())


def go_quoted(values: pa.BinaryArray) -> pa.BinaryArray:
    """Each value as it stands between the quotes of a JSON string."""
    offsets, held = content(values)
    data = np.frombuffer(held, np.uint8)
    if not len(data) or data.max() < 0x80:
        return written(values, offsets, data, _PLAIN)
    codes = data.astype(np.int32)
    starts, sizes, points = _characters(data, offsets)
    lost = data >= 0x80
    for at in range(4):
        lost[starts[sizes > at] + at] = False
    codes[lost] += _DAMAGED
    odd = [point for point in np.unique(points).tolist() if not _prints(point)]
    if not odd:
        return written(values, offsets, codes, _PLAIN)
    more = [_in_json(f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}") for point in odd]
    which = np.searchsorted(odd, points)
    here = np.isin(points, odd)
    for at in range(4):
        codes[starts[here & (sizes > at)] + at] = _GONE
    codes[starts[here]] = _GONE + 1 + which[here]
    return written(values, offsets, codes, pa.array([*_PIECES, *more], pa.binary()))


def _characters(data: Bytes, offsets: Places) -> tuple[Places, Places, Places]:
    """Where characters of more than one byte begin, how many bytes they have, and which they are; only whole ones."""
    padded = np.zeros(len(data) + 4, np.int64)
    padded[: len(data)] = data
    starts = np.flatnonzero((data >= 0xC2) & (data <= 0xF4))
    lead = padded[starts]
    sizes = 2 + (lead >= 0xE0).astype(np.int64) + (lead >= 0xF0)
    points = lead & np.array([0, 0, 0x1F, 0x0F, 0x07])[sizes]
    good = starts + sizes <= offsets[np.searchsorted(offsets, starts, "right")]
    for at in (1, 2, 3):
        more = sizes > at
        byte = padded[starts + at]
        good &= ~more | ((byte & 0xC0) == 0x80)
        points = np.where(more, points << 6 | byte & 0x3F, points)
    good &= points >= np.array([0, 0, 0x80, 0x800, 0x10000])[sizes]
    good &= (points < 0x110000) & ((points < 0xD800) | (points > 0xDFFF))
    return starts[good], sizes[good], points[good]


def _prints(point: int) -> bool:
    """Letters, marks, numbers, punctuation and symbols do; spaces but the plain one do not."""
    return unicodedata.category(chr(point))[0] in "LMNPS"


def go_unquoted(values: pa.BinaryArray) -> tuple[pa.BinaryArray, int]:
    """The bytes that were quoted, and -1, or whatever and the index of a value with an escape that is none of Go's."""
    offsets, held = content(values)
    data = np.frombuffer(held, np.uint8).copy()
    begins = escaping(np.flatnonzero(data == ord("\\")), offsets)
    if not len(begins):
        return values, -1
    owners = np.searchsorted(offsets, begins, "right") - 1
    letters = data[np.minimum(begins + 1, len(data) - 1)]
    digits = _DIGITS[letters]
    wrong = (begins + 2 + digits > offsets[owners + 1]) | ((digits == 0) & (_MEANING[letters] == 0))
    if wrong.any():
        return values, int(owners[np.argmax(wrong)])
    dropped = np.zeros(len(data), np.bool_)
    dropped[begins] = True
    data[begins + 1] = np.where(digits > 0, letters, _MEANING[letters])
    for count in (2, 4, 8):
        chosen = begins[digits == count]
        figures = HEX[data[chosen[:, None] + 2 + np.arange(count)]].astype(np.int64)
        if (figures > 15).any():
            return values, int(owners[digits == count][np.argmax((figures > 15).any(axis=1))])
        codes = np.zeros(len(chosen), np.int64)
        for at in range(count):
            codes = codes << 4 | figures[:, at]
        if count > 2 and ((codes > 0x10FFFF) | ((codes >> 11) == 0x1B)).any():
            bad = (codes > 0x10FFFF) | ((codes >> 11) == 0x1B)
            return values, int(owners[digits == count][np.argmax(bad)])
        _write_characters(data, dropped, chosen, codes, count)
    lost = np.concatenate([[0], np.cumsum(dropped)])
    validity = pc.is_valid(values).buffers()[1] if values.null_count else None
    buffers = [validity, pa.py_buffer((offsets - lost[offsets]).astype(np.int32)), pa.py_buffer(data[~dropped])]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers), -1


def _write_characters(data: Bytes, dropped: npt.NDArray[np.bool_], begins: Places, codes: Places, count: int) -> None:
    """Bytes, or characters as UTF-8, over the letter and digits of their own escapes."""
    size = np.ones(len(codes), np.int64)
    if count > 2:
        size += (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    for at in range(count + 1):
        dropped[begins + 1 + at] = at >= size
    for length, lead in ((1, 0), (2, 0xC0), (3, 0xE0), (4, 0xF0)):
        chosen = size == length
        for at in range(length):
            bits = codes[chosen] >> 6 * (length - 1 - at)
            data[begins[chosen] + 1 + at] = bits | lead if at == 0 else bits & 0x3F | 0x80


_MEANING = np.zeros(256, np.uint8)
for _code, _text in _SHORT.items():
    _MEANING[ord(_text[1])] = _code
_DIGITS = np.zeros(256, np.int64)
for _letter, _count in ((b"x", 2), (b"u", 4), (b"U", 8)):
    _DIGITS[_letter[0]] = _count
