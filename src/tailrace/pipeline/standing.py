"""Standing: whether a subscription is proven healthy, and so in whose company it travels.

    proven    with all others that are, in shared jobs and on any slot
    new       with other new ones, in jobs apart from those
    suspect   alone: it failed, or held others up

Who is not proven has at most half of the slots. A new one is proven by its first cut that goes well, a suspect by
several in a row; one that fails or is slow is a suspect at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.errors import Overdue, SinkAway, SinkRefused, TailraceError, WorkerLost

Company = Literal["proven", "new", "suspect"]

CUTS_TO_TRUST_AGAIN = 3


@dataclass(slots=True)
class Standing:
    company: Company = "new"
    failures: int = 0
    """In a row: of two suspects, the one with fewer goes first."""
    _well: int = 0

    @property
    def proven(self) -> bool:
        return self.company == "proven"

    def went_well(self) -> None:
        self.failures = 0
        self._well += 1
        if self.company == "new" or self._well >= CUTS_TO_TRUST_AGAIN:
            self.company = "proven"

    def went_wrong(self) -> None:
        self.failures += 1
        self._well = 0
        self.company = "suspect"


def is_held_against(error: BaseException) -> bool:
    """Whether an error makes a suspect. What an upstream or the meta database does meets all of its subscriptions at
    once: nobody would be left to travel together."""
    return isinstance(error, (SinkAway, SinkRefused, WorkerLost, Overdue)) or not isinstance(error, TailraceError)
