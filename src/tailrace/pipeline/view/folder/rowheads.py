"""Row heads: where rows of a CSV text begin and of which commit ts they are, without reading the text from its start.

A row begins right after a terminator with its operation, table and schema, and in a quoted value that cannot stand:
there a quote is doubled or ends the cell, so a terminator, one quote and an operation's letter never follow each other
in it. In escape mode a value holds no line break. Forms for which neither is true are not `seekable`, and their files
are read from their start. The second half of an update never counts as a beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tailrace.change.tso import Ts
from tailrace.codec.csv.options import CsvOptions


@dataclass(frozen=True, slots=True)
class Head:
    """A row that begins at `offset` of the text; `ts` is 0 where rows carry none."""

    offset: int
    ts: Ts


class RowHeads:
    def __init__(self, options: CsvOptions, schema: str, table: str) -> None:
        self._ender = options.terminator.encode()
        quote, cut = re.escape(options.quote.encode()), re.escape(options.delimiter.encode())
        names = cut.join(quote + _cell(name, options) + quote for name in (table, schema))
        stamp = rb"([0-9]+)" + cut if options.include_commit_ts else b"()"
        halves = rb"(true|false)" + cut if options.output_old_value else b"()"
        head = quote + b"([IUD])" + quote + cut + names + cut + stamp + halves
        self._first = re.compile(head, re.IGNORECASE)
        self._inner = re.compile(re.escape(self._ender) + head, re.IGNORECASE)
        letters = set("IUDiud")
        lone = bool(options.quote) and not letters & {options.delimiter[0], options.terminator[0]}
        breaks = not options.quote and set(options.terminator) <= {"\r", "\n"}
        self.seekable = lone or breaks
        self.ender_length = len(self._ender)

    def first(self, text: bytes) -> Head | None:
        """The first row of a file whose beginning this is, behind a header if there is one."""
        found = self._first.match(text)
        return Head(0, int(found[2] or 0)) if found else next(self.inside(text), None)

    def inside(self, text: bytes) -> Iterator[Head]:
        """The rows that begin inside of a text, after a terminator that is there."""
        for found in self._inner.finditer(text):
            second_half = found[3].lower() == b"true" and found[1].upper() == b"I"
            if not second_half:
                yield Head(found.start() + len(self._ender), int(found[2] or 0))


def _cell(name: str, options: CsvOptions) -> bytes:
    if options.quote:
        text = name.replace(options.quote, options.quote * 2)
    else:
        text = name.replace("\\", "\\\\").replace(options.delimiter, "".join("\\" + c for c in options.delimiter))
    return re.escape(text.encode())
