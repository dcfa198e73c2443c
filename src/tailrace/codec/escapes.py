"""The inside of JSON strings: text as Go's writers escape it, of whole columns.

Escaped are quotes, backslashes, control characters (`\\n`, `\\r`, `\\t`, else `\\u00xx`), `<`, `>`, `&`, U+2028 and
U+2029; a byte that is not UTF-8 becomes `\\ufffd`, which is the only loss. Bytes that are no text are taken as
ISO-8859-1 first. Few values hold anything of that, so only those are rewritten. Nothing here loops over rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.go_json import quote
from tailrace.codec.binary import content, gathered

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]

_BLOCK = 1 << 17
_SEPARATOR = 0xE2  # the first byte of U+2028 and U+2029, and of 4,094 harmless characters
_BROKEN, _LINE, _PARAGRAPH = 0xFD, 0xFE, 0xFF  # bytes that no UTF-8 has, so that one byte can stand for an escape
_OF_LATIN1 = pa.array([quote(chr(code))[1:-1].encode() for code in range(256)], pa.binary())
_OF_UTF8 = pa.array(
    [
        *(quote(chr(code))[1:-1].encode() for code in range(0x80)),
        *(bytes([code]) for code in range(0x80, _BROKEN)),
        *(b"\\ufffd", b"\\u2028", b"\\u2029"),
    ],
    pa.binary(),
)


def needing_escape(text: pa.Array) -> Places:
    """The indices, rising, of the values that may be other inside of a JSON string; no other value is."""
    offsets, held = content(text)
    data = np.frombuffer(held, np.uint8)
    found = [_owners(offsets, _suspects(data[at : at + _BLOCK]) + at) for at in range(0, len(data), _BLOCK)]
    values = np.concatenate(found) if found else np.zeros(0, np.int64)
    if len(found) > 1:
        values = values[np.diff(values, prepend=-1) > 0]
    broken = _not_utf8(text, data)
    return np.union1d(values, broken) if len(broken) else values


def escaped(text: pa.Array) -> pa.BinaryArray:
    """Each value as it stands between the quotes of a JSON string; meant for the values of `needing_escape`."""
    offsets, held = content(text)
    data = np.frombuffer(held, np.uint8)
    for value in _not_utf8(text, data).tolist():
        begin, end = int(offsets[value]), int(offsets[value + 1])
        data = data.copy() if not data.flags.writeable else data
        data[begin:end] = _without_damage(data[begin:end].tobytes())
    return written(text, *_without_separators(offsets, data), _OF_UTF8)


def latin1_escaped(values: pa.BinaryArray) -> pa.BinaryArray:
    """The bytes of each value as characters of the same number, as they stand between the quotes of a JSON string."""
    offsets, held = content(values)
    return written(values, offsets, np.frombuffer(held, np.uint8), _OF_LATIN1)


def written(like: pa.Array, offsets: Places, data: Places, pieces: pa.BinaryArray) -> pa.BinaryArray:
    """The values with a piece in the place of each byte; `data` says which."""
    borders = np.empty(len(offsets), np.int64)
    begins = range(0, len(data) or 1, _BLOCK)

    def texts() -> Iterator[pa.Buffer]:
        length = 0
        for begin in begins:
            part = pieces.take(pa.array(data[begin : begin + _BLOCK]))
            ends = np.frombuffer(part.buffers()[1], np.int32)
            first, last = np.searchsorted(offsets, (begin, begin + len(part) + 1))
            borders[first:last] = ends[offsets[first:last] - begin] + length
            length += int(ends[len(part)])
            yield pa.py_buffer(content(part)[1])

    whole = gathered(texts(), len(begins))
    validity = pc.is_valid(like).buffers()[1] if like.null_count else None
    buffers = [validity, pa.py_buffer(borders.astype(np.int32)), whole]
    return pa.Array.from_buffers(pa.binary(), len(like), buffers)


def _owners(offsets: Places, places: Places) -> Places:
    """The values that hold these bytes, each once; looked up whichever way needs fewer look-ups."""
    if not len(places):
        return places
    first, last = np.searchsorted(offsets, (places[0], places[-1]), "right")
    if len(places) > last - first:
        here: Places = np.flatnonzero(np.diff(np.searchsorted(places, offsets[first - 1 : last + 1])))
        return here + int(first - 1)
    owners = np.searchsorted(offsets, places, "right") - 1
    return owners[np.flatnonzero(np.diff(owners, prepend=-1))]


def _suspects(data: Bytes) -> Places:
    """Where bytes stand that are, or that begin, what has to be escaped."""
    found, same = np.less(data, 0x20), np.empty(len(data), np.bool_)
    for byte in (ord("\\"), _SEPARATOR):
        found |= np.equal(data, byte, out=same)
    folded = np.empty(len(data), np.uint8)
    for byte, differing in ((ord('"'), ord('"') ^ ord("&")), (ord("<"), ord("<") ^ ord(">"))):
        found |= np.equal(np.bitwise_and(data, 0xFF ^ differing, out=folded), byte, out=same)
    return np.flatnonzero(found)


def _not_utf8(text: pa.Array, data: Bytes) -> Places:
    """The indices of values that are not UTF-8: none in any column that an upstream of ours made."""
    none: Places = np.zeros(0, np.int64)
    if not len(data) or data.max() < 0x80:
        return none
    try:
        text.cast(pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return np.flatnonzero([_damaged(each) for each in text.cast(pa.binary())])
    return none


def _damaged(value: pa.BinaryScalar) -> bool:
    held = value.as_py() or b""
    return bool(held.decode("utf-8", "ignore").encode() != held)


def _without_damage(value: bytes) -> Bytes:
    """As many bytes, those that are not UTF-8 replaced by the one that stands for them."""
    text = value.decode("utf-8", "surrogateescape")
    marked = [bytes([_BROKEN]) if "\udc80" <= char <= "\udcff" else char.encode() for char in text]
    return np.frombuffer(b"".join(marked), np.uint8)


def _without_separators(offsets: Places, data: Bytes) -> tuple[Places, Bytes]:
    """The values where U+2028 and U+2029 are one byte each."""
    first = np.flatnonzero(data[:-2] == _SEPARATOR)
    first = first[(data[first + 1] == 0x80) & ((data[first + 2] | 1) == 0xA9)]
    if not len(first):
        return offsets, data
    kept = np.ones(len(data), np.bool_)
    kept[first + 1] = kept[first + 2] = False
    short = data.copy()
    short[first] = np.where(data[first + 2] == 0xA9, _PARAGRAPH, _LINE)
    return offsets - 2 * np.searchsorted(first, offsets), short[kept]
