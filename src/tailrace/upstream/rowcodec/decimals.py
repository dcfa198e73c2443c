"""Decimals: canonical text and TiDB's binary MyDecimal, whose bytes sort as the numbers do.

The binary form is (precision, scale), then words of nine digits, big-endian, a shorter word at either outer end; a
negative number has all bits turned, and the first bit is turned last. Text has exactly `scale` digits after the point,
at least one digit before it, and no minus before zero. A value with more digits than its column is an error.
"""

from __future__ import annotations

import numpy as np

from tailrace.change.types import ColumnType
from tailrace.upstream.rowcodec import digits
from tailrace.upstream.rowcodec.cells import Bytes, Cells, Flags, Ints, Packed, check, gather, numbered, tails, uniform

_WORD = 9
_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
MAX_PRECISION, MAX_SCALE = 65, 30


def shape_of(kind: ColumnType) -> tuple[int, int]:
    """Precision and scale of a column; DECIMAL alone is (10, 0)."""
    return (kind.length if kind.length > 0 else 10), kind.fraction


def pack(data: Bytes, offsets: Ints, precision: int, scale: int) -> Packed:
    """The binary form of texts."""
    whole = precision - scale
    numbers, minus = _parse(data, offsets, whole, scale)
    words = _words(whole, scale)
    matrix = np.zeros((len(minus), 2 + sum(_BYTES[count] for count, _ in words)), np.uint8)
    matrix[:, 0], matrix[:, 1] = precision, scale
    place = 2
    for count, start in words:
        width = _BYTES[count]
        word = digits.number(numbers, start, count).astype(">u4").view(np.uint8).reshape(-1, 4)
        matrix[:, place : place + width] = word[:, 4 - width :]
        place += width
    matrix[:, 2:] ^= np.where(minus, np.uint8(0xFF), np.uint8(0))[:, None]
    matrix[:, 2] ^= 0x80
    return uniform(matrix)


def unpack(cells: Cells, precision: int, scale: int) -> Cells:
    """The texts of cells. A cell may be of a smaller shape than its column, as rows older than an ALTER are."""
    check(cells.sizes >= 3, lambda i: f"a decimal of {cells.sizes[i]} bytes")
    shapes = gather(cells.data, cells.starts, 2).view("<u2").ravel()
    whole = max(precision - scale, 1)
    text = np.full((len(cells), 1 + whole + (scale + 1 if scale else 0)), digits.ZERO, np.uint8)
    lead = np.zeros(len(cells), np.int64)
    minus = np.zeros(len(cells), np.bool_)
    if scale:
        text[:, 1 + whole] = ord(".")
    distinct = np.unique(shapes[:: max(len(shapes) // 64, 1)])
    if len(distinct) == 1 and (shapes == distinct[0]).all():
        lead, minus = _unpack_shape(cells, (int(distinct[0]) & 0xFF, int(distinct[0]) >> 8), text, whole)
    else:
        for shape in np.unique(shapes).tolist():
            rows = np.flatnonzero(shapes == shape)
            part = text[rows]
            with numbered(rows):
                lead[rows], minus[rows] = _unpack_shape(cells.select(rows), (shape & 0xFF, shape >> 8), part, whole)
            text[rows] = part
    first = 1 + whole - np.maximum(lead, 1) - minus
    text[np.flatnonzero(minus), first[minus]] = ord("-")
    return tails(text, first)


def size_of(precision: int, scale: int) -> int:
    """Bytes of the binary form, with its two bytes of shape."""
    return 2 + sum(_BYTES[count] for count, _ in _words(precision - scale, scale))


def sizes_of(precisions: Bytes, scales: Bytes) -> Ints:
    """The same for cells of any shape; a shape that cannot be is an error."""
    good = (precisions > 0) & (precisions <= MAX_PRECISION) & (scales <= MAX_SCALE) & (scales <= precisions)
    check(good, lambda i: f"a decimal of the shape {(int(precisions[i]), int(scales[i]))}")
    whole = precisions.astype(np.int64) - scales
    tails = np.array(_BYTES)
    return np.asarray(2 + 4 * (whole // _WORD + scales // _WORD) + tails[whole % _WORD] + tails[scales % _WORD])


def _words(whole: int, scale: int) -> list[tuple[int, int]]:
    """(digits, first digit) of each word, over the digits before and after the point."""
    head, tail = whole % _WORD, scale % _WORD
    words = [(head, 0)] if head else []
    words += [(_WORD, start) for start in range(head, whole + scale - tail, _WORD)]
    return words + ([(tail, whole + scale - tail)] if tail else [])


def _parse(data: Bytes, offsets: Ints, whole: int, scale: int) -> tuple[Bytes, Flags]:
    """Digits of texts as a matrix without point and sign, and which are below zero."""
    tail = scale + 1 if scale else 0
    width = 1 + max(whole, 1) + tail
    text, first = digits.right_aligned(data, offsets, width, "a decimal")
    rows, point = np.arange(len(text)), width - tail
    minus = text[rows, first] == ord("-")
    text[rows[minus], first[minus]] = digits.ZERO
    good = digits.are_digits(text)
    good[:, : point - whole] &= text[:, : point - whole] == digits.ZERO
    good[:, 0] &= first + minus < point
    number = text[:, point - whole :]
    if scale:
        good[:, point] = text[:, point] == ord(".")
        number = np.hstack([number[:, :whole], number[:, whole + 1 :]])
    check(good, lambda i: f"{bytes(data[offsets[i] : offsets[i + 1]])!r} is not a DECIMAL({whole + scale}, {scale})")
    if minus.any():
        check(~minus | (number != digits.ZERO).any(axis=1), "a decimal of minus zero")
    return np.ascontiguousarray(number), minus


def _unpack_shape(cells: Cells, shape: tuple[int, int], text: Bytes, whole: int) -> tuple[Ints, Flags]:
    """Write the digits of cells of one shape into `text`; how many digits stand before the point, and the signs."""
    precision, scale = shape
    own = precision - scale
    good = 0 < precision <= MAX_PRECISION and scale <= min(MAX_SCALE, precision, max(text.shape[1] - whole - 2, 0))
    check(np.full(len(cells), good), f"a decimal of the shape {shape}, not of its column's")
    matrix = cells.matrix(size_of(precision, scale), f"a decimal{shape}")[:, 2:]
    matrix[:, 0] ^= 0x80
    minus = matrix[:, 0] >= 0x80
    matrix ^= np.where(minus, np.uint8(0xFF), np.uint8(0))[:, None]
    lead, some = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.bool_)
    place = 0
    for count, first in _words(own, scale):
        width = _BYTES[count]
        word = matrix[:, place].astype(np.int64)
        for at in range(place + 1, place + width):
            word = word << 8 | matrix[:, at]
        place += width
        check(word < 10**count, f"a decimal with a word of more than {count} digits")
        some |= word > 0
        start = 1 + whole - own + first
        if first >= own:
            digits.write(text, start + 1, count, word)
            continue
        over = max(1 - start, 0)
        if over:
            check(word < 10 ** max(count - over, 0), f"a decimal{shape} with more digits than its column")
        if count > over:
            digits.write(text, start + over, count - over, word)
        lead = np.where(lead > 0, lead, np.where(word > 0, own - first - count + digits.lengths(word, count), 0))
    if minus.any():
        check(~minus | some, "a decimal of minus zero")
    return lead, minus
