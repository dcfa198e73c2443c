"""What the storage sink leaves in a folder: names, order, rotation, schema files, metadata."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.errors import AlreadyExists, ConfigError, Fenced, SinkAway, SinkRefused
from tailrace.progress.cut import Piece, Receipt
from tailrace.sink.storage.sink import StorageSink
from tests.sink.storage.folders import (
    SUBSCRIPTION,
    Run,
    batch,
    check_folder,
    data_files,
    ids,
    spec,
    table,
    tree,
    ts,
)
from tests.sink.storage.seats import Ledger

ORDERS = table()
FOLDER = f"shop/orders/{ORDERS.version}/2026-01-01"


def test_a_cut_becomes_numbered_files_with_index_schema_and_metadata(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    run.deliver([batch(ORDERS, [ts(1), ts(2)])], [batch(ORDERS, [ts(3)])])
    files = tree(tmp_path)
    assert data_files(tmp_path) == [f"{FOLDER}/CDC{n:020d}.csv" for n in (1, 2)]
    assert files[f"{FOLDER}/meta/CDC.index"] == b"CDC00000000000000000002.csv\n"
    assert files["metadata"] == f'{{"checkpoint-ts":{ts(3)}}}'.encode()
    assert ids(tmp_path) == [ts(1), ts(2), ts(3)]
    check_folder(tmp_path)


def test_numbers_go_on_in_the_next_cut_and_after_a_new_owner(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    run.deliver([batch(ORDERS, [ts(1)])])
    run.deliver([batch(ORDERS, [ts(2)])])
    run.start()
    run.deliver([batch(ORDERS, [ts(3)])])
    assert len(data_files(tmp_path)) == 3
    assert ids(tmp_path) == [ts(1), ts(2), ts(3)]
    check_folder(tmp_path)


def test_receipts_in_any_order_are_numbered_by_piece(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut()
    receipts = [run.write(cut, [batch(ORDERS, [ts(at)])], at) for at in range(12)]
    run.sink.commit(cut, [*receipts[5:], *receipts[:5]])
    assert ids(tmp_path) == [ts(at) for at in range(12)]


def test_of_two_attempts_of_a_piece_one_counts(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut()
    receipts = [run.write(cut, [batch(ORDERS, [ts(1)])]) for _ in range(2)]
    run.write(cut, [batch(ORDERS, [ts(1)])])  # an attempt whose receipt never came
    run.sink.commit(cut, receipts)
    assert ids(tmp_path) == [ts(1)]
    assert list((tmp_path / ".tailrace/stage").iterdir()) == []


def test_an_empty_piece_and_an_empty_cut_leave_no_file(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    run.deliver([])
    run.deliver()
    run.deliver([batch(ORDERS, [])], [batch(ORDERS, [ts(1)])])
    assert data_files(tmp_path) == [f"{FOLDER}/CDC{1:020d}.csv"]


def test_a_piece_over_midnight_and_over_versions_goes_to_folders_of_its_own(tmp_path: Path) -> None:
    later = table(version=ts(40), extra=True)
    day = 24 * 3600 * 1000
    run = Run(spec(tmp_path))
    run.deliver([batch(ORDERS, [ts(1), ts(2)]), batch(later, [ts(50), ts(day - 1), ts(day), ts(3 * day)])])
    rows = {name: ids(tmp_path, name) for name in data_files(tmp_path)}
    first, second = f"shop/orders/{ORDERS.version}", f"shop/orders/{later.version}"
    assert rows == {
        f"{first}/2026-01-01/CDC{1:020d}.csv": [ts(1), ts(2)],
        f"{second}/2026-01-01/CDC{1:020d}.csv": [ts(50), ts(day - 1)],
        f"{second}/2026-01-02/CDC{1:020d}.csv": [ts(day)],
        f"{second}/2026-01-04/CDC{1:020d}.csv": [ts(3 * day)],
    }
    check_folder(tmp_path)


def test_a_version_that_changed_nothing_stays_in_the_folder_that_is_there(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    run.deliver([batch(ORDERS, [ts(1)]), batch(table(version=ts(40)), [ts(50)])])
    run.start()
    run.deliver([batch(table(version=ts(60)), [ts(70)])])
    assert data_files(tmp_path) == [f"{FOLDER}/CDC{n:020d}.csv" for n in (1, 2, 3)]
    assert len([name for name in tree(tmp_path) if "/schema_" in name]) == 1
    check_folder(tmp_path)


def test_the_date_is_the_commit_date_in_the_zone_of_the_subscription(tmp_path: Path) -> None:
    run = Run(spec(tmp_path, zone="Asia/Shanghai"))
    evening = 16 * 3600 * 1000  # midnight in Shanghai
    run.deliver([batch(ORDERS, [ts(evening - 1), ts(evening)])])
    assert [name.split("/")[3] for name in data_files(tmp_path)] == ["2026-01-01", "2026-01-02"]


def test_a_file_goes_on_over_midnight_where_the_folder_does(tmp_path: Path) -> None:
    run = Run(spec(tmp_path, config='date-separator = "month"\n[sink.csv]\ninclude-commit-ts = true\n'))
    day = 24 * 3600 * 1000
    run.deliver([batch(ORDERS, [ts(at * day) for at in range(33)])])
    assert [name.split("/")[3] for name in data_files(tmp_path)] == ["2026-01", "2026-02"]
    assert len(ids(tmp_path)) == 33


@pytest.mark.parametrize("atomicity", ["none", "table"])
def test_files_rotate_by_size_and_transactions_stay_whole_where_asked(tmp_path: Path, atomicity: str) -> None:
    run = Run(spec(tmp_path, f"&file-size=1048576&transaction-atomicity={atomicity}"))
    commits = [ts(1 + at // 700) for at in range(40_000)]
    starts = [commit - 1 for commit in commits]
    whole = batch(ORDERS, commits, starts, note="x" * 60)
    run.deliver([whole.slice(at, 6_000) for at in range(0, 40_000, 6_000)])
    check_folder(tmp_path)
    assert ids(tmp_path) == commits
    by_file = [ids(tmp_path, name) for name in data_files(tmp_path)]
    sizes = [(tmp_path / name).stat().st_size for name in data_files(tmp_path)]
    assert len(sizes) >= 4
    assert max(sizes) < 1048576 + 120 * (700 if atomicity == "table" else 20)
    shared = [a for a, b in pairwise(by_file) if a[-1] == b[0]]
    assert bool(shared) == (atomicity == "none")


def test_a_snapshot_rotates_although_it_has_one_commit_ts(tmp_path: Path) -> None:
    run = Run(spec(tmp_path, "&file-size=1048576&transaction-atomicity=table"))
    cut = run.cut(ts(7), "snapshot")
    page = batch(ORDERS, [ts(7)] * 30_000, note="x" * 60)
    run.sink.commit(cut, [run.write(cut, [page])])
    assert len(data_files(tmp_path)) > 2
    assert len(ids(tmp_path)) == 30_000


def test_partitions_have_folders_and_join_only_where_pieces_are_joined(tmp_path: Path) -> None:
    run = Run(spec(tmp_path / "a"))
    cut = run.cut()
    run.sink.commit(cut, [run.write(cut, [batch(ORDERS, [ts(n)])], n, partition=200 + n) for n in (1, 2)])
    assert [name.split("/")[3] for name in data_files(tmp_path / "a")] == ["201", "202"]
    joined = Run(spec(tmp_path / "b", config="enable-partition-separator = false\n"))
    assert joined.sink.capabilities.joined_partitions
    with pytest.raises(ConfigError, match="enable-partition-separator"):
        joined.write(joined.cut(), [batch(ORDERS, [ts(1)])], partition=201)
    snapshot = joined.cut(ts(9), "snapshot")
    pages = [joined.write(snapshot, [batch(ORDERS, [ts(9)])], n, partition=200 + n) for n in (1, 2)]
    joined.sink.commit(snapshot, pages)
    assert data_files(tmp_path / "b") == [f"{FOLDER}/CDC{n:020d}.csv" for n in (1, 2)]


def test_rows_that_would_go_back_in_time_are_refused(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut()
    receipts = [run.write(cut, [batch(ORDERS, [ts(5)])], 0), run.write(cut, [batch(ORDERS, [ts(4)])], 1)]
    with pytest.raises(SinkRefused, match="ascend in commit time"):
        run.sink.commit(cut, receipts)
    assert data_files(tmp_path) == []


def test_a_staged_file_that_is_gone_or_cut_short_makes_the_cut_start_anew(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut()
    receipt = run.write(cut, [batch(ORDERS, [ts(5)])])
    staged = tmp_path / json.loads(receipt.payload)[0]["path"]
    staged.write_bytes(staged.read_bytes()[:-1])
    with pytest.raises(SinkAway, match="written again"):
        run.sink.commit(cut, [receipt])
    staged.unlink()
    with pytest.raises(SinkAway, match="written again"):
        run.sink.commit(cut, [receipt])
    assert run.ledger.naming is None
    run.sink.commit(cut, [run.write(cut, [batch(ORDERS, [ts(5)])])])
    assert ids(tmp_path) == [ts(5)]


def test_abort_removes_what_was_staged(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut()
    run.write(cut, [batch(ORDERS, [ts(5)])])
    run.sink.abort(cut)
    assert list((tmp_path / ".tailrace/stage").iterdir()) == []


def test_discard_removes_the_attempt_and_only_it(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    cut = run.cut()
    kept = run.write(cut, [batch(ORDERS, [ts(5)])])
    number = json.loads(kept.payload)[0]["path"]
    writer = run.sink.writer(Piece(SUBSCRIPTION, cut.epoch, cut.number, 1, "log", 100, 0, (), 0, cut.to_ts))
    writer.write(batch(ORDERS, [ts(6)]))
    writer.discard()
    assert [path.name for path in (tmp_path / number).parent.iterdir()] == [Path(number).name]


def test_metadata_never_falls_and_is_written_while_idle(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    for to_ts in (ts(5), ts(9), ts(7)):
        run.sink.advance(to_ts)
    assert tree(tmp_path) == {"metadata": f'{{"checkpoint-ts":{ts(9)}}}'.encode()}


def test_ddl_writes_table_and_database_schema_files(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    event = DdlEvent(ts(9), ts(8), 0, DdlType.CREATE_TABLE, "CREATE TABLE `orders` (...)", "shop", "orders", ORDERS)
    run.sink.ddl([DdlEvent(ts(3), ts(2), 0, DdlType.CREATE_SCHEMA, "CREATE DATABASE `shop`", "shop"), event])
    run.sink.ddl([event])
    database, created = (json.loads(data) for data in tree(tmp_path).values())
    assert (database["Table"], database["Query"], database["TableColumns"]) == ("", "CREATE DATABASE `shop`", None)
    assert (created["TableVersion"], created["Type"], created["TableColumnsTotal"]) == (ts(9), 3, 2)
    assert [name.rsplit("/", 1)[0] for name in tree(tmp_path)] == ["shop/meta", "shop/orders/meta"]


def test_exchange_partition_writes_the_plain_tables_file_without_the_query(tmp_path: Path) -> None:
    plain = table("archive", table_id=101)
    query = "ALTER TABLE `orders` EXCHANGE PARTITION `p0` WITH TABLE `archive`"
    event = DdlEvent(ts(9), ts(8), 0, DdlType.EXCHANGE_PARTITION, query, "shop", "orders", ORDERS, plain)
    run = Run(spec(tmp_path))
    run.sink.ddl([event])
    said = {name.split("/")[1]: json.loads(data) for name, data in tree(tmp_path).items()}
    assert {name: (each["Query"], each["Type"], each["TableVersion"]) for name, each in said.items()} == {
        "archive": ("", 0, ts(9)),
        "orders": (query, 42, ts(9)),
    }


def test_a_folder_of_another_live_subscription_is_refused_until_it_is_released(tmp_path: Path) -> None:
    first = Run(spec(tmp_path))
    other = StorageSink(spec(tmp_path, name="other"))
    assert [problem.key for problem in other.verify()] == ["sink-uri"]
    with pytest.raises(AlreadyExists, match=SUBSCRIPTION):
        other.open(Ledger().seat())
    first.deliver([batch(ORDERS, [ts(1)])])
    first.sink.close()
    assert other.verify() == []
    other.open(Ledger().seat())


def test_an_older_epoch_cannot_open_any_more(tmp_path: Path) -> None:
    run = Run(spec(tmp_path))
    old = run.seat
    run.start()
    with pytest.raises(Fenced):
        StorageSink(run.spec).open(old)


def test_without_a_seat_nothing_is_committed(tmp_path: Path) -> None:
    with pytest.raises(SinkRefused, match="open"):
        StorageSink(spec(tmp_path)).commit(Run(spec(tmp_path)).cut(), [Receipt(0, payload="[]")])


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../../x", "a\0b"])
def test_a_name_that_would_leave_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    run = Run(spec(tmp_path / "a/b"))
    for bad in (table(name), table(schema=name)):
        with pytest.raises(SinkRefused, match="cannot be a folder"):
            run.write(run.cut(), [batch(bad, [ts(1)])])
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("name", ["日本", "a b", "meta", "CDC1.csv", "x" * 64, "a$-%41", "1", 'q"uote', "metadata"])
def test_any_other_name_stands_in_the_path_as_it_is(tmp_path: Path, name: str) -> None:
    run = Run(spec(tmp_path))
    run.deliver([batch(table(name), [ts(1)])])
    assert data_files(tmp_path) == [f"shop/{name}/{ORDERS.version}/2026-01-01/CDC{1:020d}.csv"]
    check_folder(tmp_path)


@pytest.mark.parametrize("schema", [".tailrace", "metadata"])
def test_a_schema_in_the_place_of_the_sinks_own_files_is_refused(tmp_path: Path, schema: str) -> None:
    run = Run(spec(tmp_path))
    with pytest.raises(SinkRefused, match="own files"):
        run.write(run.cut(), [batch(table(schema=schema), [ts(1)])])
