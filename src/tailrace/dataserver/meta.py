"""What a data server remembers of itself and its ranges, beside rows and log: one small JSON value for each in LMDB."""

from __future__ import annotations

import json
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
    `pruned_ts` can be pulled from the log any more, and no snapshot below `safe_ts` be read."""

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

    def to_json(self) -> bytes:
        fields = asdict(self) | {"start": self.start.hex(), "end": self.end.hex()}
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, text: bytes) -> RangeMeta:
        fields = json.loads(text)
        fields["start"], fields["end"] = bytes.fromhex(fields["start"]), bytes.fromhex(fields["end"])
        fields["epoch"] = Epoch(**fields["epoch"])
        return cls(**fields)


class Database:
    """The LMDB environment of a data server."""

    def __init__(self, folder: Path, fsync: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder.resolve() / "data.mdb"
        self.env: Any = lmdb.open(str(folder), map_size=MAP_BYTES, max_dbs=4, max_readers=256, sync=fsync, lock=True)
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

    def save_fates(self, range_id: int, fates: dict[Ts, Ts]) -> None:
        with self.env.begin(write=True, db=self._fates) as txn:
            for start_ts, commit_ts in fates.items():
                txn.put(_fate_key(range_id, start_ts), b"%d" % commit_ts)

    def sync(self) -> None:
        self.env.sync(True)

    def close(self) -> None:
        self.env.close()


def _fate_key(range_id: int, start_ts: Ts) -> bytes:
    return range_id.to_bytes(8, "big") + start_ts.to_bytes(8, "big")
