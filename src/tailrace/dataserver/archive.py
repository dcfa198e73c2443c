"""Archives: the folder of another data server, read by the one that takes a range over from it.

Guarantees that everything of a range which was ever acknowledged is found, also when the other process was killed, or
is paused and wakes up in the middle of this. The segments of its log are opened first, then one moment of its rows is
taken, then the segments are read: what was let go of from the log before, is in the rows. With `seal` a mark is left in
the log before anything is opened; a log acknowledges nothing after its mark is there (`wal`).

Nothing of the other server is ever changed but for that mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from tailrace.dataserver.meta import Database, RangeMeta
from tailrace.dataserver.wal import SEAL, Record, scan, segment_files
from tailrace.errors import NotFound


class Archive:
    def __init__(self, folder: Path, seal: bool) -> None:
        if not (folder / "log").is_dir():
            raise NotFound(f"{folder} is not the folder of a data server, or cannot be read from here")
        self._stack = ExitStack()
        if seal:
            _mark(folder / "log")
        self._segments: list[tuple[int, BinaryIO]] = [
            (number, self._stack.enter_context(path.open("rb"))) for number, path in segment_files(folder / "log")
        ]
        self.database = Database(folder / "rows", foreign=True)
        self._stack.callback(self.database.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def meta(self, range_id: int) -> RangeMeta:
        for meta in self.database.ranges():
            if meta.range_id == range_id:
                return meta
        raise NotFound(f"range {range_id} is not in {self.database.file.parent}")

    def records(self, meta: RangeMeta) -> Iterator[tuple[Record, bytes]]:
        """What the log holds of a range, in order."""
        for number, file in self._segments:
            for record, place, payload in scan(file, number, torn=number == self._segments[-1][0]):
                if record.range_id == meta.range_id and (place.segment, place.offset) >= meta.since:
                    yield record, payload


def _mark(folder: Path) -> None:
    with (folder / SEAL).open("w") as file:
        os.fsync(file.fileno())
    handle = os.open(folder, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
