"""The index by commit ts: between which commit ts the rows of a file are, and where in it a commit ts begins.

TiCDC keeps no such index, and none is written: rows of a file are in commit order, so a few kilobytes at its two ends
give its span, and a search by halves gives the place of a ts. A file never changes, so a span that was once found is
kept in the process under the file's path, size and time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import DecodeError
from tailrace.pipeline.view.folder.form import Heads
from tailrace.pipeline.view.folder.listing import DataFile
from tailrace.pipeline.view.folder.place import Place
from tailrace.pipeline.view.folder.rowheads import Head

_WINDOW = 16 << 10
_CLOSE = 256 << 10
_MOST_KEPT = 200_000
_kept: OrderedDict[tuple[str, str, int, int], FileSpan] = OrderedDict()


@dataclass(frozen=True, slots=True)
class FileSpan:
    """`first` and `last` commit ts of a file."""

    first: Ts
    last: Ts


@dataclass(frozen=True, slots=True)
class Index:
    """Of the files of one place and table."""

    place: Place
    heads: Heads

    def spans(self, files: Sequence[DataFile]) -> list[FileSpan]:
        missing = [file for file in files if self._key(file) not in _kept]
        for file, span in zip(missing, self.place.each(self._span, missing) if missing else (), strict=True):
            _kept[self._key(file)] = span
        found = [_kept[self._key(file)] for file in files]
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
        return found

    def around(self, file: DataFile, after: Ts, upto: Ts) -> tuple[int, int]:
        """A part of the file that holds all rows with `after < commit ts <= upto`, and begins and ends with a row."""
        if not self.heads.seekable or file.size <= _CLOSE:
            return 0, file.size
        return self._halves(file, after)[0], self._halves(file, upto)[1]

    def row_at(self, file: DataFile, offset: int) -> int:
        """Where the first row begins that begins at `offset` or behind it; the file's size if none does."""
        if offset <= 0 or offset >= file.size:
            return min(max(offset, 0), file.size)
        found = self._head(file, offset)
        return found.offset if found else file.size

    def _halves(self, file: DataFile, ts: Ts) -> tuple[int, int]:
        """Beginnings of rows, close to each other: not above `ts` before the first, above it from the second on."""
        low, high = 0, file.size
        while high - low > _CLOSE:
            middle = (low + high) // 2
            head = self._head(file, middle)
            if head is None or head.offset >= high:
                return low, high  # one row fills what is left
            if head.ts <= ts:
                low = head.offset
            else:
                high = head.offset
        return low, high

    def _head(self, file: DataFile, offset: int) -> Head | None:
        begin, window = max(offset - self.heads.ender_length, 0), _WINDOW
        while True:
            end = min(begin + window, file.size)
            found = next(self.heads.inside(self.place.part(file.path, begin, end).to_pybytes()), None)
            if found is not None:
                return Head(begin + found.offset, found.ts)
            if end == file.size:
                return None
            window *= 4

    def _span(self, file: DataFile) -> FileSpan:
        return FileSpan(self._first(file).ts, self._last(file).ts)

    def _first(self, file: DataFile) -> Head:
        window = _WINDOW
        while True:
            found = self.heads.first(self.place.part(file.path, 0, min(window, file.size)).to_pybytes())
            if found is not None:
                return found
            if window >= file.size:
                raise DecodeError(
                    "the file does not begin with a row of its table in the form that the options say",
                    position=file.path,
                )
            window *= 16

    def _last(self, file: DataFile) -> Head:
        """Where a form is not seekable the last row is not known, so the file has no end."""
        if not self.heads.seekable:
            return Head(file.size, MAX_TS)
        window = _WINDOW
        while True:
            begin = max(file.size - window, 0)
            text = self.place.part(file.path, begin, file.size).to_pybytes()
            found = None
            for found in self.heads.inside(text):  # noqa: B007
                pass
            if found is not None:
                return found
            if not begin:
                return self._first(file)
            window *= 8

    def _key(self, file: DataFile) -> tuple[str, str, int, int]:
        return self.place.name, file.path, file.size, file.modified
