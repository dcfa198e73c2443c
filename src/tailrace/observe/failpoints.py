"""Failpoints: the places at which a test may stop, break or slow a process, all of them in this file.

    TAILRACE_FAILPOINT=after-naming=kill,stage-file=raise@3,before-index=sleep:2.5

Each entry is `name=kill`, `name=raise` or `name=sleep:SECONDS`, with `@n` for the n-th pass in a process (1 when not
given). `kill` is a SIGKILL of the own process, `raise` a `WorkerLost`. Where TAILRACE_FAILPOINT_DIR names a folder, a
point acts once over all processes and restarts: it leaves a file of its name there first.

Without TAILRACE_FAILPOINT a pass costs one look into the environment. A failpoint must never be anything but that:
no code may depend on one.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Literal

from tailrace.errors import ConfigError, WorkerLost

FAILPOINTS = {
    "snapshot-page": "a page of a snapshot was pulled",
    "log-page": "a page of a range's log was pulled",
    "piece-before-write": "a piece's batch is encoded next",
    "stage-file": "a part of a piece's file was staged, and more may follow",
    "piece-closed": "a piece's files are staged whole, its receipt is not sent",
    "before-naming": "all receipts are there, nothing of the commit is saved",
    "after-naming": "the naming is saved in the ledger, no file has moved",
    "between-files": "some files of a commit have their final names, others not",
    "before-index": "all files have their final names, no index tells of them",
    "before-metadata": "files and indexes are there, the metadata is old",
    "after-commit": "the sink's commit is done, progress is not saved",
    "after-progress": "progress is saved, the next cut has not begun",
    "before-ddl": "the rows before a DDL are durable, the DDL is not",
    "after-ddl": "the DDL is done in the sink, progress is not saved",
    "succeed-before-commit": "the heirs of a data server's range are in its log, their parents are not closed",
    "succeed-after-commit": "the heirs lead in the data server, the master does not know of them",
    "adopt-before-commit": "a range's log is copied to its new leader, its rows are not",
}
VARIABLE = "TAILRACE_FAILPOINT"
FOLDER = "TAILRACE_FAILPOINT_DIR"

_SHAPE = "NAME=kill, NAME=raise or NAME=sleep:SECONDS, with @n behind for the n-th pass"
_passes: Counter[str] = Counter()
_counting = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Action:
    kind: Literal["kill", "raise", "sleep"]
    at_pass: int
    seconds: float = 0.0


def reach(name: str) -> None:
    """Say that the place is passed. Acts only where the environment asks for this name and pass."""
    text = os.environ.get(VARIABLE)
    if text and (action := _plan(text).get(name)) is not None:
        with _counting:
            _passes[name] += 1
            due = _passes[name] == action.at_pass
        if due and _first_of_all(name):
            _act(name, action)


def reset() -> None:
    """Count passes from the start again, for several tests in one process."""
    with _counting:
        _passes.clear()


def _act(name: str, action: _Action) -> None:
    if action.kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if action.kind == "sleep":
        time.sleep(action.seconds)
    if action.kind == "raise":
        raise WorkerLost(f"the failpoint {name} was reached ({FAILPOINTS[name]}), as {VARIABLE} asks")


def _first_of_all(name: str) -> bool:
    """Whether no process has acted at this point yet, where a folder says that it matters."""
    folder = os.environ.get(FOLDER)
    if not folder:
        return True
    try:
        with (Path(folder) / name).open("x"):
            return True
    except FileExistsError:
        return False


@lru_cache(maxsize=8)
def _plan(text: str) -> dict[str, _Action]:
    return dict(_entry(entry.strip()) for entry in text.split(",") if entry.strip())


def _entry(entry: str) -> tuple[str, _Action]:
    name, _, rest = entry.partition("=")
    if name not in FAILPOINTS:
        near = get_close_matches(name, FAILPOINTS, 1) or sorted(FAILPOINTS)
        raise ConfigError(f"{VARIABLE} names the failpoint {name!r}, which does not exist; try {', '.join(near)}")
    what, _, count = rest.partition("@")
    kind, _, seconds = what.partition(":")
    try:
        at_pass = int(count or 1)
        if at_pass > 0 and kind == "sleep":
            return name, _Action("sleep", at_pass, float(seconds))
        if at_pass > 0 and not seconds and kind in ("kill", "raise"):
            return name, _Action("kill" if kind == "kill" else "raise", at_pass)
    except ValueError:
        pass
    raise ConfigError(f"{VARIABLE} has the entry {entry!r}; it should be {_SHAPE}")
