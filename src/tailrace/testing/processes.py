"""Processes that are stopped and told to go on, by their numbers: SIGSTOP and SIGCONT, alone or with all they started.

A process that has ended meanwhile is no error: whoever stops processes at random must expect that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil


def family(pid: int) -> list[psutil.Process]:
    """A process and everything below it, now."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def is_stopped(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def stop(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()


def go_on(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


@contextmanager
def paused(processes: list[psutil.Process]) -> Iterator[None]:
    """Stopped for the time of a block, and never left so."""
    stop(processes)
    try:
        yield
    finally:
        go_on(processes)
