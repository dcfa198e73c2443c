"""A running data server as origin: a snapshot without a start, the log from one on, streams over both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import MAX_TS
from tailrace.change.types import ColumnType
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.process import Options, StoreProcess
from tailrace.errors import ConfigError, NotFound, PositionLost, SchemaChanged
from tailrace.pipeline.view.stream import StreamReader
from tests.dataserver.stores import image, table
from tests.pipeline.view.reading import Rows, batch_rows, ids, read_all, stream


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process = StoreProcess(Options(tmp_path_factory.mktemp("store"), "127.0.0.1:0", "both", fsync=False))
    process.start()
    yield f"dataserver://{process.address}"
    process.stop(0)


@pytest.fixture(scope="module")
def client(uri: str) -> Iterator[StoreClient]:
    made = StoreClient(uri)
    made.create_schema("shop")
    yield made
    made.close()


@pytest.fixture
def orders(client: StoreClient, request: pytest.FixtureRequest) -> TableSchema:
    """A table of three ranges."""
    name = request.node.name.partition("[")[0]
    return client.create_table(table(name=name), ranges=3, handles=(0, 30))


def write(client: StoreClient, known: TableSchema, op: int, wanted: range | list[int], note: str = "n") -> int:
    txn = client.begin()
    {INSERT: txn.insert, UPDATE: txn.update, DELETE: txn.delete}[op](known, image(known, wanted, note))
    return txn.commit()


def named(known: TableSchema) -> str:
    return f"shop.{known.name}"


def step(reader: StreamReader, start: dict[str, int]) -> tuple[dict[str, int], Rows]:
    """The next batch that there is; the log is resolved a moment after a commit."""
    for _ in range(500):
        end = reader.latestOffset(start, ReadAllAvailable())
        if end != start:
            rows = read_all(reader, reader.partitions(start, end))
            reader.commit(end)
            return end, rows
    raise AssertionError("no batch came")


def test_without_a_start_a_read_gives_the_rows_that_are_there(
    uri: str, client: StoreClient, orders: TableSchema
) -> None:
    write(client, orders, INSERT, range(30))
    write(client, orders, DELETE, [3])
    rows = batch_rows(uri, table=named(orders))
    assert sorted(ids(rows)) == [at for at in range(30) if at != 3]
    assert {(row["_op"], row["_snapshot"], row["_before"]) for row in rows} == {("I", True, None)}
    assert len({row["_commit_ts"] for row in rows}) == 1


def test_from_a_start_on_a_read_gives_the_changes(uri: str, client: StoreClient, orders: TableSchema) -> None:
    first = write(client, orders, INSERT, range(10))
    second = write(client, orders, UPDATE, [1, 25 - 20], "m")
    third = write(client, orders, DELETE, [2])
    rows = batch_rows(uri, table=named(orders), startTs=str(first))
    seen = sorted((row["_commit_ts"], row["_op"], row["id"], row["_before"]["note"]) for row in rows)
    assert seen == [(second, "U", 1, "n1"), (second, "U", 5, "n5"), (third, "D", 2, "n2")]
    assert all(not row["_snapshot"] and row["_start_ts"] < row["_commit_ts"] for row in rows)
    assert ids(batch_rows(uri, table=named(orders), startTs=str(second), endTs=str(third))) == [2]
    assert batch_rows(uri, table=named(orders), startTs=str(third)) == []


def test_a_stream_begins_with_the_snapshot_and_goes_on_with_the_log(
    uri: str, client: StoreClient, orders: TableSchema
) -> None:
    write(client, orders, INSERT, range(20))
    reader = stream(uri, table=named(orders))
    assert reader.initialOffset() == {"cut": 0}
    cut, rows = step(reader, {"cut": 0})
    assert sorted(ids(rows)) == list(range(20))
    assert all(row["_snapshot"] for row in rows)
    late = write(client, orders, UPDATE, [7], "later")
    cut, rows = step(reader, cut)
    assert cut["cut"] >= late
    assert [(row["id"], row["_op"], row["_snapshot"]) for row in rows] == [(7, "U", False)]
    assert reader.latestOffset(cut, ReadAllAvailable()) == cut
    reader.stop()


def test_a_stream_ends_at_a_ddl_and_a_restart_goes_on(uri: str, client: StoreClient, orders: TableSchema) -> None:
    reader = stream(uri, table=named(orders), subscriber="ends-and-goes-on")
    start, _ = step(reader, {"cut": 0})
    write(client, orders, INSERT, [1])
    client.add_column("shop", orders.name, Column(0, "more", ColumnType("int", 11)))
    altered = client.table("shop", orders.name)
    write(client, altered, INSERT, [2])
    cut, rows = step(reader, start)
    while not rows:
        cut, rows = step(reader, cut)
    assert ids(rows) == [1]
    with pytest.raises(SchemaChanged, match="has the column more"):
        while True:
            cut, rows = step(reader, cut)
            assert rows == []
    reader.stop()
    again = stream(uri, table=named(orders), subscriber="ends-and-goes-on")
    _, rows = step(again, cut)
    assert [(row["id"], row["more"]) for row in rows] == [(2, None)]
    again.stop()


def test_a_limit_of_bytes_divides_the_log_between_transactions(
    uri: str, client: StoreClient, orders: TableSchema
) -> None:
    first = write(client, orders, INSERT, range(30))
    stamps = [write(client, orders, UPDATE, range(30), f"{'x' * 200}{at}") for at in range(6)]
    reader = stream(uri, table=named(orders), startTs=str(first), maxBytesPerTrigger="10k")
    start, batches = reader.initialOffset(), 0
    seen: list[int] = []
    while not seen or seen[-1] < stamps[-1]:
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        rows = read_all(reader, reader.partitions(start, end))
        found = {row["_commit_ts"] for row in rows}
        assert not found & set(seen)
        seen, start, batches = sorted([*seen, *found]), end, batches + bool(rows)
    assert seen == stamps
    assert batches >= 3
    reader.stop()


def test_a_table_that_is_not_there_is_named_with_those_that_are(uri: str, orders: TableSchema) -> None:
    with pytest.raises(NotFound, match=f"there is .*shop.{orders.name}"):
        batch_rows(uri, table="shop.nothing")


def test_a_start_whose_history_is_gone_is_an_error(
    uri: str, orders: TableSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*args: object) -> None:
        raise PositionLost("history above 7 only")

    monkeypatch.setattr("tailrace.upstream.dataserver.client.DataServerUpstream.register", lost)
    with pytest.raises(PositionLost):
        batch_rows(uri, table=named(orders), startTs="5")


def test_what_is_for_folders_is_refused(uri: str, orders: TableSchema) -> None:
    with pytest.raises(ConfigError, match="maxFilesPerTrigger"):
        batch_rows(uri, table=named(orders), maxFilesPerTrigger="1")
    with pytest.raises(ConfigError, match="virtualColumns"):
        batch_rows(uri, table=named(orders), virtualColumns="a")


def test_a_read_that_is_over_pins_nothing(uri: str, orders: TableSchema, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[int] = []
    name = "tailrace.upstream.dataserver.client.DataServerUpstream.release"
    monkeypatch.setattr(name, lambda self, route, subscriber, upto: released.append(upto))
    batch_rows(uri, table=named(orders))
    assert released == [MAX_TS] * 3
