"""Streams: offsets are cuts, batches repeat, limits hold, and a DDL ends the stream after everything before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles

from tailrace.errors import PositionLost, SchemaChanged
from tailrace.pipeline.view.stream import StreamReader
from tests.pipeline.view.folders import ID, NAME, TOTAL, Folder, orders
from tests.pipeline.view.reading import Rows, ids, read_all, stream


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Ten files of three transactions each, the last one shared with the file that follows."""
    made = Folder(tmp_path)
    table = made.version(orders())
    for number in range(1, 11):
        at = 100 + number * 10
        rows = [(at, number * 10), (at + 5, number * 10 + 1), (at + 10, number * 10 + 2)]
        made.rows(table, number, [("I", ts, (row, "x")) for ts, row in rows])
    made.checkpoint(1000)
    return made


def drain(reader: StreamReader, start: dict[str, int], limit: ReadLimit | None = None) -> list[tuple[int, Rows]]:
    """Batch after batch until nothing is left, offsets as Spark keeps them."""
    found = []
    while (end := reader.latestOffset(start, limit or reader.getDefaultReadLimit())) != start:
        end = json.loads(json.dumps(end))
        found.append((end["cut"], read_all(reader, reader.partitions(start, end))))
        again = read_all(reader, reader.partitions(start, end))
        assert again == found[-1][1]
        start = end
    return found


def test_everything_comes_once_and_the_edge_is_the_checkpoint(folder: Folder) -> None:
    reader = stream(folder.path)
    assert reader.initialOffset() == {"cut": 0}
    batches = drain(reader, {"cut": 0})
    assert [cut for cut, _ in batches] == [1000]
    assert len(ids(batches[0][1])) == 30
    assert reader.reportLatestOffset() == {"cut": 1000}


def test_nothing_new_is_no_batch(folder: Folder) -> None:
    reader = stream(folder.path)
    folder.checkpoint(2000)
    assert reader.latestOffset({"cut": 1000}, ReadAllAvailable()) == {"cut": 1000}
    folder.rows(orders(), 11, [("I", 1500, (999, "x"))])
    assert reader.latestOffset({"cut": 1000}, ReadAllAvailable()) == {"cut": 2000}


@pytest.mark.parametrize("files", [1, 2, 3, 7])
def test_a_limit_of_files_parts_no_transaction_and_loses_nothing(folder: Folder, files: int) -> None:
    reader = stream(folder.path, maxFilesPerTrigger=str(files))
    assert reader.getDefaultReadLimit() == ReadMaxFiles(files)
    batches = drain(reader, {"cut": 0})
    rows = [row for _, found in batches for row in found]
    assert sorted(ids(rows)) == sorted(number * 10 + at for number in range(1, 11) for at in range(3))
    seen: set[int] = set()
    for _, found in batches:
        stamps = {row["_commit_ts"] for row in found}
        assert not stamps & seen
        seen |= stamps
    assert len(batches) >= 10 // max(files, 2)
    assert drain(reader, {"cut": 0}, ReadAllAvailable())[0][0] == 1000


def test_a_limit_of_bytes_makes_several_batches(folder: Folder) -> None:
    reader = stream(folder.path, maxBytesPerTrigger="200")
    assert reader.getDefaultReadLimit() == ReadMaxBytes(200)
    batches = drain(reader, {"cut": 0})
    assert len(batches) >= 5
    assert sum(len(rows) for _, rows in batches) == 30


def test_available_now_ends_at_what_was_there_when_it_began(folder: Folder) -> None:
    reader = stream(folder.path)
    reader.prepareForTriggerAvailableNow()
    folder.rows(orders(), 11, [("I", 1500, (999, "x"))])
    folder.checkpoint(2000)
    assert [cut for cut, _ in drain(reader, {"cut": 0})] == [1000]


def test_a_stream_starts_where_it_is_told_to(folder: Folder) -> None:
    assert stream(folder.path, startTs="latest").initialOffset() == {"cut": 1000}
    reader = stream(folder.path, startTs="150", endTs="160")
    assert reader.initialOffset() == {"cut": 150}
    assert [(cut, ids(rows)) for cut, rows in drain(reader, {"cut": 150})] == [(160, [51, 52, 60])]


def test_a_ddl_ends_the_stream_after_what_is_before_it_and_a_restart_goes_on(folder: Folder) -> None:
    reader = stream(folder.path)
    drain(reader, {"cut": 0})
    new = folder.version(orders(1500, (ID, NAME, TOTAL)), 5, "ALTER TABLE orders ADD total")
    folder.rows(orders(), 11, [("I", 1200, (990, "old"))])
    folder.rows(new, 1, [("I", 1600, (991, "new", "1.00"))])
    folder.checkpoint(2000)
    end = reader.latestOffset({"cut": 1000}, ReadAllAvailable())
    assert end == {"cut": 1500}
    assert ids(read_all(reader, reader.partitions({"cut": 1000}, end))) == [990]
    with pytest.raises(SchemaChanged, match=r"version 1500 has the column total.*ALTER TABLE.*start the query again"):
        reader.latestOffset(end, ReadAllAvailable())
    again = stream(folder.path)
    (cut, rows), *more = drain(again, end)
    assert (cut, [(row["id"], str(row["total"])) for row in rows], more) == (2000, [(991, "1.00")], [])


def test_a_ddl_with_no_rows_before_it_still_ends_the_stream(folder: Folder) -> None:
    reader = stream(folder.path)
    reader.latestOffset({"cut": 1000}, ReadAllAvailable())
    folder.version(orders(1500, (ID, TOTAL)), 6, "ALTER TABLE orders DROP name")
    folder.checkpoint(2000)
    assert reader.latestOffset({"cut": 1000}, ReadAllAvailable()) == {"cut": 1500}
    assert reader.partitions({"cut": 1000}, {"cut": 1500}) == []
    with pytest.raises(SchemaChanged):
        reader.latestOffset({"cut": 1500}, ReadAllAvailable())


def test_several_ddls_while_it_was_away_are_passed_one_by_one(folder: Folder) -> None:
    second = folder.version(orders(1500, (ID, TOTAL)), 6, "ALTER TABLE orders DROP name")
    third = folder.version(orders(1700, (ID,)), 6, "ALTER TABLE orders DROP total")
    folder.rows(second, 1, [("I", 1600, (1, "1.00"))])
    folder.rows(third, 1, [("I", 1800, (2,))])
    folder.checkpoint(2000)
    with pytest.raises(SchemaChanged, match="schemaAt=1500"):
        drain(stream(folder.path), {"cut": 1500})
    reader = stream(folder.path, schemaAt="1500")
    end = reader.latestOffset({"cut": 1500}, ReadAllAvailable())
    assert ids(read_all(reader, reader.partitions({"cut": 1500}, end))) == [1]
    with pytest.raises(SchemaChanged, match="version 1700"):
        reader.latestOffset(end, ReadAllAvailable())
    assert [ids(rows) for _, rows in drain(stream(folder.path), end)] == [[2]]


def test_a_truncate_ends_the_stream_although_the_columns_stay(folder: Folder) -> None:
    reader = stream(folder.path)
    drain(reader, {"cut": 0})
    table = folder.version(orders(1500), 11, "TRUNCATE TABLE orders")
    folder.rows(table, 1, [("I", 1600, (5, "x"))])
    folder.checkpoint(2000)
    with pytest.raises(SchemaChanged, match="TRUNCATE TABLE orders"):
        drain(reader, {"cut": 1000})
    assert [ids(rows) for _, rows in drain(stream(folder.path), {"cut": 1500})] == [[5]]


def test_an_index_does_not_end_the_stream(folder: Folder) -> None:
    reader = stream(folder.path)
    drain(reader, {"cut": 0})
    table = folder.version(orders(1500), 7, "ALTER TABLE orders ADD INDEX (name)")
    folder.rows(table, 1, [("I", 1600, (5, "x"))])
    folder.checkpoint(2000)
    assert [ids(rows) for _, rows in drain(reader, {"cut": 1000})] == [[5]]


def test_merged_columns_read_all_versions_that_were_there_when_it_began(folder: Folder) -> None:
    new = folder.version(orders(1500, (ID, NAME, TOTAL)), 5, "ALTER TABLE orders ADD total")
    folder.rows(new, 1, [("I", 1600, (991, "new", "1.00"))])
    folder.checkpoint(2000)
    batches = drain(stream(folder.path, mergeSchema="true"), {"cut": 0})
    assert [(cut, len(rows)) for cut, rows in batches] == [(2000, 31)]
    assert batches[0][1][0]["total"] is None


def test_a_start_that_is_not_kept_is_an_error(folder: Folder) -> None:
    reader = stream(folder.path, startTs="50")
    with pytest.raises(PositionLost):
        reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
