"""The dataserver upstream against a store in this process: snapshots, logs, frontiers and DDL."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import grpc
import pyarrow as pa
import pytest

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.ddl import DdlType
from tailrace.change.ranges import Epoch, Range
from tailrace.change.schema import Column, Index, Partition, TableSchema
from tailrace.change.tso import MAX_TS
from tailrace.change.types import ColumnType
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.process import Options, StoreProcess
from tailrace.errors import AlreadyExists, ConfigError, Locked, NotFound, StaleRoute, TableGone, UpstreamAway
from tailrace.proto import cdc_pb2
from tailrace.upstream.base import Mark, UpstreamSpec, log_batches
from tailrace.upstream.dataserver.client import DataServerUpstream
from tailrace.upstream.dataserver.wire import CDC, Wire
from tests.dataserver.stores import image, table


class Every:
    def matches(self, schema: str, table: str) -> bool:
        return True


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoreProcess]]:
    folder = tmp_path_factory.mktemp("store")
    first = StoreProcess(Options(folder / "0", "127.0.0.1:0", "both", fsync=False))
    first.start()
    second = StoreProcess(Options(folder / "1", "127.0.0.1:0", "data", first.address, fsync=False))
    second.start()
    yield [first, second]
    second.stop(0)
    first.stop(0)


@pytest.fixture(scope="module")
def client(processes: list[StoreProcess]) -> Iterator[StoreClient]:
    made = StoreClient(f"dataserver://{processes[0].address}")
    made.create_schema("shop")
    yield made
    made.close()


@pytest.fixture
def orders(client: StoreClient, request: pytest.FixtureRequest) -> TableSchema:
    """A table of three ranges on two servers."""
    definition = table(name=request.node.name.replace("[", "_").rstrip("]"))
    return client.create_table(definition, ranges=3, handles=(0, 30))


def write(client: StoreClient, known: TableSchema, op: int, ids: range | list[int], note: str = "n") -> int:
    txn = client.begin()
    {INSERT: txn.insert, UPDATE: txn.update, DELETE: txn.delete}[op](known, image(known, ids, note))
    return txn.commit()


def resolved(client: StoreClient, ranges: list[Range], above: int) -> int:
    fronts = client.upstream.frontier([Mark(known, 0, above) for known in ranges], 0.0)
    return min(front.resolved_ts for front in fronts)


def changes(client: StoreClient, ranges: list[Range], from_ts: int, upto: int, limit: int = 1 << 20) -> list[object]:
    """(commit ts, op, after id, after note, before note) of all ranges."""
    found = []
    for known in ranges:
        last = from_ts
        for batch in log_batches(client.upstream, known, 0, from_ts, upto, limit):
            for row in batch.data.to_pylist():
                assert row["commit_ts"] >= last and row["start_ts"] < row["commit_ts"] <= upto
                last = row["commit_ts"]
                after, before = row["after"] or {}, row["before"] or {}
                name = after.get("id", before.get("id"))
                found.append((row["commit_ts"], row["op"], name, after.get("note"), before.get("note")))
    return sorted(found, key=str)


def test_ranges_are_gapless_and_spread_over_the_servers(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    assert [known.end for known in ranges[:-1]] == [known.start for known in ranges[1:]]
    assert len({known.leader for known in ranges}) == 2


def test_the_log_gives_back_what_was_written(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    first = write(client, orders, INSERT, range(30))
    second = write(client, orders, UPDATE, [3, 15], "u")
    third = write(client, orders, DELETE, [15])
    upto = resolved(client, ranges, start)
    want: list[object] = [(first, INSERT, at, f"n{at}", None) for at in range(30)]
    want += [(second, UPDATE, at, f"u{at}", f"n{at}") for at in (3, 15)] + [(third, DELETE, 15, None, "u15")]
    assert changes(client, ranges, start, upto) == sorted(want, key=str)
    assert changes(client, ranges, first, second) == sorted(want[30:32], key=str)
    assert changes(client, ranges, third, upto) == []


def test_a_snapshot_and_the_log_after_it_miss_nothing_and_repeat_nothing(
    client: StoreClient, orders: TableSchema
) -> None:
    ranges = client.upstream.routes(orders)
    done = threading.Event()

    def keep_writing() -> None:
        dice, alive = random.Random(1), set[int]()
        while not done.is_set():
            handle = dice.randint(0, 29)
            op = INSERT if handle not in alive else dice.choice([UPDATE, DELETE])
            write(client, orders, op, [handle], f"{dice.random()} ")
            alive = alive - {handle} if op == DELETE else alive | {handle}

    writer = threading.Thread(target=keep_writing)
    writer.start()
    time.sleep(0.3)
    state: dict[int, str] = {}
    versions = {known.id: client.upstream.register(known, "sub") for known in ranges}
    for known in ranges:
        after, end = known.start[:0], False
        while not end:
            page = client.upstream.pull_snapshot(known, versions[known.id].ts, after, b"", 2)
            after, end = page.last_key, page.end
            for batch in page.batches:
                assert batch.num_rows <= 2 and set(batch.commit_ts.to_pylist()) == {versions[known.id].ts}
                state |= {row["id"]: row["note"] for row in batch.after.to_pylist()}
    time.sleep(0.3)
    done.set()
    writer.join()
    upto = client.now()
    while resolved(client, ranges, upto) < upto:
        time.sleep(0.01)
    for known in ranges:
        for batch in log_batches(client.upstream, known, versions[known.id].log_index, versions[known.id].ts, upto, 99):
            for row in batch.data.to_pylist():
                before = None if row["before"] is None else row["before"]["note"]
                name = (row["after"] or row["before"])["id"]
                assert state.pop(name, None) == before
                state |= {} if row["after"] is None else {name: row["after"]["note"]}
    assert state == dict(zip(*client.read(orders, upto).to_pydict().values(), strict=True))


def test_pages_of_the_log_are_cut_and_go_on(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    for at in range(12):
        write(client, orders, INSERT, range(at * 2, at * 2 + 2))
    client.write_each(orders, INSERT, image(orders, range(100, 140)))
    upto = resolved(client, ranges, start)
    everything = changes(client, ranges, start, upto)
    assert len(everything) == 64
    assert changes(client, ranges, start, upto, limit=1) == everything


def test_a_cut_may_end_inside_a_page_of_many_transactions(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    client.write_each(orders, INSERT, image(orders, range(100, 150)))
    upto = resolved(client, ranges, start)
    everything = changes(client, ranges, start, upto)
    middle = int(str(everything[20]).strip("(").split(",")[0])
    assert changes(client, ranges, start, middle) == everything[:21]
    assert changes(client, ranges, middle, upto) == everything[21:]


def test_a_large_transaction_is_one_commit_in_many_pages(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    txn = client.begin()
    for low in range(0, 5000, 500):
        txn.insert(orders, image(orders, range(low, low + 500)))
        txn.inner.flush()
    commit_ts = txn.commit()
    upto = resolved(client, ranges, start)
    found = changes(client, ranges, start, upto, limit=1000)
    assert len(found) == 5000 and {str(change).split(",")[0].strip("(") for change in found} == {str(commit_ts)}


def test_the_frontier_tells_rows_and_bytes_and_the_next_index(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    start = client.now()
    commits = [write(client, orders, INSERT, [at, at + 10]) for at in range(3)]
    fronts = client.upstream.frontier([Mark(known, 0, start) for known in ranges], 0.0)
    assert [front.range_id for front in fronts] == [known.id for known in ranges]
    assert [[bucket.ts for bucket in front.buckets] for front in fronts] == [commits, commits, []]
    assert all(bucket.rows == 1 and bucket.bytes > 0 for front in fronts for bucket in front.buckets)
    assert all(front.resolved_ts > commits[-1] for front in fronts)


def test_the_frontier_waits_for_news_and_advances_without_any(client: StoreClient, orders: TableSchema) -> None:
    ranges = client.upstream.routes(orders)
    marks = [Mark(known, 0, client.now()) for known in ranges]
    began = time.monotonic()
    fronts = client.upstream.frontier(marks, 0.4)
    assert time.monotonic() - began >= 0.35
    assert all(not front.buckets and front.resolved_ts > marks[0].from_ts for front in fronts)
    timer = threading.Timer(0.3, write, (client, orders, INSERT, [1]))
    timer.start()
    fronts = client.upstream.frontier(marks, 20.0)
    assert time.monotonic() - began < 10 and sum(len(front.buckets) for front in fronts) == 1
    timer.join()


def test_an_open_transaction_holds_the_frontier_and_is_found_from_the_registered_index(
    client: StoreClient, orders: TableSchema
) -> None:
    known = client.upstream.routes(orders)[0]
    txn = client.begin()
    txn.insert(orders, image(orders, [1]))
    txn.inner.flush()
    registered = client.upstream.register(known, "open")
    front = client.upstream.frontier([Mark(known, 0, registered.ts)], 0.0)[0]
    assert front.resolved_ts < registered.ts and front.next_index <= registered.log_index
    with pytest.raises(Locked, match="not resolved"):
        client.upstream.pull_log(known, 0, 0, registered.ts, 1 << 20, b"")
    commit_ts = txn.commit()
    assert commit_ts > registered.ts
    upto = resolved(client, [known], registered.ts)
    found = list(log_batches(client.upstream, known, registered.log_index, registered.ts, upto, 1 << 20))
    assert [batch.commit_ts.to_pylist() for batch in found] == [[commit_ts]]


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


def test_pages_of_a_snapshot_end_where_they_are_told(client: StoreClient, orders: TableSchema) -> None:
    write(client, orders, INSERT, range(10))
    known, at = client.upstream.routes(orders)[0], client.now()
    keys = [known.start[:11] + (handle + (1 << 63)).to_bytes(8, "big") for handle in range(10)]
    page = client.upstream.pull_snapshot(known, at, keys[2], keys[6], 100)
    assert [row["id"] for batch in page.batches for row in batch.after.to_pylist()] == [3, 4, 5]
    assert page.end and page.last_key == keys[5]
    page = client.upstream.pull_snapshot(known, at, keys[2], keys[6], 2)
    assert not page.end and page.last_key == keys[4]


def test_a_stale_epoch_and_an_unknown_range_are_refused(client: StoreClient, orders: TableSchema) -> None:
    known = client.upstream.routes(orders)[0]
    for stale in (replace(known, epoch=Epoch(2, 1)), replace(known, id=9999)):
        with pytest.raises(StaleRoute):
            client.upstream.register(stale, "s")
        with pytest.raises(StaleRoute):
            client.upstream.frontier([Mark(stale, 0, 0)], 0.0)
        with pytest.raises(StaleRoute):
            client.upstream.pull_log(stale, 0, 0, 1, 1, b"")


def test_a_server_that_is_away_is_named(client: StoreClient, orders: TableSchema) -> None:
    away = replace(client.upstream.routes(orders)[0], leader="127.0.0.1:1")
    with pytest.raises(UpstreamAway, match=r"127\.0\.0\.1:1"):
        client.upstream.register(away, "s")
    with pytest.raises(UpstreamAway, match=r"127\.0\.0\.1:1"):
        DataServerUpstream(UpstreamSpec("dataserver://127.0.0.1:1")).now()


@pytest.mark.parametrize("uri", ["dataserver://", "dataserver://host", "mysql://h:1", "dataserver://h:1,x"])
def test_a_uri_without_an_address_is_refused(uri: str) -> None:
    with pytest.raises(ConfigError, match="dataserver://HOST:PORT"):
        DataServerUpstream(UpstreamSpec(uri))


def test_a_puller_of_the_first_design_gets_rows(client: StoreClient, orders: TableSchema) -> None:
    known = client.upstream.routes(orders)[0]
    registered = client.upstream.register(known, "old")
    commits = [write(client, orders, INSERT, [1, 2]), write(client, orders, DELETE, [1])]
    upto = resolved(client, [known], registered.ts)
    request = cdc_pb2.CdcPullLogRequest(range_id=known.id, subscriber_name="old", last_log_index=registered.log_index)
    request.range_epoch.version = request.range_epoch.leader = 1
    wire = Wire()
    answer = wire.call(known.leader, CDC, "CdcPullLog", request)
    found = [(row.type, row.key[-1], bool(row.value), row.commit_ts, row.has_old_value) for row in answer.log_data]
    assert found == [(0, 1, True, commits[0], False), (0, 2, True, commits[0], False), (1, 1, False, commits[1], True)]
    assert answer.current_log_index > registered.log_index and not answer.pages
    snapshot = cdc_pb2.CdcPullSnapshotRequest(range_id=known.id, current_snapshot_version=upto)
    snapshot.range_epoch.version = snapshot.range_epoch.leader = 1
    rows = wire.call(known.leader, CDC, "CdcPullSnapshot", snapshot)
    assert [row.key[-1] for row in rows.snapshot_data] == [2] and rows.end
    wire.close()


def test_a_subscriber_can_be_released(client: StoreClient, orders: TableSchema) -> None:
    known = client.upstream.routes(orders)[0]
    client.upstream.register(known, "gone")
    client.upstream.release(known, "gone", client.now())
    client.upstream.release(known, "gone", MAX_TS)


def test_times_of_day_are_those_of_the_asked_zone(processes: list[StoreProcess], client: StoreClient) -> None:
    columns = (table().columns[0], Column(2, "at", ColumnType("timestamp", 19, 0)))
    known = client.create_table(replace(table(name="moments"), columns=columns))
    rows = pa.StructArray.from_arrays(
        [pa.array([1], pa.int64()), pa.array(["2024-07-01 12:00:00"])], fields=list(known.arrow_struct)
    )
    client.bulk_insert(known, rows)
    berlin = StoreClient(f"dataserver://{processes[0].address}", "Europe/Berlin")
    assert berlin.read(known).column("at").to_pylist() == ["2024-07-01 14:00:00"]
    berlin.close()


def test_a_call_that_fails_in_the_server_names_it(processes: list[StoreProcess]) -> None:
    channel = grpc.insecure_channel(processes[0].address)
    with pytest.raises(grpc.RpcError):
        channel.unary_unary("/cdcpb.Cdc/Nothing")(b"", timeout=5)
    channel.close()
