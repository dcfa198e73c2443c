"""The cleanup: removes date folders that have expired.

Only with `date-separator = "day"` and `file-expiration-days` above 0. What expires is a whole date folder whose date
lies more than that many days before the checkpoint, by its place in the path and not by what a name looks like:
schema files, `metadata` and younger dates stay for ever. It follows the checkpoint, not the clock: a stopped
subscription loses nothing. A cleanup that fails is logged and comes again; it never stops the data.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date, datetime, timedelta

from tailrace.change.tso import Ts
from tailrace.errors import TailraceError
from tailrace.sink.storage.cron import Schedule
from tailrace.sink.storage.paths import Layout
from tailrace.store.filesystem import OWN, Store

_LOG = logging.getLogger(__name__)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_VERSION_DEPTH = 3


class Cleanup:
    """Runs beside the commits, one at a time. `now` is the wall clock of the subscription's time zone."""

    def __init__(self, store: Store, layout: Layout, days: int, when: Schedule, now: Callable[[], datetime]) -> None:
        self._store = store
        self._layout = layout
        self._days = days if layout.date_separator == "day" else 0
        self._when = when
        self._now = now
        self._due = when.next_after(now().replace(tzinfo=None)) if self._days else None
        self._pool: ThreadPoolExecutor | None = None
        self._under_way: Future[None] | None = None

    def tick(self, checkpoint: Ts) -> None:
        """Call this often; starts a cleanup when its time has come and none is under way."""
        now = self._now().replace(tzinfo=None)
        if self._due is None or now < self._due:
            return
        self._due = self._when.next_after(now)
        if checkpoint and (self._under_way is None or self._under_way.done()):
            self._pool = self._pool or ThreadPoolExecutor(1, "tailrace-cleanup")
            self._under_way = self._pool.submit(self._run, checkpoint)

    def wait(self) -> None:
        """Until the cleanup that is under way, if one is, has ended."""
        if self._under_way is not None:
            self._under_way.result()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _run(self, checkpoint: Ts) -> None:
        try:
            before = date.fromisoformat(self._layout.date_of(checkpoint)) - timedelta(days=self._days)
            removed = remove_expired(self._store, before, self._layout.partition_separator)
            _LOG.info("%s: removed %d date folders before %s", self._store.place, removed, before)
        except TailraceError as error:
            _LOG.warning("%s: the cleanup of expired files failed and comes again: %s", self._store.place, error)


def remove_expired(store: Store, before: date, partitions: bool) -> int:
    """Remove every date folder of an earlier date, and what is left empty above it; the number of date folders."""
    expired = [folder for folder in _date_folders(store, partitions) if folder.rpartition("/")[2] < before.isoformat()]
    store.each(store.remove_folder, expired)
    for folder in expired:
        levels = folder.split("/")
        for depth in range(len(levels) - 1, _VERSION_DEPTH - 1, -1):
            store.remove_empty("/".join(levels[:depth]))
    return len(expired)


def _date_folders(store: Store, partitions: bool) -> Iterator[str]:
    for schema in store.folders(""):
        if schema == OWN:
            continue
        for table in store.folders(schema):
            for version in store.folders(f"{schema}/{table}"):
                if version.isascii() and version.isdigit():
                    yield from _dates_below(store, f"{schema}/{table}/{version}", partitions)


def _dates_below(store: Store, folder: str, partitions: bool) -> Iterator[str]:
    for name in store.folders(folder):
        if _DATE.fullmatch(name):
            yield f"{folder}/{name}"
        elif partitions and name.isascii() and name.isdigit():
            yield from _dates_below(store, f"{folder}/{name}", False)
