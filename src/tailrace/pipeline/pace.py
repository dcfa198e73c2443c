"""Pace: when the next cut of a subscription is due, how long to wait after a failure, and how fast it goes.

Clocks are arguments, so that tests need not sleep. Nothing here touches progress.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from tailrace.sink.base import Capabilities

Clock = Callable[[], float]

FIRST_WAIT, LONGEST_WAIT = 0.05, 30.0
GIVE_UP_SECONDS = 1800.0
# How often a subscription whose sink asks for nothing notes that time went by.
QUIET_SECONDS = 2.0


class Pace:
    """Cuts start `cut_seconds` apart; a subscription that is behind does not wait at all."""

    def __init__(self, capabilities: Capabilities, clock: Clock = time.monotonic) -> None:
        self._cut_seconds = capabilities.cut_seconds
        self._idle_seconds = capabilities.idle_seconds
        self._clock = clock
        self._cut_at = self._told_at = -1e9

    def until_cut(self) -> float:
        """Seconds until the next cut may start; 0 when it is due."""
        return max(0.0, self._cut_at + self._cut_seconds - self._clock())

    @property
    def tells_idle(self) -> bool:
        """Whether the sink wants to hear at all that time goes by without changes."""
        return self._idle_seconds != math.inf

    def until_idle(self) -> float:
        """Seconds until time that went by without changes is worth a word: to the sink, or to whoever watches."""
        return max(0.0, self._told_at + min(self._idle_seconds, QUIET_SECONDS) - self._clock())

    def cut(self) -> None:
        self._cut_at = self._told_at = self._clock()

    def told(self) -> None:
        self._told_at = self._clock()


class Patience:
    """How long to wait before trying again; `exhausted` once failures have gone on for half an hour."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._since = 0.0

    def wait(self, retry_after: float) -> float:
        if not self._failures:
            self._since = self._clock()
        self._failures += 1
        return min(LONGEST_WAIT, max(min(retry_after, 1.0), FIRST_WAIT * 2.0 ** min(self._failures - 1, 10)))

    @property
    def exhausted(self) -> bool:
        return self._failures > 0 and self._clock() - self._since > GIVE_UP_SECONDS

    def restored(self) -> None:
        self._failures = 0


@dataclass(slots=True)
class Rate:
    """Rows per second over about the last ten seconds."""

    clock: Clock = time.monotonic
    value: float = 0.0
    _last: float = 0.0
    _rows: int = 0

    def add(self, rows: int) -> None:
        now = self.clock()
        self._last = self._last or now
        self._rows += rows
        spent = now - self._last
        if spent >= 1.0:
            share = min(1.0, spent / 10.0)
            fresh = self._rows / spent
            self.value = fresh if not self.value else self.value + share * (fresh - self.value)
            self._last, self._rows = now, 0
