"""Tables, batches, pieces and cuts for the tests of the storage sink, and a reader of what it left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from tailrace.change.batch import INSERT, ChangeBatch, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts, compose
from tailrace.change.types import ColumnType
from tailrace.progress.cut import Cut, Phase, Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.sink import StorageSink
from tests.sink.storage.seats import Ledger, MemorySeat

SUBSCRIPTION = "sub"
_DATA = re.compile(r"/CDC\d+\.csv$")
DAY = compose(1_767_225_600_000)  # 2026-01-01T00:00:00Z


def ts(milliseconds: int, logical: int = 0) -> Ts:
    return DAY + compose(milliseconds, logical)


def table(
    name: str = "orders", version: Ts = DAY - 1, schema: str = "shop", table_id: int = 100, extra: bool = False
) -> TableSchema:
    """`extra`: a version with one more column."""
    columns = (
        Column(1, "id", ColumnType("bigint", 20), nullable=False, pk=True),
        Column(2, "note", ColumnType("varchar", 64, charset="utf8mb4", collation="utf8mb4_bin")),
        Column(3, "extra", ColumnType("int", 11)),
    )[: 3 if extra else 2]
    return TableSchema(schema, name, table_id, version, columns, pk_is_handle=True)


def batch(of: TableSchema, commits: Sequence[Ts], starts: Sequence[Ts] = (), note: str = "") -> ChangeBatch:
    """Inserts; the id of a row is its commit ts, so that every row of a folder is known again."""
    rows = len(commits)
    images = [pa.array(commits, pa.int64()), pa.array([note] * rows, pa.string()), pa.nulls(rows, pa.int32())]
    after = pa.StructArray.from_arrays(images[: len(of.columns)], fields=list(of.arrow_struct))
    columns = [
        pa.array([INSERT] * rows, pa.uint8()),
        pa.array(commits, pa.int64()),
        pa.array(starts or [commit - 1 for commit in commits], pa.int64()),
        after,
        pa.nulls(rows, of.arrow_struct),
    ]
    return ChangeBatch(of, pa.RecordBatch.from_arrays(columns, schema=batch_schema(of)))


def spec(root: Path, parameters: str = "", config: str = "", zone: str = "UTC", name: str = SUBSCRIPTION) -> SinkSpec:
    toml = '[sink]\nprotocol = "csv"\n' + (config or "[sink.csv]\ninclude-commit-ts = true\n")
    return SinkSpec(name, f"file://{root}?flush-interval=2s{parameters}", toml, zone)


@dataclass
class Run:
    """A subscription that writes: the ledger that survives, and the sink and seat of the owner that lives now."""

    spec: SinkSpec
    ledger: Ledger = field(default_factory=Ledger)
    sink: StorageSink = field(init=False)
    seat: MemorySeat = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """A new owner: open, and what was named before its predecessor died."""
        self.sink = StorageSink(self.spec)
        self.seat = self.ledger.seat()
        self.sink.open(self.seat)
        if self.ledger.naming is not None:
            cut, naming = self.ledger.naming
            renewed = Cut(cut.subscription, self.seat.epoch, cut.number, cut.phase, cut.from_ts, cut.to_ts)
            self.sink.recover(renewed, naming)
            self.conclude(renewed)

    def cut(self, to_ts: Ts = DAY, phase: Phase = "log") -> Cut:
        return Cut(SUBSCRIPTION, self.seat.epoch, self.ledger.last_cut + 1, phase, 0, to_ts)

    def write(self, cut: Cut, batches: Iterable[ChangeBatch], number: int = 0, partition: int = 0) -> Receipt:
        """One piece, carried by a worker with a sink object of its own."""
        held = list(batches)
        self.ledger.add(each.table for each in held)
        table_id = held[0].table.table_id if held else 0
        piece = Piece(cut.subscription, cut.epoch, cut.number, number, cut.phase, table_id, partition, (), 0, cut.to_ts)
        writer = StorageSink(self.spec).writer(piece)
        try:
            for each in held:
                writer.write(each)
            written = writer.close()
        except BaseException:
            writer.discard()
            raise
        return Receipt(number, written.rows, written.bytes, written.payload)

    def deliver(self, *pieces: Iterable[ChangeBatch]) -> Cut:
        """A cut of these pieces, whole."""
        held = [list(piece) for piece in pieces]
        last = max(
            (int(each.commit_ts[-1].as_py()) for piece in held for each in piece if each.num_rows), default=ts(0)
        )
        cut = self.cut(last)
        receipts = [self.write(cut, piece, number) for number, piece in enumerate(held)]
        self.sink.commit(cut, receipts)
        self.conclude(cut)
        return cut

    def conclude(self, cut: Cut) -> None:
        self.sink.advance(cut.to_ts)
        self.ledger.save_progress(cut)


def tree(root: Path) -> dict[str, bytes]:
    """Every file that a reader may see, by its path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".tailrace" not in path.relative_to(root).parts
    }


def data_files(root: Path) -> list[str]:
    return [name for name in tree(root) if _DATA.search(name)]


def ids(root: Path, under: str = "") -> list[int]:
    """The ids of all rows in the order of folders and numbers."""
    return [each for name, data in tree(root).items() if name.startswith(under) for each in _ids(name, data)]


def _ids(name: str, data: bytes) -> list[int]:
    return [int(line.split(b",")[4]) for line in data.splitlines()] if _DATA.search(name) else []


def check_folder(root: Path) -> None:
    """What every reader relies on: no gap, no empty file, indexes that are right, schema files, time that rises."""
    files = tree(root)
    folders: dict[str, list[str]] = {}
    for name in filter(_DATA.search, files):
        folder, _, base = name.rpartition("/")
        folders.setdefault(folder, []).append(base)
    for folder, names in folders.items():
        numbers = [int(re.sub(r"\D", "", name)) for name in names]
        assert numbers == list(range(1, len(numbers) + 1)), folder
        assert files[f"{folder}/meta/CDC.index"] == f"{names[-1]}\n".encode()
        rows = [each for name in names for each in _ids(f"{folder}/{name}", files[f"{folder}/{name}"])]
        assert rows == sorted(rows), folder
        schema, name, version = folder.split("/")[:3]
        assert [path for path in files if path.startswith(f"{schema}/{name}/meta/schema_{version}_")], folder
    assert all(files.values()), "an empty file"
    assert not [name for name in files if ".tmp" in name or name.endswith(".part")]
