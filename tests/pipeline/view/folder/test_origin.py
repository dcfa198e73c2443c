"""A folder as origin: every row that counts comes once, whatever the bounds, the parts and the files are."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import GreaterThan, LessThanOrEqual

from tailrace.change.schema import Column
from tailrace.change.tso import compose
from tailrace.change.types import ColumnType
from tailrace.codec.csv import CsvOptions
from tailrace.errors import ConfigError, DecodeError, NotFound, PositionLost, SchemaChanged
from tailrace.pipeline.view.folder import index as index_module
from tailrace.pipeline.view.folder import origin as origin_module
from tailrace.pipeline.view.folder.place import Place
from tests.pipeline.view.folders import ID, NAME, TOTAL, Change, Folder, orders
from tests.pipeline.view.reading import batch_rows, ids

CONFIG = b'[sink]\nprotocol = "csv"\n[sink.csv]\ninclude-commit-ts = true\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Files of some kilobytes are large here: they are searched and cut as real ones are."""
    monkeypatch.setattr(index_module, "_WINDOW", 256)
    monkeypatch.setattr(index_module, "_CLOSE", 512)
    monkeypatch.setattr(index_module, "_kept", type(index_module._kept)())
    monkeypatch.setattr(origin_module, "_LEAST", 700)
    monkeypatch.setattr("tailrace.pipeline.view.options._LEAST_PARTITION_BYTES", 1)
    return Folder(tmp_path)


def numbered(count: int, first: int = 0, ts: int = 100) -> list[Change]:
    return [("I", ts + at // 3, (first + at, f"row {at}\r\n" * (at % 3))) for at in range(count)]


def three_files(folder: Folder) -> list[Change]:
    table = folder.version(orders())
    rows = numbered(300, ts=101)
    for number, begin in enumerate((0, 100, 200), 1):
        folder.rows(table, number, rows[begin : begin + 100], "2026-11-18")
    folder.checkpoint(1000)
    return rows


@pytest.mark.parametrize("size", ["100", "1000", "4000", "32m"])
def test_every_row_comes_once_in_parts_of_any_size(folder: Folder, size: str) -> None:
    rows = three_files(folder)
    found = batch_rows(folder.path, partitionBytes=size)
    assert [(row["_op"], row["_commit_ts"], (row["id"], row["name"])) for row in found] == rows


def test_bounds_leave_exactly_the_rows_between_them(folder: Folder) -> None:
    rows = three_files(folder)
    dice = random.Random(7)
    for _ in range(30):
        after, upto = sorted((dice.randrange(100, 205), dice.randrange(100, 205)))
        wanted = [row[2][0] for row in rows if after < row[1] <= upto]
        assert ids(batch_rows(folder.path, startTs=str(after), endTs=str(upto), partitionBytes="900")) == wanted


def test_filters_that_are_pushed_down_leave_at_least_the_rows_that_pass(folder: Folder) -> None:
    rows = three_files(folder)
    found = batch_rows(folder.path, [GreaterThan(("_commit_ts",), 150), LessThanOrEqual(("_commit_ts",), 160)])
    assert ids(found) == [row[2][0] for row in rows if 150 < row[1] <= 160]


def test_a_span_of_few_rows_reads_few_bytes(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    three_files(folder)
    total = sum(path.stat().st_size for path in folder.path.rglob("*.csv"))
    batch_rows(folder.path)
    config = str(folder.put("changefeed.toml", CONFIG))
    read: list[int] = []
    part = Place.part

    def counted(self: Place, path: str, begin: int, end: int) -> Any:
        read.append(end - begin)
        return part(self, path, begin, end)

    monkeypatch.setattr(Place, "part", counted)
    assert len(batch_rows(folder.path, startTs="150", endTs="154", config=config)) == 12
    assert sum(read) < total / 2


def test_rows_beyond_the_checkpoint_do_not_count(folder: Folder) -> None:
    rows = three_files(folder)
    folder.checkpoint(180)
    assert ids(batch_rows(folder.path)) == [row[2][0] for row in rows if row[1] <= 180]
    assert ids(batch_rows(folder.path, endTs="5000")) == [row[2][0] for row in rows if row[1] <= 180]


def test_rows_that_a_restart_wrote_again_come_once(folder: Folder) -> None:
    table = folder.version(orders())
    rows = numbered(90, ts=101)
    folder.rows(table, 1, rows[:60])
    folder.rows(table, 2, rows[30:])  # from the checkpoint before the restart on
    folder.checkpoint(1000)
    expected = [row for row in rows if row[1] != 120]
    got = [row for row in batch_rows(folder.path) if row["_commit_ts"] != 120]
    assert ids(got) == [row[2][0] for row in expected]
    # at the ts where both meet a consumer cannot tell a repeat from the rest of a transaction
    assert ids(batch_rows(folder.path, startTs="105", endTs="115")) == [
        row[2][0] for row in rows if 105 < row[1] <= 115
    ]


def test_updates_with_their_old_values_are_never_parted(folder: Folder) -> None:
    form = CsvOptions(include_commit_ts=True, output_old_value=True)
    whole = Folder(folder.path, form)
    table = whole.version(orders())
    rows: list[Change] = [("U", 101 + at, (at, "new"), (at, "old")) for at in range(100)]
    whole.rows(table, 1, rows)
    whole.checkpoint(1000)
    for size in ("100", "777", "4000"):
        found = batch_rows(folder.path, partitionBytes=size)
        assert [(row["_op"], row["id"], row["_before"]["name"]) for row in found] == [
            ("U", at, "old") for at in range(100)
        ]


def test_files_of_dates_before_the_span_are_not_opened(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    table = folder.version(orders())
    at = {day: compose(1_794_960_000_000 + day * 86_400_000 + 1000) for day in range(5)}  # 2026-11-18 is day 0
    for day, ts in at.items():
        folder.rows(table, 1, [("I", ts, (day, "x"))], f"2026-11-{18 + day}")
    folder.checkpoint(at[4] + 1)
    opened: list[str] = []
    part = Place.part

    def noted(self: Place, path: str, begin: int, end: int) -> Any:
        opened.append(path.split("/")[3])
        return part(self, path, begin, end)

    monkeypatch.setattr(Place, "part", noted)
    config = folder.put("changefeed.toml", CONFIG)
    assert ids(batch_rows(folder.path, startTs=str(at[4] - 1), config=str(config))) == [4]
    assert min(opened) == "2026-11-20"


def test_partitions_are_read_alone_when_they_are_asked_for(folder: Folder) -> None:
    table = folder.version(orders())
    for partition in (51, 52, 53):
        folder.rows(table, 1, [("I", 101, (partition, "x"))], f"{partition}/2026-11-18")
    folder.checkpoint(1000)
    assert sorted(ids(batch_rows(folder.path))) == [51, 52, 53]
    assert ids(batch_rows(folder.path, partitions="52")) == [52]


def test_versions_with_the_same_columns_are_one_table(folder: Folder) -> None:
    for version in (100, 200):
        table = folder.version(orders(version), 7, "ALTER TABLE orders ADD INDEX (name)")
        folder.rows(table, 1, [("I", version + 1, (version, "x"))])
    folder.checkpoint(1000)
    assert ids(batch_rows(folder.path)) == [100, 200]


def test_several_versions_need_merging_or_bounds(folder: Folder) -> None:
    old, new = (
        folder.version(orders()),
        folder.version(orders(200, (ID, NAME, TOTAL)), 5, "ALTER TABLE orders ADD total"),
    )
    folder.rows(old, 1, [("I", 101, (1, "x"))])
    folder.rows(new, 1, [("I", 201, (2, "y", "3.50"))])
    folder.checkpoint(1000)
    with pytest.raises(SchemaChanged, match=r"version 100 has no column total.*schemaAt=100 and endTs=200"):
        batch_rows(folder.path)
    merged = batch_rows(folder.path, mergeSchema="true")
    assert [(row["id"], row["total"] and str(row["total"])) for row in merged] == [(1, None), (2, "3.50")]
    assert ids(batch_rows(folder.path, schemaAt="100", endTs="200")) == [1]
    assert ids(batch_rows(folder.path, startTs="200")) == [2]
    assert ids(batch_rows(folder.path, columns="id,_op")) == [1, 2]


def test_rows_without_a_commit_ts_are_read_whole_or_not_at_all(folder: Folder) -> None:
    plain = Folder(folder.path, CsvOptions())
    table = plain.version(orders())
    plain.rows(table, 1, numbered(50))
    plain.checkpoint(1000)
    found = batch_rows(folder.path, partitionBytes="500")
    assert ids(found) == list(range(50))
    assert {row["_commit_ts"] for row in found} == {None}
    with pytest.raises(ConfigError, match="include-commit-ts"):
        batch_rows(folder.path, startTs="100")


@pytest.mark.parametrize("old_value", [False, True])
@pytest.mark.parametrize("header", [False, True])
def test_the_form_of_rows_is_seen_in_the_first_of_them(folder: Folder, old_value: bool, header: bool) -> None:
    form = CsvOptions(include_commit_ts=True, output_old_value=old_value, output_field_header=header)
    whole = Folder(folder.path, form)
    table = whole.version(orders())
    whole.rows(table, 1, numbered(40))
    whole.checkpoint(1000)
    assert ids(batch_rows(folder.path, partitionBytes="600")) == list(range(40))


def test_a_folder_that_is_no_changefeeds_root_is_refused(folder: Folder) -> None:
    three_files(folder)
    with pytest.raises(NotFound, match="not the root of a changefeed"):
        batch_rows(folder.path / "shop")
    with pytest.raises(NotFound, match="not the root of a changefeed"):
        batch_rows(folder.path / "nowhere")


def test_a_table_that_is_not_there_is_named_with_those_that_are(folder: Folder) -> None:
    three_files(folder)
    with pytest.raises(NotFound, match=r"no table shop\.order; shop has orders"):
        batch_rows(folder.path, table="shop.order")
    with pytest.raises(NotFound, match="there is shop"):
        batch_rows(folder.path, table="shoop.orders")


def test_a_start_below_what_is_kept_is_refused(folder: Folder) -> None:
    three_files(folder)
    with pytest.raises(PositionLost, match="the folder has them from 100 on"):
        batch_rows(folder.path, startTs="99")


def test_a_start_before_the_table_was_made_is_none_the_less_whole(folder: Folder) -> None:
    table = folder.version(orders(), 3, "CREATE TABLE orders (id BIGINT PRIMARY KEY, name VARCHAR(200))")
    folder.rows(table, 1, numbered(3, ts=101))
    folder.checkpoint(1000)
    assert ids(batch_rows(folder.path, startTs="5")) == [0, 1, 2]


def test_rows_of_a_version_without_a_schema_file_are_refused(folder: Folder) -> None:
    three_files(folder)
    folder.rows(orders(250), 1, numbered(3, ts=251))
    with pytest.raises(DecodeError, match="no schema file of version 250"):
        batch_rows(folder.path)


def test_cells_that_fit_no_form_ask_for_the_configuration(folder: Folder) -> None:
    more = [replace(TOTAL, id=at, name=name) for at, name in enumerate("uvw", 3)]
    folder.version(orders(columns=(ID, NAME, *more)))
    folder.rows(orders(), 1, numbered(3, ts=101))
    folder.checkpoint(1000)
    with pytest.raises(ConfigError, match="virtualColumns"):
        batch_rows(folder.path)
    assert ids(batch_rows(folder.path, virtualColumns="u,v,w")) == [0, 1, 2]


def test_a_configuration_that_cannot_be_read_is_named(folder: Folder) -> None:
    three_files(folder)
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        batch_rows(folder.path, config=str(folder.path / "nowhere.toml"))
    other = folder.put("kafka.toml", b'[sink]\nprotocol = "open-protocol"\n')
    with pytest.raises(ConfigError, match="protocol"):
        batch_rows(folder.path, config=str(other))


def test_what_a_schema_file_leaves_out_is_known_from_the_statements(folder: Folder) -> None:
    state = Column(3, "state", ColumnType("enum", elems=("new", "sent, whole")))
    double = Column(4, "twice", ColumnType("bigint", 20))
    query = (
        "CREATE TABLE orders (id BIGINT PRIMARY KEY, name VARCHAR(200), state ENUM('new','sent, whole'),"
        " twice BIGINT GENERATED ALWAYS AS (id * 2) VIRTUAL)"
    )
    folder.version(orders(columns=(ID, NAME, state, double)), 3, query)
    folder.rows(orders(columns=(ID, NAME, state)), 1, [("I", 101, (1, "x", 2))])
    folder.checkpoint(1000)
    (row,) = batch_rows(folder.path)
    assert (row["state"], "twice" in row) == ("sent, whole", False)
