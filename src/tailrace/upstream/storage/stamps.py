"""Stamps: the first and the last commit ts of a file, from its first and last bytes alone.

A writer's file is in commit order, so these two say what of time a file holds, without reading the rest. Guarantees:
the answer is what a decoder would find in the first and the last whole row; None, when the bytes hold no whole row.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tailrace.change.tso import Ts
from tailrace.codec.csv import CsvOptions

WINDOW = 16 << 10
_HEADER = b"ticdc-meta$operation"


class Stamps(Protocol):
    def first(self, head: bytes) -> Ts | None: ...

    def last(self, tail: bytes, whole: bool) -> Ts | None:
        """`whole`: the bytes are the whole file, so a row may begin with them."""
        ...


def stamps_of(stamps: Stamps, part: Callable[[int, int], bytes], size: int) -> tuple[Ts, Ts] | None:
    """The first and the last commit ts of a file of this size, of which `part` reads bytes; None without rows."""
    head, first = b"", None
    for window in _windows(size):
        head = part(0, window)
        first = stamps.first(head)
        if first is not None:
            break
    if first is None:
        return None
    if len(head) == size:
        # A small file is asked for once.
        last = stamps.last(head, True)
        return None if last is None else (first, last)
    for window in _windows(size):
        last = stamps.last(part(size - window, window), window == size)
        if last is not None:
            return first, last
    return None


def _windows(size: int) -> Iterator[int]:
    """How much to look at: ever more, until it is all of the file."""
    window = WINDOW
    while window < size:
        yield window
        window *= 4
    if size:
        yield size


@dataclass(frozen=True, slots=True)
class CsvStamps:
    """The fourth cell of a row. A row begins where the operation's letter follows a terminator: inside of a value no
    such text can stand, because quotes are doubled there, or line ends escaped."""

    options: CsvOptions

    def first(self, head: bytes) -> Ts | None:
        terminator = self.options.terminator.encode()
        if head.startswith(_HEADER):
            head = head.partition(terminator)[2]
        return self._stamp(head)

    def last(self, tail: bytes, whole: bool) -> Ts | None:
        quote, delimiter = self.options.quote.encode(), self.options.delimiter.encode()
        begins = [quote + letter + quote + delimiter for letter in (b"I", b"U", b"D")]
        end = len(tail)
        while True:
            at = max(tail.rfind(self.options.terminator.encode() + each, 0, end) for each in begins)
            if at < 0:
                return self.first(tail) if whole else None
            found = self._stamp(tail[at + len(self.options.terminator.encode()) :])
            if found is not None:
                return found
            end = at + 1

    def _stamp(self, row: bytes) -> Ts | None:
        """The commit ts of the row that begins here."""
        form = self.options
        delimiter = re.escape(form.delimiter.encode())
        if form.quote:
            quote = re.escape(form.quote.encode())
            cell = quote + b"(?:[^" + quote + b"]|" + quote + quote + b")*" + quote
        else:
            cell = rb"(?:\\.|(?!" + delimiter + rb").)*?"
        match = re.match((cell + delimiter) * 3 + rb"(\d{1,19})" + delimiter, row, re.DOTALL)
        return int(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class JsonStamps:
    """`_tidb.commitTs` of a message; the terminator stands in no message."""

    terminator: bytes

    def first(self, head: bytes) -> Ts | None:
        line, ended, _ = head.lstrip(b"\r\n").partition(self.terminator)
        return _commit_ts(line) if ended or head.endswith(b"}") else None

    def last(self, tail: bytes, whole: bool) -> Ts | None:
        lines = tail.split(self.terminator)
        for line in reversed(lines if whole else lines[1:]):
            found = _commit_ts(line)
            if found is not None:
                return found
        return None


def _commit_ts(line: bytes) -> Ts | None:
    try:
        said = json.loads(line)
        return int(said["_tidb"]["commitTs"])
    except (ValueError, KeyError, TypeError):
        return None
