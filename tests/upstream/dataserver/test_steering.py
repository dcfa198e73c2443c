"""Splits, merges and moves of a running store: transactions go on, routes are followed, and what is wrong is said."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from tailrace.change.batch import INSERT, UPDATE
from tailrace.change.ranges import Range
from tailrace.change.schema import TableSchema
from tailrace.cli.dataserver import dataserver
from tailrace.dataserver.client import StoreClient
from tailrace.dataserver.process import StoreProcess
from tailrace.dataserver.steering import Steering, key_bytes, key_text
from tailrace.errors import ConfigError, Locked, NotFound, StaleRoute, TailraceError
from tailrace.upstream.base import Mark
from tests.dataserver.stores import image, table
from tests.upstream.dataserver.changes import changes, write


@pytest.fixture
def steering(processes: list[StoreProcess], client: StoreClient) -> Iterator[Steering]:
    made = Steering(client, processes[0].address)
    yield made
    made.close()


@pytest.fixture
def pile(client: StoreClient, request: pytest.FixtureRequest) -> TableSchema:
    """A table of one range with 100 rows."""
    known = client.create_table(table(name=request.node.name.replace("[", "_").rstrip("]")))
    client.bulk_insert(known, image(known, range(100)))
    return known


def all_ranges(client: StoreClient, known: TableSchema, since: int = 1) -> list[Range]:
    """Those that are led and those that are closed."""
    upstream = client.upstream
    return [*upstream.routes(known), *upstream.closed_routes(known, since)]


def await_resolved(client: StoreClient, known: TableSchema, ts: int) -> None:
    limit = time.monotonic() + 10
    while (
        min(
            f.resolved_ts
            for f in client.upstream.frontier([Mark(r, 0, ts) for r in client.upstream.routes(known)], 0.0)
        )
        < ts
    ):
        assert time.monotonic() < limit
        time.sleep(0.02)


def ids(client: StoreClient, known: TableSchema) -> list[int]:
    return sorted(client.read(known).column("id").to_pylist())


def key(known: TableSchema, handle: int) -> bytes:
    return key_bytes(known, str(handle))


def test_a_split_keeps_rows_and_log(client: StoreClient, steering: Steering, pile: TableSchema) -> None:
    start = client.now()
    write(client, pile, UPDATE, [1, 60], "before")
    left, right = steering.split(pile, key(pile, 50))
    assert client.upstream.routes(pile) == [left, right] and left.end == right.start == key(pile, 50)
    last = write(client, pile, UPDATE, [1, 60], "after")
    await_resolved(client, pile, last)
    assert ids(client, pile) == list(range(100))
    (parent,) = client.upstream.closed_routes(pile, start)
    assert [each[3] for each in changes(client, [parent], start, last)] == ["before1", "before60"]
    assert [each[3] for each in changes(client, [left, right], start, last)] == ["after1", "after60"]
    assert client.upstream.route(parent.id).heirs == (left.id, right.id)
    assert client.upstream.closed_routes(pile, last) == []


def test_a_frontier_names_the_heirs_once(client: StoreClient, steering: Steering, pile: TableSchema) -> None:
    (parent,) = client.upstream.routes(pile)
    (before,) = client.upstream.frontier([Mark(parent, 0, 0)], 0.0)
    made = steering.split(pile, key(pile, 50))
    write(client, pile, UPDATE, [1], "after")
    (told,) = client.upstream.frontier([Mark(parent, 0, before.resolved_ts)], 5.0)
    assert told.heirs == tuple(route.id for route in made)
    (again,) = client.upstream.frontier([Mark(parent, 0, 0, closed=True)], 0.0)
    assert again.heirs == () and sum(bucket.rows for bucket in again.buckets) == 100
    assert told.resolved_ts == again.resolved_ts < client.now()


def test_an_open_transaction_is_committed_through_the_heirs(
    client: StoreClient, steering: Steering, pile: TableSchema
) -> None:
    txn = client.begin()
    txn.update(pile, image(pile, [1, 60], "mine"))
    txn.inner.flush()
    left, right = steering.split(pile, key(pile, 50))
    steering.move(right.id, next(each for each in steering.servers() if steering.servers()[each] != right.leader))
    ts = txn.commit()
    await_resolved(client, pile, ts)
    assert [each[3] for each in changes(client, client.upstream.routes(pile), ts - 1, ts)] == ["mine1", "mine60"]
    other = client.begin()
    other.update(pile, image(pile, [2], "other"))
    other.inner.flush()
    steering.merge(left.id, right.id)
    other.commit()
    assert ids(client, pile) == list(range(100))


def test_locks_of_a_client_that_died_are_resolved_through_the_heirs(
    client: StoreClient, steering: Steering, pile: TableSchema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailrace.dataserver.transaction.TTL_S", 0.5)
    txn = client.begin()
    txn.update(pile, image(pile, [1, 60], "mine"))
    txn.inner.flush()
    txn.inner.abandon()
    steering.split(pile, key(pile, 50))
    at = client.now()
    await_resolved(client, pile, at)
    write(client, pile, UPDATE, [1, 60], "free")


def test_a_merge_brings_neighbours_of_two_servers_together(
    client: StoreClient, steering: Steering, orders: TableSchema
) -> None:
    start = client.now()
    write(client, orders, INSERT, range(30))
    first, second, third = client.upstream.routes(orders)
    (one,) = steering.merge(first.id, second.id)
    (whole,) = steering.merge(one.id, third.id)
    assert client.upstream.routes(orders) == [whole] and (whole.start, whole.end) == (first.start, third.end)
    last = write(client, orders, UPDATE, range(30), "m")
    await_resolved(client, orders, last)
    found = changes(client, all_ranges(client, orders), start, last)
    assert len(found) == len(set(map(str, found))) == 60


def test_a_moved_range_is_refused_by_its_old_leader_and_has_its_log(
    client: StoreClient, steering: Steering, pile: TableSchema
) -> None:
    start = client.now()
    last = write(client, pile, UPDATE, [1, 2], "before")
    (old,) = client.upstream.routes(pile)
    version = client.upstream.register(old, "s").ts
    page = client.upstream.pull_snapshot(old, version, b"", b"", 10)
    (moved,) = steering.move(old.id, steering.server(_other(steering, old)))
    assert moved.epoch.leader == old.epoch.leader + 1 and moved.leader != old.leader
    with pytest.raises(StaleRoute):
        client.upstream.frontier([Mark(old, 0, 0)], 0.0)
    with pytest.raises(StaleRoute):
        client.upstream.pull_snapshot(old, version, page.last_key, b"", 10)
    write(client, pile, UPDATE, [3], "after")
    assert [each[3] for each in changes(client, [moved], start, last)] == ["before1", "before2"]
    rest = client.upstream.pull_snapshot(moved, version, page.last_key, b"", 1000)
    assert sum(batch.num_rows for batch in (*page.batches, *rest.batches)) == 100
    assert steering.move(moved.id, steering.server(moved.leader)) == [moved]


def _other(steering: Steering, known: Range) -> str:
    return next(address for address in steering.servers().values() if address != known.leader)


def test_writers_go_on_while_ranges_change(client: StoreClient, steering: Steering, pile: TableSchema) -> None:
    start, done, failed = client.now(), threading.Event(), list[BaseException]()
    told: list[list[int]] = [[], [], []]

    def work(number: int) -> None:
        value = 0
        while not done.is_set():
            value += 1
            try:
                write(client, pile, UPDATE, [number, 50 + number], f"{value}-")
                client.write_each(pile, INSERT, image(pile, [1000 * (number + 1) + value]))
                told[number].append(value)
            except Locked:
                continue
            except BaseException as error:
                failed.append(error)
                return

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for handle in (40, 50, 55):
            _, right = steering.split(pile, key(pile, handle))
            steering.move(right.id, steering.server(_other(steering, right)))
            time.sleep(0.1)
        routes = client.upstream.routes(pile)
        for each in routes[1:]:
            (_left,) = steering.merge(client.upstream.routes(pile)[0].id, each.id)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failed and min(len(each) for each in told) > 3
    last = client.now()
    await_resolved(client, pile, last)
    found = changes(client, all_ranges(client, pile), start, last)
    times = [each[:3] for each in found]
    assert len(times) == len(set(times))
    for number, values in enumerate(told):
        mine = {str(each[3]) for each in found if each[2] == number}
        assert {f"{value}-{number}" for value in values} <= mine
        assert {1000 * (number + 1) + value for value in values} <= set(ids(client, pile))


def test_what_cannot_be_done_is_said(client: StoreClient, steering: Steering, pile: TableSchema) -> None:
    (only,) = client.upstream.routes(pile)
    for outside in (only.start, b"t\x80"):
        with pytest.raises(ConfigError, match=r"outside|does not divide"):
            steering.split(pile, outside)
    left, right = steering.split(pile, key(pile, 50))
    with pytest.raises(ConfigError, match="not neighbours"):
        steering.merge(right.id, left.id)
    with pytest.raises(NotFound, match="became"):
        steering.merge(only.id, right.id)
    with pytest.raises(NotFound, match="no data server 77"):
        steering.move(left.id, 77)
    with pytest.raises(NotFound, match="there is no data server nowhere:1"):
        steering.server("nowhere:1")
    with pytest.raises(NotFound):
        steering.move(999_999, 1)


def test_keys_are_written_as_people_do(pile: TableSchema) -> None:
    for text in ("-5", "0", "77"):
        assert key_text(pile, key_bytes(pile, text)) == text
    assert key_bytes(pile, "0x" + key(pile, 9).hex()) == key(pile, 9)
    for wrong in ("x", "0xzz", "1.5", str(1 << 63)):
        with pytest.raises(ConfigError):
            key_bytes(pile, wrong)


def test_the_command_line_steers(processes: list[StoreProcess], client: StoreClient, pile: TableSchema) -> None:
    name, store = f"shop.{pile.name}", ["--store", processes[0].address]

    def call(*arguments: str) -> str:
        ended = CliRunner().invoke(dataserver, [*arguments, *store], catch_exceptions=False)
        assert ended.exit_code == 0, ended.output
        return ended.output

    assert "from the start to 50" in call("split", name, "50")
    left, right = client.upstream.routes(pile)
    other = processes[0].address if left.leader != processes[0].address else processes[1].address
    assert call("move", str(left.id), other) == f"range {left.id} is led by {other}\n"
    deadline = time.monotonic() + 20
    while "100" not in _rows(call("status", name, "--json")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    call("merge", name, str(left.id), str(right.id))
    made = call("split", name, "--rows")
    middle = int(made.splitlines()[0].split(" to ")[1].split(",")[0])
    assert 30 <= middle <= 70
    assert "TABLE" in call("status") and name in call("status", name)
    for wrong in (["split", name], ["split", name, "5", "--rows"]):
        assert CliRunner().invoke(dataserver, [*wrong, *store]).exit_code == 2
    for arguments in (["split", "pile", "5"], ["merge", name, "1", "2"], ["move", str(left.id), "9"]):
        ended = CliRunner().invoke(dataserver, [*arguments, *store])
        assert isinstance(ended.exception, TailraceError)


def _rows(text: str) -> str:
    return str(sum(each["rows"] for each in json.loads(text)))
