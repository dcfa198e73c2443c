"""Peak memory of every process of a bench, by what it is: the server, the JVM, Spark's workers, the data servers.

Resident memory is sampled; a peak between two samples is missed. `total` is the peak of the sum, page sharing not
deducted, so it is a bound from above.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Self

import psutil

EVERY_SECONDS = 0.2


class ProcessPeaks:
    """`with ProcessPeaks() as peaks: ...`, then `peaks.by_kind`, `peaks.total`: bytes."""

    def __init__(self) -> None:
        self.by_kind: dict[str, int] = {}
        self.total = 0
        self._root = psutil.Process()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peaks", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(EVERY_SECONDS):
            total = 0
            for kind, size in self._sizes():
                # The largest process of a kind: the limit is each one's.
                self.by_kind[kind] = max(self.by_kind.get(kind, 0), size)
                total += size
            self.total = max(self.total, total)

    def _sizes(self) -> Iterator[tuple[str, int]]:
        for process in [self._root, *self._root.children(recursive=True)]:
            try:
                yield _kind(process, self._root), process.memory_info().rss
            except psutil.NoSuchProcess:
                continue  # it ended between the listing and the look


def _kind(process: psutil.Process, root: psutil.Process) -> str:
    if process.pid == root.pid:
        return "server"
    command = " ".join(process.cmdline())
    kinds = {"dataserver": "data_server", "pipeline.daemon": "worker", "java": "jvm", "tailrace server": "server"}
    return next((kind for mark, kind in kinds.items() if mark in command), "other")
