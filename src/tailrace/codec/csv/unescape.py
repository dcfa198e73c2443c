"""Doubled quotes and backslash escapes undone, in the few values that hold any.

An escape that no encoder writes is refused: a backslash stands before `n`, `r`, a backslash or a byte of the delimiter.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.codec.binary import content
from tailrace.codec.csv.options import CsvOptions
from tailrace.codec.grid import Flags, Grid, Malformed, Places

_MEANING = {ord("n"): ord("\n"), ord("r"): ord("\r"), ord("\\"): ord("\\")}


def unescaped(grid: Grid, place: int, raw: pa.BinaryArray, absent: Flags | None, options: CsvOptions) -> pa.BinaryArray:
    """`raw`, which is that place, with its values as they were before they were encoded."""
    rows = grid.odd(place)
    if absent is not None:  # the spelling of NULL is no escape
        rows = rows[~absent[rows]]
    if not len(rows):
        return raw
    some = raw.take(pa.array(rows))
    if options.quote:
        plain = pc.replace_substring(some, options.quote.encode() * 2, options.quote.encode())
    else:
        plain = _without_backslashes(some, rows, options.delimiter.encode())
    mask = np.zeros(grid.rows, np.bool_)
    mask[rows] = True
    return pc.replace_with_mask(raw, pa.array(mask), plain)


def _without_backslashes(some: pa.BinaryArray, rows: Places, delimiter: bytes) -> pa.BinaryArray:
    offsets, held = content(some)
    data = np.frombuffer(held, np.uint8).copy()
    slashes = np.flatnonzero(data == ord("\\"))
    begins = np.append(True, np.diff(slashes) > 1)
    begins |= np.isin(slashes, offsets)  # a run never reaches into the next value
    at = np.arange(len(slashes))
    escaping = slashes[(at - np.maximum.accumulate(np.where(begins, at, 0))) % 2 == 0]
    owner = np.searchsorted(offsets, escaping, "right") - 1
    meaning = np.zeros(256, np.uint8)
    for byte in delimiter:
        meaning[byte] = byte
    for letter, byte in _MEANING.items():
        meaning[letter] = byte
    known = escaping + 1 < offsets[owner + 1]
    known[known] = meaning[data[escaping[known] + 1]] > 0
    if not known.all():
        row = int(rows[owner[np.argmin(known)]])
        raise Malformed(row, "a backslash stands before a character that is never escaped")
    data[escaping + 1] = meaning[data[escaping + 1]]
    kept = np.ones(len(data), np.bool_)
    kept[escaping] = False
    shorter = np.searchsorted(escaping, offsets)
    buffers = [None, pa.py_buffer((offsets - shorter).astype(np.int32)), pa.py_buffer(data[kept])]
    return pa.Array.from_buffers(pa.binary(), len(some), buffers)
