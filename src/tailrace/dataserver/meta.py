"""What a data server remembers of itself and its ranges, beside rows and log: one small JSON value for each in LMDB."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lmdb

from tailrace.change.ranges import Epoch
from tailrace.change.tso import Ts

# Only address space; the file grows as it is filled.
MAP_BYTES = 64 << 30


@dataclass(frozen=True, slots=True)
class RangeMeta:
    """A range as its leader knows it. All commits up to log index `applied` are in blocks; nothing at or below
    `pruned_ts` can be pulled from the log any more, and no snapshot below `safe_ts` be read.

    A range that became others has `heirs`: its rows are theirs, its log is kept and ends at `last_ts`, and what its
    log does not hold of its keys lies above `closed_ts`. An heir `decides` the fate of transactions whose primary was
    one of these ranges. The log of this server speaks of the range from `since` (segment, offset) on.
    """

    range_id: int
    table_id: int
    physical_id: int
    start: bytes
    end: bytes
    common_handle: bool = False
    epoch: Epoch = field(default_factory=Epoch)
    created_ts: Ts = 0
    dropped_ts: Ts = 0
    applied: int = 0
    next_index: int = 1
    pruned_ts: Ts = 0
    pruned_index: int = 0
    safe_ts: Ts = 0
    pins: dict[str, Ts] = field(default_factory=dict)
    heirs: tuple[int, ...] = ()
    closed_ts: Ts = 0
    last_ts: Ts = 0
    settled: bool = False
    decides: tuple[int, ...] = ()
    yielded: bool = False
    since: tuple[int, int] = (0, 0)

    def to_json(self) -> bytes:
        fields = asdict(self) | {"start": self.start.hex(), "end": self.end.hex()}
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, text: bytes) -> RangeMeta:
        fields = json.loads(text)
        fields["start"], fields["end"] = bytes.fromhex(fields["start"]), bytes.fromhex(fields["end"])
        fields["epoch"] = Epoch(**fields["epoch"])
        for name in ("heirs", "decides", "since"):
            fields[name] = tuple(fields.get(name, getattr(_ANY, name)))
        return cls(**fields)


_open: dict[Path, Any] = {}
_open_mutex = threading.Lock()
_ANY = RangeMeta(0, 0, 0, b"", b"")


class Database:
    """The LMDB environment of a data server; `foreign` is that of another one, which is only read."""

    def __init__(self, folder: Path, fsync: bool = True, foreign: bool = False) -> None:
        if not foreign:
            folder.mkdir(parents=True, exist_ok=True)
        self.file = folder.resolve() / "data.mdb"
        # A process may hold an environment only once, also when two of its servers read it.
        with _open_mutex:
            self._borrowed = foreign and self.file in _open
            if self._borrowed:
                self.env: Any = _open[self.file]
            else:
                self.env = lmdb.open(
                    str(folder), map_size=MAP_BYTES, max_dbs=4, max_readers=256, sync=fsync, lock=True, readonly=foreign
                )
                _open[self.file] = self.env
        self._meta = self.env.open_db(b"meta")
        self.rows = self.env.open_db(b"rows")
        self._fates = self.env.open_db(b"fates")

    def ranges(self) -> list[RangeMeta]:
        with self.env.begin(db=self._meta) as txn:
            return [RangeMeta.from_json(value) for key, value in txn.cursor() if key.startswith(b"range/")]

    def save(self, meta: RangeMeta, txn: Any = None) -> None:
        """In the open transaction, or in one of its own."""
        if txn is not None:
            txn.put(b"range/%d" % meta.range_id, meta.to_json(), db=self._meta)
            return
        with self.env.begin(write=True) as own:
            self.save(meta, own)

    def mark_absent(self, range_id: int, txn: Any = None) -> None:
        """The log may speak of a range that is not led here: one that was given away, or never came to be."""
        if txn is not None:
            txn.put(b"absent/%d" % range_id, b"", db=self._meta)
            return
        with self.env.begin(write=True) as own:
            self.mark_absent(range_id, own)

    def absent(self) -> set[int]:
        with self.env.begin(db=self._meta) as txn:
            names = (key for key in txn.cursor().iternext(keys=True, values=False))
            return {int(name[7:]) for name in names if name.startswith(b"absent/")}

    def forget(self, range_id: int) -> None:
        """Nothing is left of a range but that the log may speak of it."""
        with self.env.begin(write=True) as txn:
            txn.delete(b"range/%d" % range_id, db=self._meta)
            self.mark_absent(range_id, txn)
            for table in (self.rows, self._fates):
                clear(txn, table, range_id)

    def entries(self, txn: Any, range_id: int) -> Iterator[tuple[Any, bytes, bytes]]:
        """All that rows and fates hold of a range, each with its table, in the open transaction."""
        prefix = range_id.to_bytes(8, "big")
        for table in (self.rows, self._fates):
            cursor = txn.cursor(db=table)
            found = cursor.set_range(prefix)
            while found and bytes(cursor.key())[:8] == prefix:
                yield table, bytes(cursor.key()), bytes(cursor.value())
                found = cursor.next()

    def take_over(self, other: Database, txn: Any, range_id: int) -> None:
        """Rows and fates of a range as they are in another database, in place of what is here."""
        for table in (self.rows, self._fates):
            clear(txn, table, range_id)
        with other.env.begin(buffers=True) as reading:
            for table, key, value in other.entries(reading, range_id):
                txn.put(key, value, db=self.rows if table is other.rows else self._fates)

    def identity(self) -> int:
        """The number that the master gave; 0 before."""
        with self.env.begin(db=self._meta) as txn:
            return int(txn.get(b"server_id", b"0"))

    def save_identity(self, server_id: int) -> None:
        with self.env.begin(write=True, db=self._meta) as txn:
            txn.put(b"server_id", b"%d" % server_id)

    def fate(self, range_id: int, start_ts: Ts) -> Ts | None:
        """What became of an old transaction whose fate was decided in a range: its commit ts, 0 for rolled back."""
        with self.env.begin(db=self._fates) as txn:
            value = txn.get(_fate_key(range_id, start_ts))
            return None if value is None else int(value)

    def save_fates(self, range_id: int, fates: dict[Ts, Ts], txn: Any) -> None:
        for start_ts, commit_ts in fates.items():
            txn.put(_fate_key(range_id, start_ts), b"%d" % commit_ts, db=self._fates)

    def sync(self) -> None:
        self.env.sync(True)

    def close(self) -> None:
        if self._borrowed:
            return
        with _open_mutex:
            _open.pop(self.file, None)
            self.env.close()


def clear(txn: Any, table: Any, range_id: int) -> None:
    prefix = range_id.to_bytes(8, "big")
    cursor = txn.cursor(db=table)
    while cursor.set_range(prefix) and bytes(cursor.key())[:8] == prefix:
        cursor.delete()


def _fate_key(range_id: int, start_ts: Ts) -> bytes:
    return range_id.to_bytes(8, "big") + start_ts.to_bytes(8, "big")
