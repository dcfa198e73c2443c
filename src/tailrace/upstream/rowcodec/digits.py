"""Digits: fixed-width ASCII text to numbers and back, a column at a time.

Text that is not digits where digits must be is an error of its cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.upstream.rowcodec.cells import Bytes, Flags, Ints, check, gather

ZERO = np.uint8(ord("0"))


def number(text: Bytes, start: int, count: int) -> Ints:
    """The number that `count` digit columns of a text matrix write (at most 18)."""
    value = np.zeros(len(text), np.int64)
    for place in range(start, start + count):
        value *= 10
        value += text[:, place] - ZERO
    return value


def write(text: Bytes, start: int, count: int, values: NDArray[Any]) -> None:
    """Write numbers as `count` digits with leading zeros into a text matrix."""
    rest = values
    for place in range(start + count - 1, start - 1, -1):
        rest, digit = np.divmod(rest, 10)
        text[:, place] = digit.astype(np.uint8) + ZERO


def are_digits(text: Bytes) -> Flags:
    """Which rows of a text matrix are digits only."""
    return ((text - ZERO) < 10).all(axis=1)


def right_aligned(data: Bytes, offsets: Ints, width: int, what: str) -> tuple[Bytes, Flags]:
    """Ragged texts as rows of a matrix, aligned at their ends, and which bytes of it are theirs."""
    sizes = np.diff(offsets)
    check((sizes > 0) & (sizes <= width), lambda i: f"{what} of {sizes[i]} characters")
    padded = np.concatenate([np.full(width, ZERO, np.uint8), data])
    inside = np.arange(width) >= (width - sizes)[:, None]
    return np.where(inside, gather(padded, offsets[1:], width), ZERO), inside
