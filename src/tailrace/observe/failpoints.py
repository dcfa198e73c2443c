"""Failpoints: the places at which a test may stop, break or slow a process, all of them in this file.

    TAILRACE_FAILPOINT=after-naming=kill,stage-file=raise@3,before-index=sleep:2.5
    TAILRACE_FAILPOINT=@/path/of/a/file

Each entry is `name=kill`, `name=stop`, `name=raise` or `name=sleep:SECONDS`, with `@n` for the n-th pass in a process
(1 when not given). `kill` is a SIGKILL of the own process and `stop` a SIGSTOP, `raise` a `WorkerLost`. A file is
looked at again at each pass, so that whoever writes it arms and disarms processes that run; passes are counted anew
each time it is written. Where TAILRACE_FAILPOINT_DIR names a folder, a point acts once over all processes and
restarts: it leaves a file of its name there first, which holds the number of the process.

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
    # a subscription comes to a server
    "claim-taken": "a subscription is claimed, its delivery has not begun",
    "ranges-registered": "the ranges of a new subscription are registered, no progress is saved",
    "progress-held": "the first progress is saved, the sink is not open",
    "owner-claimed": "the folder knows its new owner, what others left there is not swept",
    "sink-opened": "the sink is open, what a predecessor began is not looked at",
    "before-recover": "a naming of a predecessor was found, nothing of it is carried out here",
    "before-abandon": "a plan of a predecessor was found that has no naming, it is not forgotten yet",
    "before-renew": "the leases are renewed next",
    "after-renew": "the leases are renewed, nobody has been told what was lost",
    # a piece, on a worker
    "snapshot-page": "a page of a snapshot was pulled",
    "log-page": "a page of a range's log was pulled",
    "piece-before-write": "a piece's batch is encoded next",
    "stage-file": "a part of a piece's file was staged, and more may follow",
    "piece-closed": "a piece's files are staged whole, its receipt is not sent",
    # a cut, on the driver
    "receipts-back": "all pieces are carried, the cut is not planned in the ledger",
    "cut-planned": "the plan of a cut is saved, the sink knows nothing of it",
    "before-naming": "all receipts are there, nothing of the commit is saved",
    "after-naming": "the naming is saved in the ledger, no file has moved",
    "after-schemas": "the schema files are there, no data file has moved",
    "between-files": "some files of a commit have their final names, others not",
    "before-index": "all files have their final names, no index tells of them",
    "after-index": "files and indexes are there, the staging is not tidied up",
    "before-metadata": "files and indexes are there, the metadata is old",
    "after-commit": "the sink's commit is done, progress is not saved",
    "after-progress": "progress is saved, the next cut has not begun",
    "idle-time": "nothing has happened for a while, and the sink is told so next",
    "idle-saved": "the time that went by without changes is saved, its deliveries do not know",
    # a DDL
    "tables-registered": "the tables that a DDL made are registered, its cut is not planned",
    "before-ddl": "the rows before a DDL are durable, the DDL is not",
    "after-ddl": "the DDL is done in the sink, progress is not saved",
    # what is let go
    "before-release": "history that is not needed any more is let go next",
    "after-release": "history was let go, the next cut has not begun",
    "cancel-stopped": "a cancelled subscription has stopped, its history is pinned and its progress there",
    "cancel-released": "a cancelled subscription pins nothing any more, its progress is there",
    "cancel-forgotten": "the progress of a cancelled subscription is gone, it is not cancelled yet",
    # the embedded store
    "store-prewritten": "a prewrite is in the log, its client does not know",
    "store-committed": "a commit is in the log, its rows are not visible",
    "store-written": "a transaction of one range is in the log, its rows are not visible",
    "store-unsynced": "records are written to the log and not synced",
    "store-merge": "fresh rows are folded into blocks that are not saved",
    "store-pinned": "a subscriber's pin is saved, the subscriber does not know",
    "store-window": "the window of the timestamps is saved, none of it was handed out",
    "store-ddl-planned": "the ranges of a DDL are made, the DDL is not saved",
    "store-ddl-saved": "a DDL is saved, the data servers do not know what it dropped",
    "succeed-before-commit": "the heirs of a data server's range are in its log, their parents are not closed",
    "succeed-after-commit": "the heirs lead in the data server, the master does not know of them",
    "adopt-before-commit": "a range's log is copied to its new leader, its rows are not",
}
VARIABLE = "TAILRACE_FAILPOINT"
FOLDER = "TAILRACE_FAILPOINT_DIR"

_SHAPE = "NAME=kill, NAME=stop, NAME=raise or NAME=sleep:SECONDS, with @n behind for the n-th pass"
_PLAIN: dict[str, Literal["kill", "stop", "raise"]] = {"kill": "kill", "stop": "stop", "raise": "raise"}
_passes: Counter[tuple[str, str]] = Counter()
_counting = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Action:
    kind: Literal["kill", "stop", "raise", "sleep"]
    at_pass: int
    seconds: float = 0.0


def reach(name: str) -> None:
    """Say that the place is passed. Acts only where the environment asks for this name and pass."""
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    text, version = _asked(asked)
    if text and (action := _plan(text).get(name)) is not None:
        with _counting:
            _passes[version, name] += 1
            due = _passes[version, name] == action.at_pass
        if due and _first_of_all(name):
            _act(name, action)


def reset() -> None:
    """Count passes from the start again, for several tests in one process."""
    with _counting:
        _passes.clear()


def _asked(asked: str) -> tuple[str, str]:
    """The plan's text, and what tells this plan from one before or after it."""
    if not asked.startswith("@"):
        return asked, asked
    file = Path(asked[1:])
    try:
        return file.read_text().strip(), str(file.stat().st_mtime_ns)
    except FileNotFoundError:
        return "", ""


def _act(name: str, action: _Action) -> None:
    if action.kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if action.kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
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
        with (Path(folder) / name).open("x") as mark:
            mark.write(str(os.getpid()))
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
        if at_pass > 0 and not seconds and kind in _PLAIN:
            return name, _Action(_PLAIN[kind], at_pass)
    except ValueError:
        pass
    raise ConfigError(f"{VARIABLE} has the entry {entry!r}; it should be {_SHAPE}")
