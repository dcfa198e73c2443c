"""A folder that is looked at again and again: silent while it grows as it should, and finds what should not be."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.change.ddl import DdlType
from tailrace.testing.validators import FolderWatch
from tests.testing.reader.folders import ID, NAME, Folder, table

PLACE = "shop/item/100/2024-03-01"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.shape(table("item"), 100)
    made.rows(PLACE, 1, [("I", 101, '1,"a"'), ("I", 102, '2,"b"')])
    made.checkpoint(110)
    return made


@pytest.fixture
def watch(folder: Folder) -> FolderWatch:
    watch = FolderWatch(folder.path)
    assert watch.look() == []
    return watch


def messages(watch: FolderWatch) -> list[str]:
    return [str(finding) for finding in watch.look()]


def test_a_folder_that_grows_as_it_should_has_no_findings(folder: Folder, watch: FolderWatch) -> None:
    folder.rows(PLACE, 2, [("D", 111, '1,"a"'), ("U", 112, '2,"B"')])
    folder.put(f"{PLACE}/meta/CDC.index", f"CDC{2:020d}.csv\n")
    assert watch.look() == []
    assert watch.rows == 2
    folder.shape(table("item", (ID, NAME)), 115, DdlType.ADD_COLUMN, "ALTER TABLE item ...")
    folder.rows("shop/item/115/2024-03-01", 1, [("I", 116, '3,"c"')])
    folder.checkpoint(120)
    assert watch.look() == []
    assert watch.checkpoint == 120
    source = pa.table({"id": pa.array([2, 3], pa.int32()), "name": ["B", "c"]})
    assert watch.differences("shop.item", source) == []
    [wrong] = watch.differences("shop.item", source.slice(1))
    assert "should not be there" in wrong.message
    [missing] = watch.differences("shop.other", source)
    assert "is not there" in missing.message


def test_a_folder_that_is_not_there_yet_or_has_no_checkpoint_holds_nothing(tmp_path: Path) -> None:
    watch = FolderWatch(tmp_path / "later")
    assert watch.look() == []
    Folder(tmp_path / "later").shape(table("item"), 100)
    assert watch.look() == []
    assert (watch.checkpoint, watch.rows, watch.tables) == (0, 0, [])


def test_rows_beyond_the_checkpoint_wait_also_those_in_the_middle_of_a_file(folder: Folder, watch: FolderWatch) -> None:
    folder.rows(PLACE, 2, [("I", 111, '3,"c"'), ("I", 113, '4,"d"')])
    folder.checkpoint(112)
    assert watch.look() == []
    assert watch.rows == 3
    folder.checkpoint(113)
    assert watch.look() == []
    assert watch.rows == 4


def test_a_row_below_an_earlier_checkpoint_is_found(folder: Folder, watch: FolderWatch) -> None:
    folder.rows(PLACE, 2, [("I", 109, '3,"c"')])
    [found] = messages(watch)
    assert found.startswith("resolved holds")


def test_a_statement_below_an_earlier_checkpoint_is_found(folder: Folder, watch: FolderWatch) -> None:
    folder.shape(table("item"), 105, DdlType.ADD_COLUMN, "ALTER TABLE item ...")
    [found] = messages(watch)
    assert found.startswith("resolved holds") and "105" in found


def test_a_row_back_in_time_a_row_twice_and_old_values_that_do_not_fit_are_found(
    folder: Folder, watch: FolderWatch
) -> None:
    folder.rows(PLACE, 2, [("I", 115, '3,"c"'), ("I", 114, '4,"d"')])
    folder.rows(PLACE, 3, [("I", 116, '1,"a"'), ("D", 117, '2,"z"')])
    folder.checkpoint(120)
    assert sorted({found.partition(":")[0] for found in messages(watch)}) == ["before and after", "no row back in time"]


def test_a_gap_a_file_that_changed_and_one_that_is_gone_are_found(folder: Folder, watch: FolderWatch) -> None:
    folder.rows(PLACE, 3, [("I", 111, '3,"c"')])
    assert any("number 2 is missing" in found for found in messages(watch))
    folder.rows(PLACE, 2, [("I", 111, '4,"d"')])
    folder.rows(PLACE, 1, [("I", 101, '1,"a"')])
    assert any("it had" in found for found in messages(watch))
    (folder.path / PLACE / f"CDC{1:020d}.csv").unlink()
    assert any("is gone" in found for found in messages(watch))


def test_an_index_that_names_nothing_is_found(folder: Folder, watch: FolderWatch) -> None:
    folder.put(f"{PLACE}/meta/CDC.index", f"CDC{2:020d}.csv\n")
    [found] = messages(watch)
    assert "its index names" in found


def test_rows_without_a_schema_file_and_files_that_cannot_be_read_are_found(folder: Folder, watch: FolderWatch) -> None:
    folder.rows("shop/other/100/2024-03-01", 1, [("I", 111, "1")])
    folder.checkpoint(120)
    assert any("no schema file" in found for found in messages(watch))
    folder.put(f"{PLACE}/CDC{2:020d}.csv", "cut off")
    assert any(found.startswith("readable") for found in messages(watch))


def test_a_reader_only_raises_its_checkpoint(folder: Folder, watch: FolderWatch) -> None:
    folder.checkpoint(90)
    assert watch.look() == []
    assert watch.checkpoint == 110
