"""Decimals: canonical text and TiDB's binary MyDecimal, whose bytes sort as the numbers do.

The binary form is (precision, scale), then words of nine digits, big-endian, a shorter word at either outer end; a
negative number has all bits turned, and the first bit is turned last. Text has exactly `scale` digits after the point,
at least one digit before it, and no minus before zero. A value with more digits than its column is an error.
"""

from __future__ import annotations

import numpy as np

from tailrace.change.types import ColumnType
from tailrace.upstream.rowcodec import digits
from tailrace.upstream.rowcodec.cells import BadCell, Bytes, Cells, Flags, Ints, Packed, check, gather, squeeze, uniform

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
    matrix[minus, 2:] ^= 0xFF
    matrix[:, 2] ^= 0x80
    return uniform(matrix)


def unpack(cells: Cells, precision: int, scale: int) -> Packed:
    """The texts of cells. A cell may be of a smaller shape than its column, as rows older than an ALTER are."""
    check(cells.sizes >= 3, lambda i: f"a decimal of {cells.sizes[i]} bytes")
    shapes = gather(cells.data, cells.starts, 2).view("<u2").ravel()
    whole = max(precision - scale, 1)
    number = np.full((len(cells), whole + scale), digits.ZERO, np.uint8)
    minus = np.zeros(len(cells), np.bool_)
    for shape in np.unique(shapes).tolist():
        rows = np.flatnonzero(shapes == shape)
        try:
            minus[rows] = _unpack_shape(cells.select(rows), (shape & 0xFF, shape >> 8), number, rows, whole)
        except BadCell as bad:
            raise BadCell(int(rows[bad.index]), bad.reason) from None
    return _text(number, minus, whole)


def size_of(precision: int, scale: int) -> int:
    """Bytes of the binary form, with its two bytes of shape."""
    return 2 + sum(_BYTES[count] for count, _ in _words(precision - scale, scale))


def sizes_of(precisions: Bytes, scales: Bytes) -> Ints:
    """The same for cells of any shape; a shape that cannot be is an error."""
    good = (precisions > 0) & (precisions <= MAX_PRECISION) & (scales <= MAX_SCALE) & (scales <= precisions)
    check(good, lambda i: f"a decimal of the shape {(int(precisions[i]), int(scales[i]))}")
    whole = precisions.astype(np.int64) - scales
    tails = np.array(_BYTES)
    return 2 + 4 * (whole // _WORD + scales // _WORD) + tails[whole % _WORD] + tails[scales % _WORD]


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
    text, inside = digits.right_aligned(data, offsets, width, "a decimal")
    first = np.argmax(inside, axis=1)
    minus = text[np.arange(len(text)), first] == ord("-")
    text[np.flatnonzero(minus), first[minus]] = digits.ZERO
    point = width - tail
    number = (
        text[:, point - whole :] if not scale else np.hstack([text[:, point - whole : point], text[:, point + 1 :]])
    )
    good = digits.are_digits(text[:, :point]) & digits.are_digits(number)
    good &= (text[:, : point - whole] == digits.ZERO).all(axis=1) & (first + minus < point)
    if scale:
        good &= text[:, point] == ord(".")
    check(good, lambda i: f"{bytes(text[i][inside[i]])!r} is not a DECIMAL({whole + scale}, {scale})")
    check(~minus | (number != digits.ZERO).any(axis=1), "a decimal of minus zero")
    return number, minus


def _unpack_shape(cells: Cells, shape: tuple[int, int], number: Bytes, rows: Ints, whole: int) -> Flags:
    """Write the digits of cells of one shape into rows of `number`; which are below zero."""
    precision, scale = shape
    good = 0 < precision <= MAX_PRECISION and scale <= min(MAX_SCALE, precision)
    check(np.full(len(cells), good), f"a decimal of the shape {shape}")
    matrix = cells.matrix(size_of(precision, scale), f"a decimal{shape}")[:, 2:]
    matrix[:, 0] ^= 0x80
    minus = matrix[:, 0] >= 0x80
    matrix[minus] ^= 0xFF
    found = np.empty((len(matrix), precision), np.uint8)
    place = 0
    for count, first in _words(precision - scale, scale):
        width = _BYTES[count]
        padded = np.zeros((len(matrix), 4), np.uint8)
        padded[:, 4 - width :] = matrix[:, place : place + width]
        word = padded.view(">u4").ravel().astype(np.int64)
        check(word < 10**count, f"a decimal with a word of more than {count} digits")
        digits.write(found, first, count, word)
        place += width
    skip = max(precision - scale - whole, 0)
    fits = (found[:, :skip] == digits.ZERO).all(axis=1) & (scale <= number.shape[1] - whole)
    check(fits, f"a decimal{shape} with more digits than its column")
    start = whole - (precision - scale) + skip
    number[rows, start : start + precision - skip] = found[:, skip:]
    return minus


def _text(number: Bytes, minus: Flags, whole: int) -> Packed:
    """Texts of digits: without leading zeros, but with one digit before the point."""
    check(~minus | (number != digits.ZERO).any(axis=1), "a decimal of minus zero")
    rows, total = number.shape
    sign = np.full((rows, 1), ord("-"), np.uint8)
    point = np.full((rows, 1 if total > whole else 0), ord("."), np.uint8)
    text = np.hstack([sign, number[:, :whole], point, number[:, whole:]])
    keep = np.ones(text.shape, np.bool_)
    keep[:, 0] = minus
    keep[:, 1:whole] = np.logical_or.accumulate(number[:, : whole - 1] != digits.ZERO, axis=1)
    return squeeze(text, keep)
