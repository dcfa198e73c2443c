"""Digits: fixed-width ASCII text to numbers and back, a column at a time.

A matrix of text has one row a value. Nothing here looks whether bytes are digits but `are_digits`: ask it first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.cells import Bytes, Flags, Ints, check, gather

ZERO = np.uint8(ord("0"))
_TEXTS = {width: np.array([f"{value:0{width}}" for value in range(10**width)], f"S{width}") for width in (1, 2, 4)}
_STORE = {width: texts.view(f"<u{width}") for width, texts in _TEXTS.items()}


def number(text: Bytes, start: int, count: int) -> Ints:
    """The number that `count` digit columns of a text matrix write (at most 18)."""
    value = (text[:, start] - ZERO).astype(np.int64) if count % 2 else np.zeros(len(text), np.int64)
    for place in range(start + count % 2, start + count, 2):
        pair = _column(text, place, 2) - np.uint16(0x3030)
        value *= 100
        value += (pair & np.uint16(0xFF)) * np.uint16(10) + (pair >> np.uint16(8))
    return value


def write(text: Bytes, start: int, count: int, values: NDArray[Any]) -> None:
    """Write numbers as `count` digits with leading zeros into a text matrix."""
    rest, end = values, start + count
    while end > start:
        width = next(width for width in (4, 2, 1) if width <= end - start)
        end -= width
        if end > start:
            high = rest // 10**width
            low, rest = rest - high * 10**width, high
        else:
            low = rest
        _column(text, end, width)[:] = _STORE[width][low]


def are_digits(text: Bytes) -> Flags:
    """Which bytes of a text matrix are digits."""
    return np.asarray((text - ZERO) < 10)


def lengths(values: Ints, most: int) -> Ints:
    """How many digits each number has; 0 has none."""
    count = np.zeros(len(values), np.int64)
    for power in range(most):
        count += values >= 10**power
    return count


def right_aligned(data: Bytes, offsets: Ints, width: int, what: str) -> tuple[Bytes, Ints]:
    """Ragged texts as rows of a matrix, aligned at their ends with zeros before them, and where each begins."""
    sizes = np.diff(offsets)
    check((sizes > 0) & (sizes <= width), lambda i: f"{what} of {sizes[i]} characters")
    used = data[offsets[0] : offsets[-1]]
    padded = np.concatenate([np.full(width, ZERO, np.uint8), used])
    text = gather(padded, offsets[1:] - offsets[0], width)
    first = width - sizes
    before = np.arange(width) < np.arange(width + 1)[:, None]
    text[before[first]] = ZERO
    return text, first


def _column(text: Bytes, place: int, width: int) -> NDArray[Any]:
    """`width` columns of a text matrix as one integer a row, in place."""
    rows, step = text.shape
    if not rows:
        return np.zeros(0, f"<u{width}")
    return np.ndarray((rows,), f"<u{width}", text, place, (step,))
