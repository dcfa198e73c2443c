"""Ending with the parent: a process that was started for a test or the demo never outlives who started it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

_STDIN = 0


def when_parent_ends(stop: Callable[[], None]) -> None:
    """Call `stop` once standard input is closed, as it is when the parent dies."""

    def watch() -> None:
        # Not through sys.stdin: its lock, held by a daemon thread, would abort the interpreter's exit.
        while os.read(_STDIN, 4096):
            pass
        stop()

    threading.Thread(target=watch, name="parent", daemon=True).start()
