"""The write-ahead log of one data server: records of all its ranges, in segment files, appended in groups.

Guarantees: a record whose `append` has returned is found by `replay` after any kill of the process (and, unless
`fsync` is off, of the machine); records come back in the order in which they were submitted; a torn end of the last
segment is cut off, a damaged record anywhere else is a `DecodeError` and never skipped. A record's payload can be
read again by its `Place` as long as its segment is held.

A segment is never changed but at its end, and is deleted whole.
"""

from __future__ import annotations

import os
import re
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from tailrace.errors import DecodeError, UpstreamAway
from tailrace.observe.failpoints import reach

SEGMENT_BYTES = 64 << 20
SEAL = "sealed"
_HEADER = struct.Struct("<IIBBBBIQQQqqqI")
_FROM_CRC = 8
_WAIT_S = 60.0


class Kind(IntEnum):
    """What a record does. SPLIT and MERGE are the last of their range's log and name the heirs; with LEADER begins what
    a new leader has written down of a range."""

    PREWRITE = 1
    COMMIT = 2
    ROLLBACK = 3
    WRITE = 4
    SPLIT = 5
    MERGE = 6
    LEADER = 7


class Form(IntEnum):
    """How a payload holds its rows."""

    NONE = 0
    FLAT = 1
    ARROW = 2


@dataclass(frozen=True, slots=True)
class Place:
    """Where a payload lies."""

    segment: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Record:
    """One step of one range. `step` is 1 where row i has the timestamps of the record plus i."""

    kind: Kind
    range_id: int
    index: int
    start_ts: int
    commit_ts: int = 0
    version: int = 0
    rows: int = 0
    form: Form = Form.NONE
    step: int = 0
    sequence: int = 0
    primary: int = 0

    def header(self, payload: bytes | memoryview) -> bytes:
        body = _HEADER.pack(
            len(payload), 0, self.kind, self.form, self.step, 0, self.sequence, self.range_id, self.index,
            self.primary, self.start_ts, self.commit_ts, self.version, self.rows,
        )  # fmt: skip
        crc = zlib.crc32(payload, zlib.crc32(body[_FROM_CRC:]))
        return body[:4] + crc.to_bytes(4, "little") + body[_FROM_CRC:]


class Pending:
    """A submitted record: `place` is known at once, `wait` returns when it is durable."""

    __slots__ = ("_done", "_error", "place")

    def __init__(self, place: Place) -> None:
        self.place = place
        self._done = threading.Event()
        self._error: OSError | None = None

    def finish(self, error: OSError | None) -> None:
        self._error = error
        self._done.set()

    def wait(self) -> Place:
        if not self._done.wait(_WAIT_S):
            raise UpstreamAway(f"the log did not take a record within {_WAIT_S:.0f} s")
        if self._error is not None:
            raise UpstreamAway(f"the log cannot be written: {self._error}") from self._error
        return self.place


class WriteAheadLog:
    """One folder of segments; many threads submit, one thread writes."""

    def __init__(self, folder: Path, fsync: bool = True, segment_bytes: int = SEGMENT_BYTES) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._fsync, self._limit = folder, fsync, segment_bytes
        self._seal = folder / SEAL
        self._wake = threading.Condition()
        self._queue: list[tuple[int, bytes, bytes | memoryview, Pending]] = []
        self._readers: dict[int, int] = {}
        self._files = threading.Lock()
        self._stopping = False
        self._broken: OSError | None = None
        self._segment, self._offset = self._resume()
        self._writer = threading.Thread(target=self._write_loop, name="wal", daemon=True)

    def start(self) -> None:
        """Take records; call it after `replay`."""
        self._writer.start()

    @property
    def segments(self) -> list[int]:
        """Numbers of the segments that are held, ascending; the last one is written to."""
        return [number for number, _ in segment_files(self._folder)]

    def submit(self, record: Record, payload: bytes | memoryview = b"") -> Pending:
        header = record.header(payload)
        with self._wake:
            if self._broken is not None or self._stopping:
                raise UpstreamAway(f"the log takes no records: {self._broken or 'the server stops'}")
            if self._offset >= self._limit:
                self._segment, self._offset = self._segment + 1, 0
            pending = Pending(Place(self._segment, self._offset + len(header), len(payload)))
            self._offset += len(header) + len(payload)
            self._queue.append((self._segment, header, payload, pending))
            self._wake.notify()
        return pending

    def append(self, record: Record, payload: bytes | memoryview = b"") -> Place:
        return self.submit(record, payload).wait()

    def read(self, place: Place) -> bytes:
        """The payload at a place. Raises DecodeError where the segment is gone or too short."""
        try:
            data = os.pread(self._reader(place.segment), place.length, place.offset)
        except OSError as error:
            raise DecodeError(f"{self._path(place.segment)} cannot be read: {error}") from error
        if len(data) != place.length:
            raise DecodeError(f"{self._path(place.segment)} ends before byte {place.offset + place.length}")
        return data

    def replay(self) -> Iterator[tuple[Record, Place]]:
        """Every record that is held, in order, without its payload."""
        for segment in self.segments:
            yield from self._scan(segment)

    def size(self) -> int:
        return sum(self.segment_size(segment) for segment in self.segments)

    def segment_size(self, segment: int) -> int:
        return self._path(segment).stat().st_size

    def drop(self, segment: int) -> None:
        """Let go of a whole segment; only who knows that nobody needs it may call this."""
        with self._files:
            reader = self._readers.pop(segment, None)
            if reader is not None:
                os.close(reader)
        self._path(segment).unlink(missing_ok=True)

    @property
    def sealed(self) -> bool:
        """Whether another server has taken ranges from here without asking."""
        return self._seal.exists()

    def unseal(self) -> None:
        """What was taken is let go of: the log is ours again."""
        self._seal.unlink(missing_ok=True)

    def close(self) -> None:
        with self._wake:
            self._stopping = True
            self._wake.notify()
        if self._writer.ident is not None:
            self._writer.join()
        with self._files:
            for reader in self._readers.values():
                os.close(reader)
            self._readers.clear()

    def _path(self, segment: int) -> Path:
        return self._folder / f"wal-{segment:08d}.log"

    def _reader(self, segment: int) -> int:
        with self._files:
            reader = self._readers.get(segment)
            if reader is None:
                reader = self._readers[segment] = os.open(self._path(segment), os.O_RDONLY)
            return reader

    def _resume(self) -> tuple[int, int]:
        held = self.segments
        if not held:
            return 1, 0
        end = max((place.offset + place.length for _, place in self._scan(held[-1], torn=True)), default=0)
        os.truncate(self._path(held[-1]), end)
        return held[-1], end

    def _scan(self, segment: int, torn: bool = False) -> Iterator[tuple[Record, Place]]:
        with self._path(segment).open("rb") as file:
            for record, place, _ in scan(file, segment, torn):
                yield record, place

    def _write_loop(self) -> None:
        output, number = -1, -1
        while True:
            with self._wake:
                while not self._queue and not self._stopping:
                    self._wake.wait()
                batch, self._queue = self._queue, []
                if not batch and self._stopping:
                    break
            while batch:
                segment = batch[0][0]
                group = [entry for entry in batch if entry[0] == segment]
                batch = batch[len(group) :]
                if segment != number:
                    if output >= 0:
                        os.close(output)
                    output, number = self._open(segment), segment
                self._write(output, group)
        if output >= 0:
            os.close(output)

    def _open(self, segment: int) -> int:
        output = os.open(self._path(segment), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if self._fsync:
            folder = os.open(self._folder, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        return output

    def _write(self, output: int, group: Sequence[tuple[int, bytes, bytes | memoryview, Pending]]) -> None:
        error = self._broken
        if error is None:
            try:
                for start in range(0, len(group), 256):
                    _write_all(output, [part for entry in group[start : start + 256] for part in entry[1:3]])
                reach("store-unsynced")
                if self._fsync:
                    os.fdatasync(output)
                # Whoever sealed this log reads it afterwards: a record that was there before the seal is theirs, too,
                # of any other nobody may be told that it is there.
                if self.sealed:
                    raise PermissionError(f"another server took over what is in {self._folder}")
            except OSError as raised:
                # What was written of the group is unknown, so nothing may follow it: only a restart helps.
                error = self._broken = raised
        for entry in group:
            entry[3].finish(error)


def scan(file: BinaryIO, segment: int, torn: bool) -> Iterator[tuple[Record, Place, bytes]]:
    """The records of an open segment with their payloads. A `torn` one may end within a record."""
    at = 0
    while head := file.read(_HEADER.size):
        payload = file.read(int.from_bytes(head[:4], "little"))
        record = _parse(head, payload)
        if record is None:
            if torn:
                return
            raise DecodeError(f"{file.name} is damaged at byte {at}; a whole record should stand there")
        yield record, Place(segment, at + _HEADER.size, len(payload)), payload
        at += _HEADER.size + len(payload)


def segment_files(folder: Path) -> list[tuple[int, Path]]:
    """The segments of a log's folder, ascending."""
    found = ((re.fullmatch(r"wal-(\d{8})\.log", path.name), path) for path in folder.iterdir())
    return sorted((int(match[1]), path) for match, path in found if match)


def _parse(head: bytes, payload: bytes) -> Record | None:
    if len(head) < _HEADER.size:
        return None
    length, crc, kind, form, step, _, sequence, range_id, index, primary, start, commit, version, rows = _HEADER.unpack(
        head
    )
    if len(payload) != length or zlib.crc32(payload, zlib.crc32(head[_FROM_CRC:])) != crc:
        return None
    return Record(Kind(kind), range_id, index, start, commit, version, rows, Form(form), step, sequence, primary)


def _write_all(output: int, parts: list[bytes | memoryview]) -> None:
    left = sum(len(part) for part in parts)
    written = os.writev(output, parts)
    if written < left:
        rest = b"".join(parts)
        while written < left:
            written += os.write(output, rest[written:])
