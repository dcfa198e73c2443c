"""The sieve: what a subscription's event filters leave of its changes and statements, whatever its sink.

Guarantees that a change is looked at as it was committed, before any update is split, and that a batch of which all
passes is the same object. Filters are compiled once per table version; a version that an expression no longer fits is
a ConfigError, and nothing of it passes. Thread-safe: a compiled filter may be made twice, and is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.config import load_changefeed
from tailrace.route.events import EventFilters, TableEvents
from tailrace.sink.base import SinkSpec


class Sieve:
    __slots__ = ("_compiled", "_filters")

    def __init__(self, filters: EventFilters) -> None:
        self._filters = filters
        self._compiled: dict[tuple[int, Ts, str], TableEvents] = {}

    def passed(self, batches: Iterator[ChangeBatch]) -> Iterator[ChangeBatch]:
        """The batches without what is left out, those of which something passes."""
        for batch in batches:
            kept = self._of(batch.table).kept(batch)
            if kept.num_rows:
                yield kept

    def statements(self, events: Sequence[DdlEvent]) -> list[DdlEvent]:
        """The statements that the sink is to hear of."""
        return [event for event in events if not self._filters.ignored(event)]

    def _of(self, table: TableSchema) -> TableEvents:
        key = (table.table_id, table.version, table.full_name)
        found = self._compiled.get(key)
        if found is None:
            found = self._compiled[key] = self._filters.of(table)
        return found


def open_sieve(spec: SinkSpec) -> Sieve:
    """The sieve of the changefeed's configuration, which stands beside the sink's URI."""
    if not spec.config:
        return Sieve(EventFilters(()))
    said = load_changefeed(spec.uri, spec.config).filter
    return Sieve(EventFilters(said.event_filters, said.ignore_txn_start_ts))
