"""A sink that keeps everything in a folder as it was told it: for tests of what comes before a sink, on any master.

`journal:///FOLDER?routes=N`: each attempt of a piece writes Arrow files of its own, each commit one file that names
the attempts which count. So what was written twice and what came in a wrong order can be seen afterwards. No package
knows the scheme by itself: `known_in` gives a folder that makes it known where it is on the PYTHONPATH.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut, Piece, Receipt
from tailrace.sink.base import Capabilities, Problem, Seat, SinkSpec, Written


def known_in(folder: Path) -> Path:
    """Make the scheme known to every process that has the folder on its path."""
    place = folder / "tailrace_journal-0.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: tailrace-journal\nVersion: 0\n")
    (place / "entry_points.txt").write_text(f"[tailrace.sinks]\njournal = {__name__}:JournalSink\n")
    return folder


class JournalSink:
    def __init__(self, spec: SinkSpec) -> None:
        parts = urlsplit(spec.uri)
        self.folder = Path(parts.path)
        self._routes = int(parse_qs(parts.query).get("routes", ["0"])[0])

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities("exactly_once", True, 0.0, 64 << 20, False, routes=self._routes, split_updates=True)

    def verify(self) -> list[Problem]:
        return []

    def open(self, seat: Seat) -> None:
        seat.check()

    def writer(self, piece: Piece) -> JournalWriter:
        return JournalWriter(self.folder / "attempts" / uuid.uuid4().hex)

    def commit(self, cut: Cut, receipts: Sequence[Receipt]) -> None:
        named = [receipt.payload for receipt in sorted(receipts, key=lambda each: each.piece) if receipt.payload]
        place = self.folder / "cuts" / f"{cut.number:09}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_suffix(".tmp")
        fresh.write_text(json.dumps(named))
        os.replace(fresh, place)

    def recover(self, cut: Cut, naming: str) -> None:
        """A commit is one rename, so there is nothing to finish."""

    def ddl(self, events: Sequence[DdlEvent]) -> None:
        """The order of rows is all that is kept."""

    def advance(self, to_ts: Ts) -> None:
        """The order of rows is all that is kept."""

    def abort(self, cut: Cut) -> None:
        """What was attempted stays, and is not named."""

    def close(self) -> None:
        """Nothing is open."""


class JournalWriter:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, list[pa.RecordBatch]] = {}
        self._rows = 0

    def write(self, batch: ChangeBatch) -> None:
        self._tables.setdefault(batch.table.full_name, []).append(batch.data)
        self._rows += batch.num_rows

    def close(self) -> Written:
        self._folder.mkdir(parents=True)
        for name, batches in self._tables.items():
            with pa.ipc.new_file(str(self._folder / name), batches[0].schema) as file:
                for batch in batches:
                    file.write_batch(batch)
        return Written(self._rows, 0, str(self._folder))

    def discard(self) -> None:
        self._tables.clear()


def attempts(folder: Path) -> int:
    """How many attempts were written to their end, whether they count or not."""
    return len(list((folder / "attempts").glob("*")))


def committed(folder: Path) -> Iterator[dict[str, pa.Table]]:
    """What each attempt that counts was told, table by table, in the order of cuts and pieces."""
    for cut in sorted((folder / "cuts").glob("*.json")):
        yield from map(told, json.loads(cut.read_text()))


def told(attempt: str) -> dict[str, pa.Table]:
    """The changes that one attempt was given, by the names of their tables."""
    found: dict[str, pa.Table] = {}
    for place in sorted(Path(attempt).iterdir()):
        with pa.ipc.open_file(str(place)) as file:
            found[place.name] = file.read_all()
    return found
