"""Commits: tells those who wait that something was committed in any range of this server."""

from __future__ import annotations

import threading


class Commits:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.seen = 0

    def tell(self) -> None:
        with self._changed:
            self.seen += 1
            self._changed.notify_all()

    def wait(self, seen: int, seconds: float) -> bool:
        """Whether something came after `seen`, at the latest after so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self.seen != seen, max(seconds, 0.0))
