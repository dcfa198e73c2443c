"""The in-memory upstream keeps every guarantee, so tests that are built on it mean something."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from tailrace.change.ddl import DdlType
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.errors import IteratorLost
from tailrace.testing.conformance.items import Notes, items_table
from tailrace.testing.conformance.source import Source
from tailrace.testing.conformance.succession import ChangingSource, SuccessionConformance
from tailrace.testing.conformance.upstream import UpstreamConformance
from tailrace.upstream.base import Upstream, UpstreamSpec
from tailrace.upstream.memory import MemoryUpstream, memory_store

_numbers = itertools.count()


class MemorySource:
    """A store of its own for each test."""

    def __init__(self) -> None:
        self.uri = f"memory://conformance-{next(_numbers)}"
        self.store = memory_store(self.uri.partition("://")[2])
        self.tables: dict[str, TableSchema] = {}

    def upstream(self) -> Upstream:
        return MemoryUpstream(UpstreamSpec(self.uri))

    def create(self, name: str, cuts: Sequence[int]) -> None:
        self.tables[name] = self.store.create(items_table(name, 10 + len(self.tables)), cuts)

    def write(self, name: str, notes: Notes) -> Ts:
        table = self.tables[name]
        rows = {
            key: None if note is None else {column.name: key for column in table.row_columns} | {"note": note}
            for key, note in notes.items()
        }
        return self.store.write({table.table_id: rows})

    def add_column(self, name: str, column: str) -> None:
        wider = items_table(name, self.tables[name].table_id, extra=[column])
        self.tables[name] = self.store.alter(wider, DdlType.ADD_COLUMN, f"ALTER TABLE {name} ADD COLUMN {column}")

    def drop(self, name: str) -> None:
        self.store.drop(self.tables[name].table_id)

    def split(self, name: str, key: int) -> None:
        self.store.split(self.tables[name].table_id, key)

    def merge(self, name: str) -> None:
        self.store.merge(*self.store.tables[self.tables[name].table_id].ranges[:2])

    def move(self, name: str) -> None:
        self.store.move(self.store.tables[self.tables[name].table_id].ranges[0])

    def forget(self) -> bool:
        return False


class TestMemory(UpstreamConformance):
    @pytest.fixture
    def source(self) -> Source:
        return MemorySource()


class TestMemoryRanges(SuccessionConformance):
    @pytest.fixture
    def source(self) -> ChangingSource:
        return MemorySource()


def test_a_version_that_is_given_up_is_told_apart_from_a_lost_position() -> None:
    source = MemorySource()
    source.create("t", [])
    source.write("t", {1: "a"})
    upstream = source.upstream()
    (route,) = upstream.routes(source.tables["t"])
    at = upstream.now()
    source.store.versions_from = upstream.now()
    with pytest.raises(IteratorLost):
        upstream.pull_snapshot(route, at, b"", b"", 10)
    assert upstream.pull_snapshot(route, upstream.now(), b"", b"", 10).batches
