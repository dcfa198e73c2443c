"""The census: every process that the nemesis started, directly or not, what memory each takes, and who is left.

A process is known by its number and the time of its start, so that a number that is used again deceives nobody.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field

import psutil

MEBI = 1 << 20
GONE_WITHIN_S = 20.0
GREW_TIMES = 2.0
GREW_BYTES = 400 * MEBI
GREW_AFTER_S = 240.0


@dataclass(slots=True)
class _Life:
    """What is known of a process: its role, and its memory when it had warmed up and now."""

    process: psutil.Process
    role: str
    began: float
    settled: int = 0
    now: int = 0


@dataclass(slots=True)
class Census:
    """Of the processes that came after it was made: what ran before is somebody else's."""

    _lives: dict[tuple[int, float], _Life] = field(default_factory=dict)
    _others: frozenset[psutil.Process] = field(
        default_factory=lambda: frozenset(psutil.Process().children(recursive=True))
    )

    def count(self) -> None:
        """Look at all descendants of this process."""
        for process in set(psutil.Process().children(recursive=True)) - self._others:
            with suppress(psutil.NoSuchProcess):
                name = (process.pid, process.create_time())
                life = self._lives.get(name) or self._lives.setdefault(
                    name, _Life(process, _role(process), time.monotonic())
                )
                life.now = int(process.memory_info().rss)
                if time.monotonic() - life.began < GREW_AFTER_S / 4:
                    life.settled = life.now

    def memory(self) -> str:
        """Resident megabytes by role, of those that live now."""
        sums: dict[str, list[int]] = {}
        for life in self._living():
            sums.setdefault(life.role, []).append(life.now // MEBI)
        return ", ".join(f"{role} {'+'.join(map(str, sorted(each)))}" for role, each in sorted(sums.items()))

    def grown(self) -> list[str]:
        """Processes that have lived for a while and take far more than when they had warmed up."""
        return [
            f"{life.role} {life.process.pid} grew from {life.settled // MEBI} to {life.now // MEBI} MB"
            for life in self._living()
            if time.monotonic() - life.began > GREW_AFTER_S
            and life.now > max(life.settled * GREW_TIMES, life.settled + GREW_BYTES)
        ]

    def left(self) -> list[str]:
        """Who outlives the end; they are ended here, because nobody else will."""
        end = time.monotonic() + GONE_WITHIN_S
        while (living := self._living()) and time.monotonic() < end:
            time.sleep(0.2)
        for life in living:
            with suppress(psutil.NoSuchProcess):
                life.process.kill()
        return [f"{life.role} {life.process.pid}" for life in living]

    def _living(self) -> list[_Life]:
        return [life for life in self._lives.values() if _lives(life.process)]


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _role(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    if "dataserver" in words:
        return "data server"
    if "tailrace server" in words:
        return "server"
    return "jvm" if "java" in process.name() else "worker"
