"""The structure of a CSV text: where every cell of every row begins and ends.

NumPy finds all bytes that could mean something in one pass, then what they mean from the parity of the quotes or, in
escape mode, from the runs of backslashes before them. The `Grid` that comes out guarantees that each row has as many
cells as it should, that a quote stands only at the ends of a cell or doubled inside one, and that the terminator ended
each row. What cells mean is not known here.
"""

from __future__ import annotations

import numpy as np

from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.grid import Bytes, Flags, Grid, Malformed, Places

_BACKSLASH = ord("\\")


def scan(data: Bytes, cells: int, options: CsvOptions) -> Grid:
    """The whole rows of a text that begins where a row begins; raises Malformed."""
    special, free, marks = _free(data, options)
    ender, delimiter = options.terminator.encode(), options.delimiter.encode()
    kinds = data[special]
    ends = _standing(data, special, free & (kinds == ender[-1]), 1 - len(ender), ender)
    splits = _standing(data, special, free & (kinds == delimiter[0]) & ~ends, 0, delimiter)
    if len(delimiter) > 1:
        splits[splits] = _apart(special[splits], len(delimiter))
    if delimiter[0] in ender:
        splits[splits] = _outside(special[splits], special[ends] - (len(ender) - 1), len(ender))
    last = int(np.flatnonzero(ends)[-1]) + 1 if ends.any() else 0
    both = np.flatnonzero(ends[:last] | splits[:last])
    is_end = ends[both]
    borders = special[both] - is_end * np.int32(len(ender) - 1)
    _check_shape(is_end, cells)
    consumed = int(special[last - 1]) + 1 if last else 0
    marks = marks[: np.searchsorted(marks, consumed)]
    return _grid(data, borders.reshape(-1, cells), marks, consumed, options)


def _free(data: Bytes, options: CsvOptions) -> tuple[Places, Flags, Places]:
    """The places of special bytes, which of them are outside of values, and those of quotes or escaping backslashes."""
    found = data == options.terminator.encode()[-1]
    for byte in (options.delimiter.encode()[0], ord(options.quote or "\\")):
        found |= data == byte
    special: Places = np.flatnonzero(found).astype(np.int32)
    kinds = data[special]
    if options.quote:
        is_quote = kinds == ord(options.quote)
        inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).astype(np.bool_)
        return special, ~(inside | is_quote), special[is_quote]
    starter = _escaping(special, kinds == _BACKSLASH)
    escaped = np.zeros(len(special), np.bool_)
    escaped[1:] = starter[:-1] & (special[1:] == special[:-1] + 1)
    return special, ~escaped & (kinds != _BACKSLASH), special[starter]


def _escaping(special: Places, slash: Flags) -> Flags:
    """Backslashes that escape what follows: every other one of a run, from its first on."""
    begins = slash.copy()
    begins[1:] &= ~(slash[:-1] & (special[1:] == special[:-1] + 1))
    at = np.arange(len(special))
    run = np.maximum.accumulate(np.where(begins, at, 0)) if len(at) else at
    escaping: Flags = slash & ((at - run) % 2 == 0)
    return escaping


def _standing(data: Bytes, special: Places, found: Flags, shift: int, needle: bytes) -> Flags:
    """Of the places where one byte of the needle was found, those where all of it stands, begun `shift` bytes off."""
    if len(needle) == 1:
        return found
    begins = special[found] + shift
    whole = (begins >= 0) & (begins + len(needle) <= len(data))
    for at, byte in enumerate(needle):
        if at != -shift:  # that byte is how it was found
            whole &= data[np.clip(begins + at, 0, len(data) - 1)] == byte
    standing = found.copy()
    standing[found] = whole
    return standing


def _apart(places: Places, length: int) -> Flags:
    """Of occurrences that overlap, those that a reader from the left would take."""
    chosen = np.ones(len(places), np.bool_)
    if not (np.diff(places) < length).any():
        return chosen
    reached = -1
    for at, place in enumerate(places.tolist()):
        chosen[at] = place >= reached
        reached = place + length if chosen[at] else reached
    return chosen


def _outside(splits: Places, ends: Places, length: int) -> Flags:
    """Delimiters that are not a part of a terminator."""
    if not len(ends):
        return np.ones(len(splits), np.bool_)
    nearest = np.searchsorted(ends, splits, "right") - 1
    outside: Flags = (nearest < 0) | (splits >= ends[nearest] + length)
    return outside


def _grid(data: Bytes, borders: Places, marks: Places, consumed: int, options: CsvOptions) -> Grid:
    sizes = np.full(borders.shape[1], len(options.delimiter.encode()), np.int32)
    sizes[-1] = len(options.terminator.encode())
    starts = np.empty_like(borders)
    starts.reshape(-1)[1:] = (borders + sizes).reshape(-1)[:-1]
    starts[:1, 0] = 0
    quoted = np.zeros(starts.shape, np.bool_)
    inner = marks
    if options.quote and len(borders):
        quoted = (starts < borders) & (data[np.minimum(starts, len(data) - 1)] == ord(options.quote))
        inner = _check_quotes(marks, starts, borders, quoted)
    held = np.searchsorted(starts.reshape(-1), inner, "right") - 1
    rows, places = np.divmod(held[np.diff(held, prepend=-1) > 0], borders.shape[1])
    spans: tuple[Places, Places] = (
        np.ascontiguousarray((starts + quoted).T),
        np.ascontiguousarray((borders - quoted).T),
    )
    return Grid(data, *spans, np.ascontiguousarray(quoted.T), rows, places, consumed)


def _check_shape(is_end: Flags, cells: int) -> None:
    counts = np.diff(np.flatnonzero(is_end), prepend=-1)
    wrong = np.flatnonzero(counts != cells)
    if len(wrong):
        raise Malformed(int(wrong[0]), f"there are {int(counts[wrong[0]])} cells, not {cells}")


def _check_quotes(marks: Places, starts: Places, ends: Places, quoted: Flags) -> Places:
    """The first quote of each doubled one; raises Malformed where a quote stands anywhere else inside a cell."""
    opens, closes = marks[0::2], marks[1::2]
    doubled = closes[:-1] + 1 == opens[1:]
    alone = np.append(~doubled, True)
    real_opens, real_closes = opens[np.append(True, ~doubled)[: len(opens)]], closes[alone[: len(closes)]]
    if not np.array_equal(real_opens, starts[quoted]) or not np.array_equal(real_closes, ends[quoted] - 1):
        odd = np.concatenate([np.setxor1d(real_opens, starts[quoted]), np.setxor1d(real_closes, ends[quoted] - 1)])
        row = int(np.searchsorted(starts[:, 0], odd.min(), "right")) - 1
        raise Malformed(row, "a quote stands beside text; inside quotes it must be doubled")
    first: Places = closes[:-1][doubled]
    return first
