"""The store's client: schemas and tables, transactions, bulk loads, reads. For the command line and for tests.

It keeps the newest known version of each table; when the store says that a table has moved on, it forgets them, and
the next transaction sees the new one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic, sleep

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.ranges import Range
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.change.tso import Ts
from tailrace.dataserver import sql
from tailrace.dataserver.routing import Part, split
from tailrace.dataserver.rows import Rows
from tailrace.dataserver.transaction import RETRY_S, Target, Transaction, patiently
from tailrace.errors import ConfigError, Locked, NotFound, SchemaMismatch, StaleRoute, UpstreamAway
from tailrace.proto import master_pb2, store_pb2
from tailrace.proto.base_pb2 import RangeEpoch
from tailrace.upstream.base import UpstreamSpec
from tailrace.upstream.dataserver.client import DataServerUpstream, master_addresses
from tailrace.upstream.dataserver.schemas import event_of, table_message, table_of
from tailrace.upstream.dataserver.wire import MASTER, STORE, Wire
from tailrace.upstream.rowcodec import encode_keys, encode_rows

EACH_ROWS = 4096
SNAPSHOT_ROWS = 1 << 17
HANDLES = (0, 1_000_000)
DDL_SECONDS = 60.0


class StoreClient:
    """Thread-safe; a transaction belongs to one thread."""

    def __init__(self, uri: str, zone: str = "UTC") -> None:
        self._master = master_addresses(uri)[0]
        self._zone = zone
        self._wire = Wire()
        self.upstream = DataServerUpstream(UpstreamSpec(uri, zone))
        self._mutex = threading.Lock()
        self._targets: dict[tuple[str, str], Target] = {}
        self._row_ids: dict[int, tuple[int, int]] = {}

    def close(self) -> None:
        self.upstream.close()
        self._wire.close()

    def now(self) -> Ts:
        return self.upstream.now()

    # Tables

    def create_schema(self, name: str) -> DdlEvent:
        return self._execute(DdlType.CREATE_SCHEMA, f"CREATE DATABASE {sql.quoted(name)}", name)

    def drop_schema(self, name: str) -> DdlEvent:
        return self._execute(DdlType.DROP_SCHEMA, f"DROP DATABASE {sql.quoted(name)}", name)

    def create_table(
        self, definition: TableSchema, ranges: int = 1, handles: tuple[int, int] = HANDLES, query: str = ""
    ) -> TableSchema:
        """Make a table. `ranges` above 1 split it evenly between two integer handles, spread over the servers."""
        if ranges > 1 and definition.common_handle:
            raise ConfigError(f"{definition.full_name} has no integer handle; only then can it have {ranges} ranges")
        low, high = handles
        cuts = [low + (high - low) * at // ranges for at in range(1, ranges)]
        event = self._execute(
            DdlType.CREATE_TABLE,
            query or sql.create_table(definition),
            definition.schema,
            definition.name,
            definition,
            splits=[((cut + (1 << 63)) % (1 << 64)).to_bytes(8, "big") for cut in cuts],
        )
        assert event.table is not None
        return event.table

    def drop_table(self, schema: str, name: str) -> DdlEvent:
        return self._execute(DdlType.DROP_TABLE, f"DROP TABLE {sql.full_name(schema, name)}", schema, name)

    def truncate_table(self, schema: str, name: str) -> DdlEvent:
        return self._execute(DdlType.TRUNCATE_TABLE, f"TRUNCATE TABLE {sql.full_name(schema, name)}", schema, name)

    def rename_table(self, schema: str, name: str, new_schema: str, new_name: str) -> DdlEvent:
        query = f"RENAME TABLE {sql.full_name(schema, name)} TO {sql.full_name(new_schema, new_name)}"
        return self._execute(DdlType.RENAME_TABLE, query, schema, name, new=(new_schema, new_name))

    def add_column(self, schema: str, name: str, column: Column) -> DdlEvent:
        table = self._newest(schema, name)
        wish = replace(table, columns=(*table.columns, column))
        return self._alter(DdlType.ADD_COLUMN, wish, f"ADD COLUMN {sql.column_text(column)}")

    def drop_column(self, schema: str, name: str, column: str) -> DdlEvent:
        table = self._newest(schema, name)
        _named(table, column)
        wish = replace(table, columns=tuple(each for each in table.columns if each.name != column))
        return self._alter(DdlType.DROP_COLUMN, wish, f"DROP COLUMN {sql.quoted(column)}")

    def modify_column(self, schema: str, name: str, column: Column) -> DdlEvent:
        table = self._newest(schema, name)
        _named(table, column.name)
        columns = tuple(column if each.name == column.name else each for each in table.columns)
        return self._alter(
            DdlType.MODIFY_COLUMN, replace(table, columns=columns), f"MODIFY COLUMN {sql.column_text(column)}"
        )

    def add_index(self, schema: str, name: str, index: Index) -> DdlEvent:
        table = self._newest(schema, name)
        wish = replace(table, indexes=(*table.indexes, index))
        return self._alter(DdlType.ADD_INDEX, wish, f"ADD {sql.index_text(index)}")

    def drop_index(self, schema: str, name: str, index: str) -> DdlEvent:
        table = self._newest(schema, name)
        wish = replace(table, indexes=tuple(each for each in table.indexes if each.name != index))
        return self._alter(DdlType.DROP_INDEX, wish, f"DROP INDEX {sql.quoted(index)}")

    def table(self, schema: str, name: str) -> TableSchema:
        """The newest version of a table."""
        return self._target(schema, name).table

    # Rows

    def begin(self) -> StoreTransaction:
        inner = Transaction(self._wire, self._take(1), lambda written: self._take(1, written), self.became)
        return StoreTransaction(self, inner)

    @contextmanager
    def transaction(self) -> Iterator[StoreTransaction]:
        """Committed at the end, rolled back by an exception."""
        txn = self.begin()
        try:
            yield txn
        except BaseException:
            txn.rollback()
            raise
        txn.commit()

    def bulk_insert(self, table: TableSchema, rows: pa.StructArray, partition: str = "") -> Ts:
        """All rows as one transaction; returns its commit ts."""
        with_all = self.begin()
        with_all.insert(table, rows, partition)
        return with_all.commit()

    def write_each(self, table: TableSchema, op: int, rows: pa.StructArray, partition: str = "") -> None:
        """Each row as a transaction of its own, many of them in one call; no key may be there twice."""
        target = self._target(table.schema, table.name)
        physical, encoded = self.encoded(target.table, op, rows, partition)
        ranges = [known for known in target.ranges if known.physical_id == physical]
        for part in split(encoded, ranges, target.table):
            for low in range(0, len(part.rows), EACH_ROWS):
                self._write_some(part.slice(low, EACH_ROWS))

    def became(self, known: Range) -> list[Range]:
        """What a range is now: itself led elsewhere, or its heirs. Waits until the master knows."""
        limit = monotonic() + RETRY_S
        self.forget()
        while True:
            found = patiently(partial(self.upstream.route, known.id))
            if found.heirs or found.range != known:
                return [patiently(partial(self.upstream.route, each)).range for each in found.heirs] or [found.range]
            if monotonic() > limit:
                raise UpstreamAway(f"range {known.id} is refused where it should be led, at {known.leader}")
            sleep(0.05)

    def read(self, table: TableSchema, at: Ts = 0) -> pa.Table:
        """All rows as of `at` (0: now), in key order, in the schema that was good then."""
        at = at or self.now()
        found: list[pa.RecordBatch] = []
        for known in self.upstream.routes(table):
            after, end = b"", False
            while not end:
                page = patiently(partial(self.upstream.pull_snapshot, known, at, after, b"", SNAPSHOT_ROWS))
                found += [pa.RecordBatch.from_struct_array(batch.after) for batch in page.batches]
                after, end = page.last_key, page.end
        return pa.Table.from_batches(found, pa.schema(list(table.arrow_struct)) if not found else found[0].schema)

    def encoded(self, table: TableSchema, op: int, rows: pa.StructArray, partition: str) -> tuple[int, Rows]:
        """The physical table and the encoded rows; a table without a clustered key gets row ids for new rows."""
        physical = _physical(table, partition)
        ids = None
        if not table.pk_is_handle and not table.common_handle:
            if op != INSERT:
                raise SchemaMismatch(f"{table.full_name} has no clustered primary key; its rows can only be inserted")
            ids = self._new_row_ids(table.table_id, len(rows))
        key = encode_keys(table, rows, physical, ids, zone=self._zone)
        value = pa.nulls(len(rows), pa.binary()) if op == DELETE else encode_rows(table, rows, zone=self._zone)
        return physical, Rows(np.full(len(rows), op, np.uint8), key, value, pa.nulls(len(rows), pa.binary()))

    def target(self, table: TableSchema) -> Target:
        return self._target(table.schema, table.name)

    def _write_some(self, part: Part) -> None:
        request = store_pb2.WriteRequest(
            range_id=part.range.id,
            range_epoch=RangeEpoch(version=part.range.epoch.version, leader=part.range.epoch.leader),
            start_ts=self._take(len(part.rows)),
            each=True,
            table_id=part.range.table_id,
            page=part.page(),
        )
        try:
            patiently(partial(self._wire.call, part.range.leader, STORE, "Write", request))
        except StaleRoute:
            for cut in [part.within(known) for known in self.became(part.range)]:
                if len(cut.rows):
                    self._write_some(cut)

    def forget(self) -> None:
        """Ask for tables and routes anew the next time."""
        with self._mutex:
            self._targets.clear()

    def _target(self, schema: str, name: str) -> Target:
        known = self._targets.get((schema, name))
        if known is None:
            tables = self._wire.call(self._master, MASTER, "Tables", master_pb2.TablesRequest()).tables
            found = next((each for each in tables if (each.schema, each.name) == (schema, name)), None)
            if found is None:
                raise NotFound(f"there is no table {schema}.{name}")
            table = table_of(found)
            known = Target(table, tuple(self.upstream.routes(table)))
            with self._mutex:
                self._targets[schema, name] = known
        return known

    def _take(self, number: int, written: Sequence[tuple[int, Ts]] = ()) -> Ts:
        request = master_pb2.TsoRequest(count=number)
        for table_id, version in written:
            request.written.add(table_id=table_id, version=version)
        return int(self._wire.call(self._master, MASTER, "Tso", request).first)

    def _new_row_ids(self, table_id: int, number: int) -> npt.NDArray[np.int64]:
        with self._mutex:
            first, left = self._row_ids.get(table_id, (0, 0))
            if left < number:
                request = master_pb2.RowIdsRequest(table_id=table_id, count=max(number, 10_000))
                first = int(self._wire.call(self._master, MASTER, "RowIds", request).first)
                left = request.count
            self._row_ids[table_id] = (first + number, left - number)
        return np.arange(first, first + number, dtype=np.int64)

    def _newest(self, schema: str, name: str) -> TableSchema:
        """The table as the master knows it now: an ALTER is refused where it began from an older version."""
        self.forget()
        return self.table(schema, name)

    def _alter(self, kind: DdlType, wish: TableSchema, clause: str) -> DdlEvent:
        query = f"ALTER TABLE {sql.full_name(wish.schema, wish.name)} {clause}"
        return self._execute(kind, query, wish.schema, wish.name, wish)

    def _execute(
        self,
        kind: DdlType,
        query: str,
        schema: str,
        name: str = "",
        wish: TableSchema | None = None,
        new: tuple[str, str] = ("", ""),
        splits: Sequence[bytes] = (),
    ) -> DdlEvent:
        request = master_pb2.ExecuteRequest(
            type=kind,
            query=query,
            schema_name=schema,
            table_name=name,
            table=None if wish is None else table_message(wish),
            new_schema=new[0],
            new_name=new[1],
            split_handles=splits,
        )
        try:
            return event_of(self._wire.call(self._master, MASTER, "Execute", request, DDL_SECONDS).event)
        finally:
            self.forget()


class StoreTransaction:
    """What a user of the store writes; rows are struct arrays of the table's type."""

    def __init__(self, client: StoreClient, inner: Transaction) -> None:
        self._client, self.inner = client, inner

    @property
    def start_ts(self) -> Ts:
        return self.inner.start_ts

    def insert(self, table: TableSchema, rows: pa.StructArray, partition: str = "") -> None:
        self._add(table, INSERT, rows, partition)

    def update(self, table: TableSchema, rows: pa.StructArray, partition: str = "") -> None:
        self._add(table, UPDATE, rows, partition)

    def delete(self, table: TableSchema, rows: pa.StructArray, partition: str = "") -> None:
        """Of `rows` only the key's columns count."""
        self._add(table, DELETE, rows, partition)

    def commit(self) -> Ts:
        try:
            return self.inner.commit()
        except BaseException:
            self._client.forget()
            raise

    def rollback(self) -> None:
        self.inner.rollback()

    def _add(self, table: TableSchema, op: int, rows: pa.StructArray, partition: str) -> None:
        target = self._client.target(table)
        if rows.type != target.table.arrow_struct and table.version != target.table.version:
            raise Locked(f"{table.full_name} was altered since its rows were made: begin a new transaction")
        for low in range(0, len(rows), 100_000):
            some = rows.slice(low, 100_000)
            self.inner.add(target, *self._client.encoded(target.table, op, some, partition))


def _physical(table: TableSchema, partition: str) -> int:
    if not table.partitions and not partition:
        return table.table_id
    found = next((part.id for part in table.partitions if part.name == partition), None)
    if found is None:
        names = [part.name for part in table.partitions]
        raise NotFound(f"{table.full_name} has no partition {partition!r}; it has {names}")
    return found


def _named(table: TableSchema, column: str) -> None:
    if table.column(column) is None:
        raise NotFound(f"{table.full_name} has no column {column}")
