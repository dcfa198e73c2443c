"""A cursor over many records at once: a place in each, which moves over one field of all of them at a time.

Strict: what an encoder would not have written (a number longer than it need be, a field beyond its record) is a
Malformed that names the record. Nothing here loops over records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tailrace.codec.grid import Flags, Malformed

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]
PADDING = 16  # bytes that must be readable behind the last record

_STOPS = np.uint64(0x8080808080808080)
_ONE = np.uint64(1)


class Cursor:
    """`at` is where each record is read next. Methods take the numbers of the records they are for; None: all."""

    def __init__(self, data: Bytes, starts: Rows, ends: Rows) -> None:
        """`data` has `PADDING` bytes more than the records."""
        self.data = data
        self.at = starts.copy()
        self.ends = ends
        self._words = np.ndarray((max(len(data) - 7, 0),), np.uint64, data, 0, (1,))

    def branches(self, null: int) -> Flags | None:
        """Which records have NULL here, where unions have it as branch `null`; None: no record."""
        found = self.data[self.at]
        self._move(np.ones(len(found), np.int64), None)
        wrong = (found != 0) & (found != 2)
        if wrong.any():
            raise Malformed(int(np.argmax(wrong)), "a union of two has neither its first nor its second branch")
        absent: Flags = found == 2 * null
        return absent if absent.any() else None

    def numbers(self, rows: Rows | None = None) -> npt.NDArray[np.int64]:
        """One variable-length number of each record."""
        at = self.at if rows is None else self.at[rows]
        found = self.data[at].astype(np.uint64)
        lengths = np.ones(len(at), np.int64)
        longer = np.flatnonzero(found > 127)
        if len(longer):
            self._longer(at[longer], longer, found, lengths, rows)
        self._move(lengths, rows)
        return (found >> _ONE).view(np.int64) ^ -(found & _ONE).view(np.int64)

    def _longer(self, at: Rows, longer: Rows, found: npt.NDArray[np.uint64], lengths: Rows, rows: Rows | None) -> None:
        words = self._words[at]
        stops = ~words & _STOPS
        lowest = stops & (~stops + _ONE)
        below = lowest - _ONE  # all ones where no byte of the word is the last
        size = (np.bitwise_count(below).astype(np.int64) + 1) >> 3
        values = _folded(words & (lowest | below))
        far = np.flatnonzero(stops == 0)
        if len(far):
            ninth, tenth = self.data[at[far] + 8], self.data[at[far] + 9]
            has_tenth = ninth > 127
            self._check((has_tenth & (tenth > 1)), longer[far], rows, "a number has more than 64 bits")
            values[far] |= (ninth & 127).astype(np.uint64) << np.uint64(56)
            values[far] |= np.where(has_tenth, tenth, 0).astype(np.uint64) << np.uint64(63)
            size[far] = 9 + has_tenth
        self._check(self.data[at + size - 1] == 0, longer, rows, "a number is longer than it need be")
        found[longer], lengths[longer] = values, size

    def texts(self, rows: Rows | None = None) -> tuple[Rows, Rows]:
        """Where one string of bytes of each record begins and ends."""
        lengths = self.numbers(rows)
        starts = self.at if rows is None else self.at[rows]
        left = (self.ends if rows is None else self.ends[rows]) - starts
        self._check((lengths < 0) | (lengths > left), None, rows, "a length is beyond the end of its record")
        ends = starts + lengths
        self._put(ends, rows)
        return starts, ends

    def fixed(self, kind: str, rows: Rows | None = None) -> npt.NDArray[Any]:
        """One little-endian number of each record, of a NumPy type."""
        size = np.dtype(kind).itemsize
        at = self.at if rows is None else self.at[rows]
        whole = self._words[at]
        self._move(np.full(len(at), size), rows)
        return whole.astype(f"<u{size}").view(kind)

    def end(self) -> None:
        """Every record has to be read to its end."""
        self._check(self.at != self.ends, None, None, "bytes are left behind the last field")

    def _move(self, lengths: Rows, rows: Rows | None) -> None:
        ends = (self.at if rows is None else self.at[rows]) + lengths
        beyond = ends > (self.ends if rows is None else self.ends[rows])
        self._check(beyond, None, rows, "the record ends inside a field")
        self._put(ends, rows)

    def _put(self, at: Rows, rows: Rows | None) -> None:
        if rows is None:
            self.at = at
        else:
            self.at[rows] = at

    def _check(self, wrong: Flags, among: Rows | None, rows: Rows | None, message: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            at = at if among is None else int(among[at])
            raise Malformed(at if rows is None else int(rows[at]), message)


def _folded(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Seven bits of each byte, side by side."""
    words = words & ~_STOPS
    words = (words & np.uint64(0x007F007F007F007F)) | ((words & np.uint64(0x7F007F007F007F00)) >> _ONE)
    words = (words & np.uint64(0x00003FFF00003FFF)) | ((words & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
    return (words & np.uint64(0x000000000FFFFFFF)) | ((words & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))
