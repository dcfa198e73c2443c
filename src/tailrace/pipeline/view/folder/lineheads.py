"""Line heads: the rows of a canal-json text and their commit ts, without reading the text from its start.

JSON holds no raw control character, so a terminator that has one always ends a row. Inside of a JSON string every
quote has a backslash before it, so the two keys that are looked for cannot stand in a value; `es`, for rows without
the extension, comes before all keys that are named after columns, as TiCDC writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tailrace.change.tso import Ts, compose
from tailrace.codec.canal_json import CanalJsonOptions
from tailrace.pipeline.view.folder.rowheads import Head

_COMMIT = re.compile(rb'"_tidb":\{[^{}"]*"commitTs":([0-9]+)')
_MOMENT = re.compile(rb'"es":([0-9]+)')


class LineHeads:
    """The same questions as `RowHeads`; a row counts when all of it is in the text."""

    seekable = True

    def __init__(self, options: CanalJsonOptions) -> None:
        self._ender = options.terminator.encode()
        self._extended = options.enable_tidb_extension
        self.ender_length = len(self._ender)

    def first(self, text: bytes) -> Head | None:
        return self._head(text, 0)

    def inside(self, text: bytes) -> Iterator[Head]:
        begin = text.find(self._ender)
        while begin >= 0:
            begin += len(self._ender)
            head = self._head(text, begin)
            if head is not None:
                yield head
            begin = text.find(self._ender, begin)

    def _head(self, text: bytes, begin: int) -> Head | None:
        """The row that begins there, if it ends in the text."""
        end = text.find(self._ender, begin)
        ts = self._ts(text[begin:end]) if end >= 0 else None
        return None if ts is None else Head(begin, ts)

    def _ts(self, row: bytes) -> Ts | None:
        if self._extended:
            found = _COMMIT.search(row)
            return int(found[1]) if found else None
        found = _MOMENT.search(row)
        return compose(int(found[1])) if found else None
