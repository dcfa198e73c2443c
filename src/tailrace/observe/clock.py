"""The wall clock. A test may let it jump: where TAILRACE_CLOCK names a file, the milliseconds in it are added.

Timestamps and leases are made from it. Nothing may rest on it going forward, and nothing else may be read from it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "TAILRACE_CLOCK"


def wall_ms() -> int:
    """Milliseconds since 1970."""
    file = os.environ.get(VARIABLE)
    return time.time_ns() // 1_000_000 + (_jump(Path(file)) if file else 0)


def _jump(file: Path) -> int:
    with suppress(FileNotFoundError, ValueError):
        return int(file.read_text())
    return 0
