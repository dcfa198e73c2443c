"""The TableVersionConsumer: the files of one table version, in their order and with what each holds of time.

Guarantees: the files of a run are in the order of their numbers and without a gap; numbers that are missing below the
lowest one are expired and not missed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tailrace.change.tso import Ts
from tailrace.upstream.storage.paths import DataFile, Folder, Run


@dataclass(slots=True)
class KnownFile:
    """A data file and the commit ts of its first and last row; `settled` once it is known to be whole. A file of
    which nothing could be read yet has `first` 0."""

    file: DataFile
    first: Ts = 0
    last: Ts = 0
    settled: bool = False
    looked: bool = False

    @property
    def stream(self) -> int:
        return self.file.run.partition


@dataclass(slots=True)
class TableVersionConsumer:
    folder: Folder
    version: Ts
    runs: dict[Run, dict[int, KnownFile]] = field(default_factory=dict)

    def add(self, file: DataFile) -> KnownFile:
        """The file, known from now on; one that grew is known anew."""
        known = self.runs.setdefault(file.run, {})[file.number] = KnownFile(file)
        return known

    def files(self) -> Iterator[KnownFile]:
        for run in self.runs.values():
            yield from run.values()

    def gaps(self) -> Iterator[str]:
        """The first number that is missing between the files of each run."""
        for run in self.runs.values():
            lowest, highest = min(run), max(run)
            if highest - lowest + 1 != len(run):
                missing = next(number for number in range(lowest, highest) if number not in run)
                folder = run[lowest].file.path.rpartition("/")[0]
                yield f"{folder}: file number {missing} is missing, though {highest} is there"
