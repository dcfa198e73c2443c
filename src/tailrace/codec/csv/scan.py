"""The structure of a CSV text: where every cell of every row begins and ends.

NumPy finds all bytes that could mean something in one pass, then their meaning from the parity of the quotes or, in
escape mode, from the runs of backslashes before them. A `Grid` guarantees that each of its rows has as many cells as
it should, that a quote stands only at the ends of a cell or doubled inside one, and that each row was ended by the
terminator. It knows nothing of what cells mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.codec.csv.options import CsvOptions

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_BACKSLASH = ord("\\")


class Malformed(Exception):
    """What is wrong, in which row of the text (from 0 on); the decoder turns it into a DecodeError."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row
        self.message = message


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells by row and place: the bytes between `starts` and `ends`, quotes left out.

    `inner` are the places of what must go before a cell is its value: the first of two quotes, or an escaping
    backslash. `consumed` is where the last whole row ends.
    """

    data: Bytes
    starts: Places
    ends: Places
    quoted: Flags
    inner: Places
    consumed: int

    @property
    def rows(self) -> int:
        return len(self.starts)

    def cut(self, rows: int) -> Grid:
        """The first rows only."""
        end = int(self.starts[rows, 0]) - int(self.quoted[rows, 0]) if rows < self.rows else self.consumed
        inner = self.inner[: np.searchsorted(self.inner, end)]
        return Grid(self.data, self.starts[:rows], self.ends[:rows], self.quoted[:rows], inner, end)

    def raw(self, place: int, absent: Flags | None = None) -> pa.BinaryArray:
        """The bytes of one place of all rows, as they stand there; NULL where `absent` says so."""
        spans = np.empty((self.rows, 2), np.int32)
        spans[:, 0], spans[:, 1] = self.starts[:, place], self.ends[:, place]
        count = max(2 * self.rows - 1, 0)
        apart = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(spans), pa.py_buffer(self.data)])
        return apart.take(pa.array(np.arange(0, count, 2), mask=absent))

    def equal(self, place: int, text: bytes) -> Flags:
        """Which rows hold exactly this text there, quoted or not."""
        starts = self.starts[:, place]
        same = self.ends[:, place] - starts == len(text)
        for at, byte in enumerate(text):
            inside = np.minimum(starts + at, len(self.data) - 1)
            same &= self.data[inside] == byte
        return same


def scan(data: Bytes, cells: int, options: CsvOptions) -> Grid:
    """The whole rows of a text that begins at a row's begin; raises Malformed."""
    ender = options.terminator.encode()
    special = _special(data, options)
    kinds = data[special]
    if options.quote:
        is_quote = kinds == ord(options.quote)
        outside = (np.cumsum(is_quote, dtype=np.int64) & 1) == 0
        free, marks = outside & ~is_quote, special[is_quote]
    else:
        starter = _escaping(special, kinds)
        after = np.zeros(len(special), np.bool_)
        after[1:] = starter[:-1] & (special[1:] == special[:-1] + 1)
        free, marks = ~after & (kinds != _BACKSLASH), special[starter]
    ends = special[free & (kinds == ender[-1])] - (len(ender) - 1)
    ends = _matching(data, ends, ender)
    delimiter = options.delimiter.encode()
    splits = _apart(_matching(data, special[free & (kinds == delimiter[0])], delimiter), delimiter)
    splits = _outside(splits, ends, len(ender))
    return _grid(data, splits, ends, marks, cells, options)


def _special(data: Bytes, options: CsvOptions) -> Places:
    wanted = {options.terminator.encode()[-1], options.delimiter.encode()[0], ord(options.quote or "\\")}
    found = np.zeros(len(data), np.bool_)
    for byte in wanted:
        found |= data == byte
    return np.flatnonzero(found)


def _escaping(special: Places, kinds: Bytes) -> Flags:
    """Backslashes that escape what follows: every other one of a run, from its first on."""
    slash = kinds == _BACKSLASH
    begins = slash.copy()
    begins[1:] &= ~(slash[:-1] & (special[1:] == special[:-1] + 1))
    at = np.arange(len(special))
    run = np.maximum.accumulate(np.where(begins, at, 0)) if len(at) else at
    return slash & ((at - run) % 2 == 0)


def _matching(data: Bytes, places: Places, needle: bytes) -> Places:
    """The places where the whole needle stands."""
    places = places[(places >= 0) & (places + len(needle) <= len(data))]
    for at, byte in enumerate(needle):
        places = places[data[places + at] == byte] if at or len(needle) > 1 else places
    return places


def _apart(places: Places, needle: bytes) -> Places:
    """Of occurrences that overlap, those that a reader from the left would take."""
    if len(needle) == 1 or not len(places) or not (np.diff(places) < len(needle)).any():
        return places
    chosen, reached = [], -1
    for place in places.tolist():
        if place >= reached:
            chosen.append(place)
            reached = place + len(needle)
    return np.array(chosen, np.int64)


def _outside(splits: Places, ends: Places, length: int) -> Places:
    """Delimiters that are not a part of a terminator."""
    if not len(ends) or not len(splits):
        return splits
    nearest = np.searchsorted(ends, splits, "right") - 1
    return splits[(nearest < 0) | (splits >= ends[nearest] + length)]


def _grid(data: Bytes, splits: Places, ends: Places, marks: Places, cells: int, options: CsvOptions) -> Grid:
    consumed = int(ends[-1]) + len(options.terminator.encode()) if len(ends) else 0
    splits, marks = splits[: np.searchsorted(splits, consumed)], marks[: np.searchsorted(marks, consumed)]
    borders = np.concatenate([splits, ends])
    order = np.argsort(borders, kind="stable")
    is_end = order >= len(splits)
    _check_shape(is_end, cells)
    borders = borders[order].reshape(-1, cells)
    sizes = np.full(cells, len(options.delimiter.encode()), np.int64)
    sizes[-1] = len(options.terminator.encode())
    starts = np.empty_like(borders)
    starts.flat[1:] = (borders + sizes).flat[:-1]
    starts[:1, 0] = 0
    if not options.quote:
        return Grid(data, starts, borders, np.zeros(starts.shape, np.bool_), marks, consumed)
    quoted = (starts < borders) & (data[np.minimum(starts, len(data) - 1)] == ord(options.quote))
    inner = _check_quotes(marks, starts, borders, quoted)
    return Grid(data, starts + quoted, borders - quoted, quoted, inner, consumed)


def _check_shape(is_end: Flags, cells: int) -> None:
    found = np.flatnonzero(is_end)
    counts = np.diff(found, prepend=-1)
    wrong = np.flatnonzero(counts != cells)
    if len(wrong):
        raise Malformed(int(wrong[0]), f"there are {int(counts[wrong[0]])} cells, not {cells}")


def _check_quotes(marks: Places, starts: Places, ends: Places, quoted: Flags) -> Places:
    """The first quote of each doubled one; raises Malformed where a quote stands anywhere else inside a cell."""
    opens, closes = marks[0::2], marks[1::2]
    doubled = closes[:-1] + 1 == opens[1:]
    real_opens, real_closes = (
        opens[np.append(True, ~doubled)[: len(opens)]],
        closes[np.append(~doubled, True)[: len(closes)]],
    )
    want_opens, want_closes = starts[quoted], ends[quoted] - 1
    if not (np.array_equal(real_opens, want_opens) and np.array_equal(real_closes, want_closes)):
        odd = np.setxor1d(np.append(real_opens, real_closes), np.append(want_opens, want_closes))
        row = int(np.searchsorted(starts[:, 0], odd[0], "right")) - 1 if len(odd) else 0
        raise Malformed(row, "a quote stands beside text; it must be doubled inside quotes")
    return closes[:-1][doubled]
