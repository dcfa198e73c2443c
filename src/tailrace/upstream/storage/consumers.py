"""The ConsumerManager: takes what the StorageReader exposes, and gives each file to the table that it belongs to.

Guarantees: after `refresh`, everything that the checkpoint covers is with its table: schema files read and checked,
files with their times, no gaps in between. What is broken is an error that names the file, before anything of it or
after it is given to anybody. What a writer may still be writing is looked at again, and is no error yet.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence

from tailrace.change.tso import Ts
from tailrace.errors import DecodeError
from tailrace.store.filesystem import ReadableStore
from tailrace.upstream.storage.history import History, Lineage
from tailrace.upstream.storage.paths import DataFile, Folder, SchemaPath
from tailrace.upstream.storage.reader import StorageReader
from tailrace.upstream.storage.schemas import SchemaEntry, entry_of
from tailrace.upstream.storage.stamps import Stamps, stamps_of
from tailrace.upstream.storage.table import TableConsumer
from tailrace.upstream.storage.version import KnownFile, TableVersionConsumer

_DAY_FILES = 1 << 16
_LEAST_SECONDS = 0.5

Place = tuple[Folder, Ts]


class ConsumerManager:
    """Thread-safe. Without `stamps` a file's place among the files of its version stands for its time."""

    def __init__(
        self, store: ReadableStore, reader: StorageReader, stamps: Stamps | None, member_texts: bool = True
    ) -> None:
        self._store = store
        self._reader = reader
        self._stamps = stamps
        self._member_texts = member_texts
        self._late = 0 if reader.ours else 1
        self._lock = threading.RLock()
        self._entries: dict[str, SchemaEntry] = {}
        self._unread: dict[str, SchemaPath] = {}
        self._unsettled: dict[str, tuple[TableVersionConsumer, KnownFile]] = {}
        self._gaps: set[Place] = set()
        self._described: set[Place] = set()
        self._touched: set[Place] = set()
        self._unassigned = False
        self._followed = 0
        self._owners: dict[Place, TableConsumer] = {}
        self._versions: dict[Folder, dict[Ts, TableVersionConsumer]] = defaultdict(dict)
        self._refreshed = -1e9
        self._took = 0.0
        self._asked = 0
        self.arrivals = 0
        self.checkpoint: Ts = 0
        self.history = History((), self._late)
        self.tables: dict[int, TableConsumer] = {}

    @property
    def requests(self) -> int:
        """How often the store was asked so far."""
        return self._asked + self._store.requests

    def refresh(self, at_once: bool = False) -> bool:
        """Look at what is new, unless that was done just now; whether it was done."""
        with self._lock:
            begun = time.monotonic()
            if not at_once and begun < self._refreshed + max(_LEAST_SECONDS, 2 * self._took):
                return False
            self._take()
            self._refreshed = time.monotonic()
            self._took = self._refreshed - begun
            return True

    def reach(self, upto: Ts) -> None:
        """Know everything up to a ts that somebody else has seen resolved."""
        if self.checkpoint < upto:
            self.refresh(at_once=True)

    def _take(self) -> None:
        exposed = self._reader.expose()
        self._asked += self._reader.requests
        # Files first: an error of what follows must not make them forgotten.
        self._unread |= {path.path: path for path in exposed.schemas}
        self._touched |= self._dispatch(exposed.files)
        self._read_schemas(exposed.checkpoint)
        if self._unassigned:
            if len(self._entries) > self._followed:
                self.history = History(list(self._entries.values()), self._late)
                self._followed = len(self._entries)
            self._assign()
            self._unassigned = False
        self._stamp(exposed.checkpoint)
        touched, self._touched = self._touched, set()
        self._check_gaps(touched)
        self.checkpoint = exposed.checkpoint

    def _read_schemas(self, checkpoint: Ts) -> None:
        waiting = list(self._unread.values())
        broken: DecodeError | None = None
        for path, data in zip(
            waiting, self._store.each(lambda each: self._store.read(each.path), waiting), strict=True
        ):
            try:
                entry = entry_of(path, data or b"", self._member_texts)
            except DecodeError as error:
                broken = error if path.version <= checkpoint else broken
                continue
            self._entries[path.path] = entry
            self._described.add((entry.folder, entry.version))
            del self._unread[path.path]
            self._unassigned = True
        if broken is not None:
            raise broken

    def _dispatch(self, files: Sequence[DataFile]) -> set[Place]:
        """Which versions got files."""
        for file in files:
            versions = self._versions[file.folder]
            consumer = versions.get(file.version)
            if consumer is None:
                self._unassigned = True
                consumer = versions[file.version] = TableVersionConsumer(file.folder, file.version)
            self._unsettled[file.path] = (consumer, consumer.add(file))
        return {(file.folder, file.version) for file in files}

    def _assign(self) -> None:
        """Which versions belong to which table: a folder may have been several tables' in turn."""
        known = self.tables
        self.tables, self._owners = {}, {}
        for lineage in self.history.lineages.values():
            if not lineage.is_view:
                versions = self._of(lineage)
                table = self.tables[lineage.id] = TableConsumer(lineage, versions)
                self._owners |= {(each.folder, each.version): table for each in versions}
        if not self.arrivals or any(each.implied and each.id not in known for each in self.history.lineages.values()):
            self.arrivals += 1

    def _of(self, lineage: Lineage) -> list[TableVersionConsumer]:
        found = []
        for period in lineage.periods:
            versions = self._versions.get(period.folder, {})
            found += [each for version, each in versions.items() if period.begin <= version < period.end]
        return found

    def _stamp(self, checkpoint: Ts) -> None:
        """The times of files that are not known, or may have grown since they were looked at."""
        waiting = list(self._unsettled.items())
        times = self._store.each(lambda each: self._times(each[1][1]), waiting)
        for (path, (consumer, known)), found in zip(waiting, times, strict=True):
            if found is None:
                continue
            known.first, known.last = found
            known.settled = known.first <= checkpoint
            if known.settled:
                self._check_schema(known.file)
                del self._unsettled[path]
            owner = self._owners.get((consumer.folder, consumer.version))
            if owner is not None:
                owner.changed()
        for consumer, known in self._unsettled.values():
            self._check_readable(consumer, known)

    def _times(self, known: KnownFile) -> tuple[Ts, Ts] | None:
        file = known.file
        if self._stamps is None:
            return _place_in_time(file)
        size = file.size
        if known.looked:
            entry = self._store.entry(file.path)
            size = entry.size if entry else 0
        known.looked = True
        return stamps_of(self._stamps, lambda offset, length: self._store.part(file.path, offset, length), size)

    def _check_schema(self, file: DataFile) -> None:
        if (file.folder, file.version) not in self._described:
            where = f"{file.folder}/meta/schema_{file.version}_*.json"
            raise DecodeError(f"the file's table version has no schema file {where}", position=file.path)

    def _check_readable(self, consumer: TableVersionConsumer, known: KnownFile) -> None:
        """A file after which others were finished is not being written any more."""
        file = known.file
        later = (each for number, each in consumer.runs[file.run].items() if number > file.number)
        if not known.first and file.size and any(each.settled for each in later):
            raise DecodeError("no row of it can be read, and later files are there", position=file.path)

    def _check_gaps(self, touched: set[Place]) -> None:
        """A file may come between while a folder is listed; a gap that still stands in the next round is one."""
        places = touched | self._gaps
        gaps = {place: gap for place in places for gap in self._versions[place[0]][place[1]].gaps()}
        standing = sorted(gap for place, gap in gaps.items() if place in self._gaps)
        if standing:
            path, _, what = standing[0].partition(": ")
            raise DecodeError(what, position=path)
        self._gaps = set(gaps)
        if gaps:
            self._take()


def _place_in_time(file: DataFile) -> tuple[Ts, Ts]:
    """For files without commit ts: above their version, in the order of dates and numbers."""
    day = 0
    digits = file.run.date.replace("-", "")
    if digits:
        year, rest = int(digits[:4]), digits[4:].ljust(4, "1")
        day = (year - 1970) * 372 + (int(rest[:2]) - 1) * 31 + int(rest[2:4]) - 1
        begun = time.gmtime((file.version >> 18) / 1000)
        day = max(0, day - ((begun.tm_year - 1970) * 372 + (begun.tm_mon - 1) * 31 + begun.tm_mday - 2))
    if file.number >= _DAY_FILES:
        raise DecodeError(f"a folder of files without commit ts may hold {_DAY_FILES - 1} files", position=file.path)
    place = file.version + 1 + day * _DAY_FILES + file.number
    return (place, place)
