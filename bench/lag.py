"""Lag: how long after its commit a change is durable, seen from outside by whoever looks at the checkpoint.

A probe notes the checkpoint again and again with the time of the look; the lag of a commit is the time of the first
look that showed a checkpoint not below it, less the commit's own time. The TSO's physical part is this machine's
clock. It never looks into the pipeline.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tailrace.change.tso import LOGICAL_BITS, Ts


class LagProbe:
    """`with LagProbe(checkpoint) as probe: ...`, then `probe.lags(commits)` in seconds; `checkpoint()` may be 0."""

    def __init__(self, checkpoint: Callable[[], Ts], every_seconds: float = 0.01) -> None:
        self._checkpoint = checkpoint
        self._every = every_seconds
        self._seen: list[tuple[float, Ts]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lag-probe", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait(self, ts: Ts, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not self._seen or self._seen[-1][1] < ts:
            if time.monotonic() > end:
                raise TimeoutError(f"the checkpoint did not reach {ts}: {self._seen[-1:]}")
            time.sleep(self._every)

    def lags(self, commits: Sequence[Ts]) -> NDArray[np.float64]:
        """The lag of each commit that became durable while the probe looked, in the order of the commits."""
        times = np.array([at for at, _ in self._seen])
        checkpoints = np.maximum.accumulate(np.array([ts for _, ts in self._seen], np.int64))
        wanted = np.array(commits, np.int64)
        first = np.searchsorted(checkpoints, wanted, side="left")
        shown = first < len(times)
        committed = (wanted[shown] >> LOGICAL_BITS) / 1000.0
        lags: NDArray[np.float64] = times[first[shown]] - committed
        return lags

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            ts = self._checkpoint()
            if not self._seen or ts > self._seen[-1][1]:
                self._seen.append((time.time(), ts))


def metadata_checkpoint(folder: Path) -> Callable[[], Ts]:
    """The checkpoint that a reader of a storage folder goes by; 0 while there is none."""

    def look() -> Ts:
        try:
            return int(json.loads((folder / "metadata").read_text())["checkpoint-ts"])
        except FileNotFoundError:
            return 0

    return look
