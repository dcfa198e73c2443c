"""Statements: the DDL log of an upstream, read once for all subscriptions.

Guarantee: `after` gives every event above a ts up to the ts that it names, and no more is known then.
"""

from __future__ import annotations

import threading
import time

from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.errors import TailraceError
from tailrace.upstream.base import Upstream

# Without a poll of frontiers nobody refreshes: a watcher of no range does it itself, not more often than this.
FRESH_SECONDS = 0.5
KEPT_EVENTS = 1024


class Statements:
    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._asking = threading.Lock()
        self._base: Ts = 0
        self._known: tuple[tuple[DdlEvent, ...], Ts] = ((), 0)
        self._asked = -FRESH_SECONDS
        self._error: TailraceError | None = None

    def refresh(self) -> bool:
        """Ask for what has come; whether there was something, or the upstream does not answer."""
        with self._asking:
            self._asked = time.monotonic()
            try:
                return self._refresh()
            except TailraceError as error:
                self._error = error
                return True

    def after(self, ts: Ts, alone: bool = False) -> tuple[tuple[DdlEvent, ...], Ts]:
        """The events above `ts`, and up to where they are complete. Raises what the upstream says."""
        if not self._known[1] or self._error is not None or (alone and time.monotonic() > self._asked + FRESH_SECONDS):
            self.refresh()
        if self._error is not None:
            raise self._error
        events, resolved = self._known
        if ts < self._base:
            events, resolved = self._from(ts)
        return tuple(event for event in events if event.commit_ts > ts), resolved

    def _from(self, ts: Ts) -> tuple[tuple[DdlEvent, ...], Ts]:
        """From before what is kept. It is kept from there on, if it is not too much."""
        with self._asking:
            events, resolved = self._known
            older = tuple(self._upstream.ddl(ts, self._base)) if ts < self._base else ()
            if len(older) + len(events) <= KEPT_EVENTS:
                self._known, self._base = ((*older, *events), resolved), min(ts, self._base)
            return (*older, *events), resolved

    def _refresh(self) -> bool:
        events, before = self._known
        resolved = self._upstream.ddl_resolved()
        fresh = tuple(self._upstream.ddl(before, resolved)) if before and resolved > before else ()
        if not before:
            self._base = resolved
        events += fresh
        if len(events) > KEPT_EVENTS:
            kept = events[-KEPT_EVENTS // 2 :]
            self._base, events = max(self._base, events[-len(kept) - 1].commit_ts), kept
        self._known, self._error = (events, max(before, resolved)), None
        return bool(fresh)
