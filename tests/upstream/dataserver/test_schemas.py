"""Tables of the dataserver upstream: their DDL log, their versions, their partitions and keys."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.ddl import DdlType
from tailrace.change.schema import Column, Index, Partition, TableSchema
from tailrace.change.types import ColumnType
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.process import StoreProcess
from tailrace.errors import AlreadyExists, ConfigError, Locked, NotFound, TableGone
from tailrace.upstream.base import log_batches
from tests.dataserver.stores import image, table
from tests.upstream.dataserver.changes import Every, changes, resolved, write


def test_ddl_is_a_log_of_its_own_and_rows_keep_their_version(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    write(client, orders, INSERT, [1])
    added = client.add_column("shop", orders.name, Column(0, "more", ColumnType("int"), default="5"))
    newer = client.table("shop", orders.name)
    write(client, newer, UPDATE, [1], "u")
    events = client.upstream.ddl(start, client.upstream.ddl_resolved())
    assert [(event.type, event.query) for event in events] == [
        (
            DdlType.ADD_COLUMN,
            f"ALTER TABLE `shop`.`{orders.name}` ADD COLUMN `more` INT DEFAULT '5'".replace("'5'", "5"),
        )
    ]
    assert events[0].before == orders and events[0].table == newer and newer.version == added.commit_ts
    upto = resolved(client, ranges, start)
    batches = list(log_batches(client.upstream, ranges[0], 0, start, upto, 1 << 20))
    assert [batch.table.version for batch in batches] == [orders.version, newer.version]
    assert batches[1].before.to_pylist() == [{"id": 1, "note": "n1", "more": 5}]
    assert batches[1].after.to_pylist() == [{"id": 1, "note": "u1", "more": None}]
    assert client.upstream.table_schema(orders.table_id, orders.version) == orders


def test_a_snapshot_is_in_the_schema_of_its_version(client: StoreClient, orders: TableSchema) -> None:
    write(client, orders, INSERT, [1])
    before = client.now()
    client.add_column("shop", orders.name, Column(0, "more", ColumnType("int"), nullable=False, default="5"))
    assert client.read(orders, before).to_pylist() == [{"id": 1, "note": "n1"}]
    assert client.read(orders).to_pylist() == [{"id": 1, "note": "n1", "more": 5}]
    client.drop_column("shop", orders.name, "note")
    assert client.read(orders).to_pylist() == [{"id": 1, "more": 5}]


def test_an_alter_never_undoes_one_that_it_did_not_see(
    client: StoreClient, orders: TableSchema, processes: list[StoreProcess]
) -> None:
    other = StoreClient(f"dataserver://{processes[0].address}")
    stale = other.table("shop", orders.name)
    client.add_column("shop", orders.name, Column(0, "first", ColumnType("int")))
    with pytest.raises(Locked, match="begin anew"):
        other._alter(DdlType.DROP_COLUMN, replace(stale, columns=stale.columns[:1]), "DROP COLUMN `note`")
    other.add_column("shop", orders.name, Column(0, "second", ColumnType("int")))
    other.close()
    client.forget()
    names = [column.name for column in client.table("shop", orders.name).columns]
    assert names == ["id", "note", "first", "second"]
    with pytest.raises(AlreadyExists, match="has the column second twice"):
        client.add_column("shop", orders.name, Column(0, "second", ColumnType("int")))


def test_rows_of_an_older_schema_version_cannot_commit(client: StoreClient, orders: TableSchema) -> None:
    several, single = client.begin(), client.begin()
    several.insert(orders, image(orders, [1, 11]))
    several.inner.flush()
    single.insert(orders, image(orders, [2]))
    client.add_index("shop", orders.name, Index(0, "by_note", ("note",)))
    for txn in (several, single):
        with pytest.raises(Locked, match="begin a new transaction"):
            txn.commit()
    assert client.read(orders).num_rows == 0
    write(client, client.table("shop", orders.name), INSERT, [1])


def test_rows_made_before_a_ddl_are_not_taken_after_it(client: StoreClient, orders: TableSchema) -> None:
    rows = image(orders, [1])
    txn = client.begin()
    client.add_column("shop", orders.name, Column(0, "more", ColumnType("int")))
    with pytest.raises(Locked, match="begin a new transaction"):
        txn.insert(orders, rows)
    txn.rollback()


def test_tables_are_those_of_a_moment(client: StoreClient, orders: TableSchema) -> None:
    before = client.now()
    client.rename_table("shop", orders.name, "shop", orders.name + "_new")
    names = {known.name for known in client.upstream.tables(Every(), client.now())}
    assert orders in client.upstream.tables(Every(), before)
    assert orders.name + "_new" in names and orders.name not in names
    client.drop_table("shop", orders.name + "_new")
    assert orders.table_id not in {known.table_id for known in client.upstream.tables(Every(), client.now())}
    assert orders in client.upstream.tables(Every(), before)


def test_a_truncated_table_is_a_new_one_and_the_old_log_can_be_read(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    write(client, orders, INSERT, range(30))
    event = client.truncate_table("shop", orders.name)
    newer = client.table("shop", orders.name)
    assert event.before == orders and event.table == newer and newer.table_id != orders.table_id
    assert len(client.upstream.routes(newer)) == 3
    assert len(changes(client, ranges, start, event.commit_ts)) == 30
    with pytest.raises(TableGone):
        client.upstream.pull_snapshot(ranges[0], event.commit_ts, b"", b"", 10)
    with pytest.raises(TableGone):
        client.upstream.register(ranges[0], "late")
    write(client, newer, INSERT, [1])
    assert client.read(newer).num_rows == 1


def test_partitions_are_physical_tables(client: StoreClient) -> None:
    definition = replace(table(name="parted"), partitions=(Partition(0, "p0"), Partition(0, "p1")))
    known = client.create_table(definition)
    client.bulk_insert(known, image(known, [1]), "p0")
    client.bulk_insert(known, image(known, [1, 2]), "p1")
    assert [each.partition_id for each in client.upstream.routes(known)] == [part.id for part in known.partitions]
    assert client.read(known).num_rows == 3
    with pytest.raises(NotFound, match="no partition"):
        client.bulk_insert(known, image(known, [3]), "p9")


def test_a_table_without_a_key_gets_row_ids_and_one_with_a_text_key_its_own(client: StoreClient) -> None:
    columns = tuple(replace(column, pk=False, nullable=True) for column in table().columns)
    heap = client.create_table(replace(table(name="heap"), columns=columns, pk_is_handle=False))
    client.bulk_insert(heap, image(heap, [5, 5, 5]))
    assert client.read(heap).num_rows == 3
    plain = replace(table(name="named", common_handle=True), indexes=(Index(1, "PRIMARY", ("note",), True, True),))
    named = client.create_table(replace(plain, columns=(table().columns[0], replace(columns[1], nullable=False))))
    client.bulk_insert(named, image(named, range(300), "key "))
    write(client, named, DELETE, [7], "key ")
    with pytest.raises(AlreadyExists):
        client.bulk_insert(named, image(named, [8], "key "))
    assert client.read(named).column("note").to_pylist() == sorted(f"key {at}" for at in range(300) if at != 7)


def test_a_definition_that_cannot_be_is_refused(client: StoreClient) -> None:
    with pytest.raises(NotFound, match="no schema nowhere"):
        client.create_table(table("nowhere"))
    client.create_table(table(name="twice"))
    with pytest.raises(AlreadyExists, match="twice"):
        client.create_table(table(name="twice"))
    with pytest.raises(ConfigError, match="no columns"):
        client.create_table(replace(table(name="empty"), columns=()))
