"""Log pages: the committed changes of a range as they are sent, large pages as they are stored, small ones gathered.

A span's pages come in commit order and hold every change of the span. The first and last page may also hold changes
outside of it (a stored page is not cut): the puller drops those. A token says where to go on; the history that it
speaks of cannot change, because the span is resolved.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from tailrace.dataserver.history import Entries
from tailrace.dataserver.rows import Ints, Rows, from_flat
from tailrace.dataserver.wal import Form, Place, WriteAheadLog
from tailrace.errors import DecodeError
from tailrace.proto.cdc_pb2 import Page

# Flat payloads nearer than this are read in one go.
_GAP = 512
_GATHERED_PAGES = 1 << 16
_TOKEN = struct.Struct("<qI")


def token_of(entries: Entries, at: int) -> bytes:
    """Where entry `at` stands: its commit ts and how many pages of that ts come before it."""
    commit_ts = int(entries[at]["commit_ts"])
    return _TOKEN.pack(commit_ts, at - int(np.searchsorted(entries["commit_ts"], commit_ts)))


def position(entries: Entries, token: bytes) -> int:
    """The entry at which a token goes on."""
    if not token:
        return 0
    try:
        commit_ts, skip = _TOKEN.unpack(token)
    except struct.error as error:
        raise DecodeError(f"the token {token.hex()} was not given out by this server") from error
    return int(np.searchsorted(entries["commit_ts"], commit_ts)) + int(skip)


def fitting(entries: Entries, limit_bytes: int) -> int:
    """How many of the entries make a page of the answer: at least one."""
    size = np.cumsum(entries["length"], dtype=np.int64)
    return max(1, min(int(np.searchsorted(size, limit_bytes, side="right")), _GATHERED_PAGES))


def pages(wal: WriteAheadLog, entries: Entries) -> Iterator[Page]:
    """The entries as pages: neighbours in flat form and of one schema version are one."""
    if not len(entries):
        return
    flat = entries["form"] == Form.FLAT
    version = entries["version"]
    joins = flat[1:] & flat[:-1] & (version[1:] == version[:-1])
    starts = np.flatnonzero(np.append(True, ~joins))
    for low, high in zip(starts.tolist(), [*starts[1:].tolist(), len(entries)], strict=True):
        yield _gathered(wal, entries[low:high]) if flat[low] else _as_stored(wal, entries[low])


def _as_stored(wal: WriteAheadLog, entry: np.void) -> Page:
    return Page(
        schema_version=int(entry["version"]),
        rows=int(entry["rows"]),
        commit_ts=int(entry["commit_ts"]),
        start_ts=int(entry["start_ts"]),
        step=int(entry["step"]),
        arrow=wal.read(place_of(entry)),
    )


def place_of(entry: np.void) -> Place:
    return Place(int(entry["segment"]), int(entry["offset"]), int(entry["length"]))


def _gathered(wal: WriteAheadLog, entries: Entries) -> Page:
    rows, commit_ts, start_ts = gather(wal, entries)
    arrow = rows.to_arrow({"commit_ts": commit_ts, "start_ts": start_ts})
    return Page(schema_version=int(entries[0]["version"]), rows=len(rows), arrow=bytes(arrow))


def gather(wal: WriteAheadLog, entries: Entries) -> tuple[Rows, Ints, Ints]:
    """The rows of flat entries in commit order, with their commit ts and start ts."""
    order = np.lexsort((entries["offset"], entries["segment"]))
    data, starts = _read(wal, entries[order])
    counts = entries["rows"].astype(np.int64)
    rows = from_flat(data, starts, counts[order])
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    if (order[1:] < order[:-1]).any():
        first = np.empty(len(entries), np.int64)
        first[order] = np.cumsum(counts[order]) - counts[order]
        rows = rows.take(np.repeat(first, counts) + within)
    offset = within * np.repeat(entries["step"].astype(np.int64), counts)
    return rows, np.repeat(entries["commit_ts"], counts) + offset, np.repeat(entries["start_ts"], counts) + offset


def _read(wal: WriteAheadLog, entries: Entries) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], Ints]:
    """Payloads in the order of the log: their bytes in one array, and where each one starts in it."""
    begin = entries["offset"].astype(np.int64)
    end = begin + entries["length"]
    apart = (entries["segment"][1:] != entries["segment"][:-1]) | (begin[1:] > end[:-1] + _GAP)
    lows = np.flatnonzero(np.append(True, apart))
    highs = np.append(lows[1:], len(entries)) - 1
    sizes = end[highs] - begin[lows]
    parts = [
        wal.read(Place(int(entries["segment"][low]), int(begin[low]), int(size)))
        for low, size in zip(lows, sizes, strict=True)
    ]
    shift = np.cumsum(sizes) - sizes - begin[lows]
    starts = begin + np.repeat(shift, highs - lows + 1)
    return np.frombuffer(b"".join(parts), np.uint8), starts
