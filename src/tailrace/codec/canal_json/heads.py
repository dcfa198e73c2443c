"""Heads of rows: everything before the first image, which in the rows of one writer is the same but for its numbers.

A `Head` is learned from one row that was read alone, and then recognised in all others by comparing bytes. The order
of `mysqlType` is random in TiCDC's rows, so there only the length and the sum of the bytes are compared; no value is
read from it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.codec.binary import content, spans
from tailrace.codec.canal_json.strict import BadRow, parsed

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]

OPS = {b"INSERT": INSERT, b"UPDATE": UPDATE, b"DELETE": DELETE}
_DIGITS = 20
_PARTS = re.compile(
    rb'(?P<opening>\{"id":.{1,4000}?"type":"(?P<type>INSERT|UPDATE|DELETE)","es":)(?P<es>\d{1,19}),"ts":\d{1,19}'
    rb'(?P<maps>,"sql":"","sqlType":.*?,"mysqlType":)(?P<types>\{.*?\}|null)(?P<rest>,"old":(?:null,"data":)?\[\{)',
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Head:
    """`opening` ends before the digits of `es`, `maps` before `types`, and `rest` where the first cell begins."""

    op: int
    opening: bytes
    maps: bytes
    types: bytes
    rest: bytes

    @classmethod
    def learned(cls, line: bytes) -> Head | None:
        """The head of a row whose JSON is known to be good; None: it is laid out in another way."""
        parts = _PARTS.match(line)
        if parts is None:
            return None
        kind, opening, maps, types, rest = (parts[name] for name in ("type", "opening", "maps", "types", "rest"))
        if (kind == b"UPDATE") != rest.startswith(b',"old":['):
            return None
        try:
            alone = parsed(opening + b'0,"ts":0' + maps + types + b"}")
        except BadRow:
            return None
        whole = json.loads(line)
        same = all(whole.get(key) == value for key, value in alone.items() if key not in ("es", "ts"))
        return cls(OPS[kind], opening, maps, types, rest) if same and "data" not in alone else None

    def found(self, data: Bytes, starts: Places, ends: Places) -> Found:
        """The rows, of those from `starts` to `ends`, that have this head."""
        cursor = _Cursor(data, starts, ends)
        cursor.literal(self.opening)
        cursor.es_at = cursor.at
        cursor.digits()
        cursor.es_end = cursor.at
        cursor.literal(b',"ts":')
        cursor.digits()
        cursor.literal(self.maps)
        cursor.literal(self.types, in_any_order=True)
        cursor.literal(self.rest)
        return Found(self.op, cursor.rows, cursor.at, cursor.es_at, cursor.es_end)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows by number, where their first cell begins, and from where to where their `es` is."""

    op: int
    rows: Places
    first: Places
    es_at: Places
    es_end: Places


class _Cursor:
    """A place in each row; rows that do not have what is asked for are dropped."""

    def __init__(self, data: Bytes, starts: Places, ends: Places) -> None:
        self._data = data
        self._ends = ends
        self.rows: Places = np.arange(len(starts))
        self.at = self.es_at = self.es_end = starts

    def literal(self, text: bytes, in_any_order: bool = False) -> None:
        self._keep(self.at + len(text) <= self._ends)
        held = spans(self.at, self.at + len(text), self._data)
        same = pc.equal(held, pa.scalar(text)).to_numpy(zero_copy_only=False)
        if in_any_order and not same.all():
            same = same | _same_bytes(held, text)
        self._keep(same)
        self.at = self.at + len(text)

    def digits(self) -> None:
        """One number of up to 19 digits; nearly all have 13, being milliseconds of our time."""
        counts = digits_at(self._data, self.at, self._ends)
        self._keep((counts > 0) & (counts < _DIGITS))
        self.at = self.at + counts[(counts > 0) & (counts < _DIGITS)]

    def _keep(self, flags: Flags) -> None:
        if not flags.all():
            self.rows, self._ends = self.rows[flags], self._ends[flags]
            self.at, self.es_at, self.es_end = self.at[flags], self.es_at[flags], self.es_end[flags]


def digits_at(data: Bytes, at: Places, ends: Places) -> Places:
    """How many digits stand at each place, counted up to 20."""
    counts = np.full(len(at), 13, np.int64)
    rest = at + 21 > ends
    near = np.where(rest, 0, at)
    if len(data) >= 21:
        words = np.ndarray(
            (len(data) - 7,), np.uint64, data.tobytes() if not data.flags.c_contiguous else data, 0, (1,)
        )
        rest |= ~(_are_digits(words[near]) & _are_digits(words[near + 5])) | (data[near + 13] - ord("0") < 10)
    else:
        rest[:] = True
    odd = np.flatnonzero(rest)
    if len(odd):
        places = at[odd, None] + np.arange(_DIGITS)
        inside = places < ends[odd, None]
        digits = (data[np.minimum(places, len(data) - 1)] - ord("0") < 10) & inside
        counts[odd] = np.where(digits.all(axis=1), _DIGITS, np.argmin(digits, axis=1))
    return counts


def _are_digits(words: npt.NDArray[np.uint64]) -> Flags:
    """Whether all eight bytes are: no high half but 3, also after six is added to the low one."""
    high = np.uint64(0xF0F0F0F0F0F0F0F0)
    digits: Flags = ((words & high) == 0x3030303030303030) & (
        ((words + 0x0606060606060606) & high) == 0x3030303030303030
    )
    return digits


def _same_bytes(held: pa.BinaryArray, text: bytes) -> Flags:
    """Whether the same bytes are there, in whatever order; the first and last in their places."""
    table = np.frombuffer(content(held)[1], np.uint8).reshape(len(held), len(text))
    sums = table.sum(axis=1, dtype=np.uint32)
    same: Flags = (sums == sum(text)) & (table[:, 0] == text[0]) & (table[:, -1] == text[-1])
    return same
