"""The peak of memory that a program takes: this process and all that it started, sampled by a thread.

Resident memory of the whole tree is added up, so pages that processes share count once for each: the answer is a
bound from above. A peak between two samples is missed.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

import psutil


class PeakMemory:
    """`with PeakMemory() as memory: ...; memory.peak_bytes`. `root` is the process whose tree is watched."""

    def __init__(self, root: int | None = None, every_s: float = 0.05) -> None:
        self.peak_bytes = 0
        self._root = psutil.Process(root)
        self._every_s = every_s
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak-memory", daemon=True)

    def __enter__(self) -> Self:
        self.peak_bytes = tree_bytes(self._root)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(self._every_s):
            began = time.monotonic()
            self.peak_bytes = max(self.peak_bytes, tree_bytes(self._root))
            # Looking at a large tree costs something itself: never more than half of the time.
            self._done.wait(max(0.0, time.monotonic() - began - self._every_s))


def tree_bytes(root: psutil.Process) -> int:
    """Resident memory of a process and everything below it, now; those that have just ended count nothing."""
    try:
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    return sum(map(_resident, family))


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
