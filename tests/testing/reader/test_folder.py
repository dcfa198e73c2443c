"""Rows count once, in order, up to the checkpoint; what a writer of ours should never leave is reported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.codec.csv.options import CsvOptions
from tailrace.errors import DecodeError
from tailrace.testing.reader import Contents, FolderForm, TableHint, read_local
from tests.testing.reader.folders import ID, NAME, Folder, table

DAY = "shop/t/100/2026-01-01"
FORM = FolderForm()


def rows_of(contents: Contents, name: str = "shop.t") -> Sequence[object]:
    return sorted((tuple(row.values()) for row in contents.tables[name].to_pylist()), key=repr)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.shape(table("t"), 100)
    made.checkpoint(1000)
    return made


def test_the_last_change_of_a_key_stays(folder: Folder) -> None:
    folder.rows(DAY, 1, [("I", 101, '1,"a"'), ("I", 101, '2,"b"'), ("I", 102, '3,"c"')])
    folder.rows(DAY, 2, [("U", 103, '1,"A"'), ("D", 104, '2,"b"'), ("D", 105, '3,"c"'), ("I", 106, "3,\\N")])
    contents = read_local(folder.path, FORM)
    assert rows_of(contents) == [(1, "A"), (3, None)]
    assert contents.keys == {"shop.t": ("id",)}
    assert (contents.fallbacks, contents.gaps) == ((), ())


def test_files_are_read_by_date_and_then_by_number(folder: Folder) -> None:
    folder.rows("shop/t/100/2026-01-02", 1, [("U", 120, '1,"last"')])
    folder.rows(DAY, 10, [("U", 110, '1,"tenth"')])
    folder.rows(DAY, 9, [("U", 109, '1,"ninth"')])
    assert rows_of(read_local(folder.path, FORM)) == [(1, "last")]


def test_rows_beyond_the_checkpoint_leave_no_trace(folder: Folder) -> None:
    folder.checkpoint(102)
    folder.rows(DAY, 1, [("I", 102, '1,"a"'), ("U", 103, '1,"b"'), ("I", 103, '2,"c"')])
    assert rows_of(read_local(folder.path, FORM)) == [(1, "a")]


def test_rows_that_go_back_in_time_are_dropped_and_reported(folder: Folder) -> None:
    folder.rows(DAY, 1, [("I", 101, '1,"a"'), ("U", 105, '1,"new"')])
    folder.rows(DAY, 2, [("U", 102, '1,"old"'), ("U", 104, '1,"old"'), ("U", 105, '1,"same"')])
    contents = read_local(folder.path, FORM)
    assert rows_of(contents) == [(1, "same")]
    (fallback,) = contents.fallbacks
    assert (fallback.rows, fallback.first_ts, fallback.seen_ts) == (2, 102, 105)
    assert fallback.path.endswith("2.csv")


def test_partitions_go_through_time_each_for_itself(folder: Folder) -> None:
    folder.rows("shop/t/100/11/2026-01-01", 1, [("I", 109, '1,"a"'), ("D", 110, '1,"a"')])
    folder.rows("shop/t/100/12/2026-01-01", 1, [("I", 105, '2,"b"'), ("I", 110, '1,"moved"')])
    contents = read_local(folder.path, FORM)
    assert rows_of(contents) == [(1, "moved"), (2, "b")]
    assert contents.fallbacks == ()


def test_keys_that_are_swapped_in_one_transaction_both_stay(folder: Folder) -> None:
    folder.rows(DAY, 1, [("I", 101, '1,"one"'), ("I", 101, '2,"two"')])
    folder.rows(DAY, 2, [("D", 102, '1,"one"'), ("I", 102, '2,"one"'), ("D", 102, '2,"two"'), ("I", 102, '1,"two"')])
    assert rows_of(read_local(folder.path, FORM)) == [(1, "two"), (2, "one")]


def test_without_commit_ts_rows_count_as_they_come(folder: Folder) -> None:
    lines = '"I","t","shop",1,"a"\r\n"D","t","shop",1,"a"\r\n"I","t","shop",1,"b"\r\n"D","t","shop",1,"b"\r\n'
    folder.put(f"{DAY}/CDC000001.csv", lines)
    assert rows_of(read_local(folder.path, FolderForm(CsvOptions()))) == []


def test_a_table_without_a_key_is_a_multiset(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.shape(table("t", [Column(1, "id", ColumnType("int", 11)), NAME]), 100)
    folder.checkpoint(1000)
    folder.rows(DAY, 1, [("I", 101, '1,"a"')] * 3 + [("D", 102, '1,"a"'), ("I", 103, '2,"b"')])
    contents = read_local(tmp_path, FORM)
    assert rows_of(contents) == [(1, "a"), (1, "a"), (2, "b")]
    assert contents.keys == {"shop.t": ()}
    folder.rows(DAY, 2, [("U", 104, '2,"c"')])
    with pytest.raises(DecodeError, match="update without old values"):
        read_local(tmp_path, FORM)


def test_a_hint_gives_a_key_and_virtual_columns(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    plain = Column(1, "id", ColumnType("int", 11), nullable=False)
    double = Column(3, "double_id", ColumnType("int", 11))
    folder.shape(table("t", [plain, double, NAME]), 100)
    folder.rows(DAY, 1, [("I", 101, '1,"a"'), ("U", 102, '1,"b"')])
    form = FolderForm(hints={"shop.t": TableHint(("id",), ("double_id",))})
    assert rows_of(read_local(tmp_path, form)) == [(1, "b")]


def test_what_is_no_data_is_left_alone(folder: Folder) -> None:
    folder.rows(DAY, 1, [("I", 101, '1,"a"')])
    folder.put(f"{DAY}/CDC00000000000000000002.csv.tmp.4f", "half")
    folder.put(f"{DAY}/meta/CDC.index", "CDC00000000000000000001.csv\n")
    folder.put(".tailrace/1/2/shop/t/CDC000001.csv", "staged")
    assert rows_of(read_local(folder.path, FORM)) == [(1, "a")]


def test_gaps_and_empty_files_are_reported(folder: Folder) -> None:
    folder.rows(DAY, 1, [("I", 101, '1,"a"')])
    folder.rows(DAY, 3, [("I", 103, '3,"c"')])
    folder.rows("shop/t/100/2026-01-02", 2, [])
    gaps = read_local(folder.path, FORM).gaps
    assert len(gaps) == 3
    assert "is empty" in gaps[0]
    assert gaps[1].endswith("3.csv: number 2 is missing")
    assert gaps[2].endswith("2.csv: number 1 is missing")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("metadata", '{"checkpoint":1}', "metadata holds"),
        ("shop/t/100/x/y/z/CDC000001.csv", "x", "a data file in a folder that is not"),
        ("shop/t/CDC000001.csv", "x", "a data file in a folder that is not"),
        ("shop/u/100/2026-01-01/CDC000001.csv", "x", "no schema file of version 100"),
        (f"{DAY}/CDC000001.csv", '"I","t","shop",101,1', "CDC000001.csv"),
        ("shop/t/meta/schema_100_0000000001.json", '{"TableVersion":100}', "checksum"),
        ("shop/t/meta/schema_101_1856833586.json", '{"TableVersion":100}', "of version 100, its name says 101"),
    ],
)
def test_what_is_wrong_is_named(folder: Folder, name: str, text: str, said: str) -> None:
    folder.put(name, text)
    with pytest.raises(DecodeError, match=said):
        read_local(folder.path, FORM)


def test_an_enum_without_members_reads_as_text(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    kind = Column(2, "kind", ColumnType("enum", elems=("small", "large")))
    folder.shape(table("t", [ID, kind]), 100)
    folder.rows(DAY, 1, [("I", 101, '1,"large"')])
    assert rows_of(read_local(tmp_path, FORM)) == [(1, "large")]
