"""The data servers keep every guarantee of an upstream, over gRPC and two real processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType
from tailrace.dataserver.steering import Steering, key_bytes
from tailrace.testing.cluster import Store, start_store
from tailrace.testing.conformance.items import SCHEMA, Notes, items_table
from tailrace.testing.conformance.source import Source
from tailrace.testing.conformance.succession import ChangingSource, SuccessionConformance
from tailrace.testing.conformance.upstream import UpstreamConformance
from tailrace.upstream.base import Upstream, UpstreamSpec
from tailrace.upstream.dataserver.client import DataServerUpstream


class StoreSource:
    """Tables of one test in a store that all tests share."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._client = store.client()
        self._steering = Steering(self._client, store.address(0))
        self._opened: list[DataServerUpstream] = []
        self._held: dict[str, set[int]] = {}
        self._mutex = threading.Lock()

    def upstream(self) -> Upstream:
        self._opened.append(DataServerUpstream(UpstreamSpec(self._store.uri)))
        return self._opened[-1]

    def create(self, name: str, cuts: Sequence[int]) -> None:
        end = cuts[-1] + cuts[0] if cuts else 0
        self._client.create_table(items_table(name, 0), len(cuts) + 1, (0, end))
        self._held[name] = set()

    def write(self, name: str, notes: Notes) -> Ts:
        table = self._client.table(SCHEMA, name)
        with self._mutex:
            held = self._held[name]
            new = {key: note for key, note in notes.items() if note is not None and key not in held}
            changed = {key: note for key, note in notes.items() if note is not None and key in held}
            gone: Notes = {key: None for key, note in notes.items() if note is None}
            held.update(new)
            held.difference_update(gone)
        transaction = self._client.begin()
        for act, some in ((transaction.insert, new), (transaction.update, changed), (transaction.delete, gone)):
            if some:
                act(table, _rows(table, some))
        return transaction.commit()

    def add_column(self, name: str, column: str) -> None:
        self._client.add_column(SCHEMA, name, Column(0, column, ColumnType("bigint", 20)))

    def drop(self, name: str) -> None:
        self._client.drop_table(SCHEMA, name)
        del self._held[name]

    def split(self, name: str, key: int) -> None:
        table = self._client.table(SCHEMA, name)
        self._steering.split(table, key_bytes(table, str(key)))

    def merge(self, name: str) -> None:
        left, right, *_ = self._client.upstream.routes(self._client.table(SCHEMA, name))
        self._steering.merge(left.id, right.id)

    def move(self, name: str) -> None:
        first = self._client.upstream.routes(self._client.table(SCHEMA, name))[0]
        servers = self._steering.servers()
        self._steering.move(first.id, next(each for each in servers if servers[each] != first.leader))

    def forget(self) -> bool:
        return False

    def close(self) -> None:
        for name in list(self._held):
            self.drop(name)
        self._steering.close()
        for upstream in self._opened:
            upstream.close()


def _rows(table: TableSchema, notes: Notes) -> pa.StructArray:
    rows = [{column.name: key for column in table.row_columns} | {"note": note} for key, note in notes.items()]
    return pa.array(rows, table.arrow_struct)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with start_store(tmp_path_factory.mktemp("store"), options=["--no-fsync"]) as running:
        running.client().create_schema(SCHEMA)
        yield running


class TestDataServer(UpstreamConformance):
    @pytest.fixture
    def source(self, store: Store) -> Iterator[Source]:
        made = StoreSource(store)
        yield made
        made.close()


class TestDataServerRanges(SuccessionConformance):
    @pytest.fixture
    def source(self, store: Store) -> Iterator[ChangingSource]:
        made = StoreSource(store)
        yield made
        made.close()
