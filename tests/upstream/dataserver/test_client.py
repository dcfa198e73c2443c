"""The dataserver upstream against a store in this process: snapshots, logs and frontiers."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace

import grpc
import pyarrow as pa
import pytest

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.ranges import Epoch
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import MAX_TS
from tailrace.change.types import ColumnType
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.process import StoreProcess
from tailrace.errors import ConfigError, Locked, StaleRoute, UpstreamAway
from tailrace.proto import cdc_pb2
from tailrace.upstream.base import Mark, UpstreamSpec, log_batches
from tailrace.upstream.dataserver.client import DataServerUpstream
from tailrace.upstream.dataserver.wire import CDC, Wire
from tests.dataserver.stores import image, table
from tests.upstream.dataserver.changes import changes, resolved, write


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
