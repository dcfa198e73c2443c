"""Which fault is tried where: every failpoint, in each way in which a process can fail there.

kill     SIGKILL of whoever comes to the point; it is started again
driver   SIGSTOP of the server alone, the JVM and the workers run on; another server takes over, then SIGCONT
whole    SIGSTOP of the server and of all that it started; another server takes over, then SIGCONT
stop     SIGSTOP of a data server, whose place nobody takes, then SIGCONT
"""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass

from tailrace.observe.failpoints import FAILPOINTS

# So many are about five minutes.
SOME = 24
# Ranges that are split, or get another leader.
STEERED = {"succeed-before-commit", "succeed-after-commit", "adopt-before-commit"}
STORE = STEERED | {point for point in FAILPOINTS if point.startswith("store-")}
DDL = {
    "tables-registered",
    "before-ddl",
    "after-ddl",
    "before-release",
    "after-release",
    "store-ddl-planned",
    "store-ddl-saved",
}
CANCEL = {point for point in FAILPOINTS if point.startswith("cancel-")}
# Passed only while nothing happens, or only once at the beginning, or only after the snapshot.
IDLE = {"idle-time", "idle-saved"}
EARLY = {"claim-taken", "ranges-registered", "progress-held", "owner-claimed", "sink-opened", "store-pinned"}
EARLY |= {"snapshot-page"}
LATE = DDL | CANCEL | IDLE | STEERED | {"log-page"}
# A successor passes these, so its predecessor has to be ended first.
AFTER = {"before-recover": "after-naming=kill", "before-abandon": "before-naming=kill"}


@dataclass(frozen=True, slots=True)
class Case:
    """`late`: armed when the subscription has caught up, so that the fault is in its log and not in its snapshot."""

    point: str
    way: str
    late: bool
    seed: int

    @property
    def name(self) -> str:
        return f"{self.point}-{self.way}-{'late' if self.late else 'early'}-seed{self.seed}"

    @property
    def plan(self) -> str:
        action = f"{self.point}={'kill' if self.way == 'kill' else 'stop'}"
        return f"{AFTER[self.point]},{action}" if self.point in AFTER else action


def ways(point: str) -> tuple[str, ...]:
    return ("kill", "stop") if point in STORE else ("kill", "driver", "whole")


def chosen() -> list[Case]:
    """Each point in each way where TAILRACE_FAULTS is `all`; else some points in one way, others each day.

    TAILRACE_FAULTS_SEED repeats what was tried on another day."""
    seed = int(os.environ.get("TAILRACE_FAULTS_SEED", time.time() // 86400))
    dice = random.Random(seed)
    every = os.environ.get("TAILRACE_FAULTS") == "all"
    points = [*FAILPOINTS] if every else dice.sample([*FAILPOINTS], SOME)
    return [
        Case(point, way, point in LATE or (point not in EARLY and dice.random() < 0.5), seed)
        for point in points
        for way in (ways(point) if every else [dice.choice(ways(point))])
    ]
