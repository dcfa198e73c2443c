"""Tables keep their rows through renames and changes of columns, and lose them where the statement says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.change.ddl import DdlType
from tailrace.change.schema import Column
from tailrace.change.types import ColumnType
from tailrace.errors import DecodeError
from tailrace.testing.reader import FolderForm, read_local
from tests.testing.reader.folders import ID, NAME, Folder, table

FORM = FolderForm(dated=False)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Tables a, b and c of one row each, which says where it was born."""
    made = Folder(tmp_path)
    made.checkpoint(1000)
    for name in "abc":
        made.shape(table(name), 100, DdlType.CREATE_TABLE, f"CREATE TABLE `{name}` (...)")
        made.rows(f"shop/{name}/100", 1, [("I", 101, f'1,"{name}"')])
    return made


def names_in(folder: Folder, form: FolderForm = FORM) -> dict[str, list[object]]:
    tables = read_local(folder.path, form).tables
    return {name: rows.column("name").to_pylist() for name, rows in tables.items()}


def test_drop_and_truncate(folder: Folder) -> None:
    folder.shape(table("a"), 200, DdlType.DROP_TABLE, "DROP TABLE `shop`.`a`")
    folder.shape(table("b"), 201, DdlType.TRUNCATE_TABLE, "TRUNCATE TABLE `b`")
    folder.rows("shop/b/201", 1, [("I", 202, '2,"new"')])
    assert names_in(folder) == {"shop.b": ["new"], "shop.c": ["c"]}


def test_a_table_that_is_created_again_begins_empty(folder: Folder) -> None:
    folder.shape(table("a"), 200, DdlType.DROP_TABLE, "DROP TABLE `shop`.`a`")
    folder.shape(table("a"), 300, DdlType.CREATE_TABLE, "CREATE TABLE `a` (...)")
    assert names_in(folder)["shop.a"] == []


def test_drop_database(folder: Folder) -> None:
    folder.database("shop", 200, DdlType.DROP_SCHEMA, "DROP DATABASE `shop`")
    assert names_in(folder) == {}


@pytest.mark.parametrize(
    "query",
    [
        "RENAME TABLE `shop`.`a` TO `shop`.`d`",
        "RENAME TABLE a TO d",
        "ALTER TABLE `shop` . `a` RENAME TO `d`",
        "alter table a rename as d",
    ],
)
def test_rows_move_with_a_rename(folder: Folder, query: str) -> None:
    folder.shape(table("d"), 200, DdlType.RENAME_TABLE, query)
    folder.rows("shop/d/200", 1, [("I", 201, '2,"later"')])
    assert names_in(folder) == {"shop.b": ["b"], "shop.c": ["c"], "shop.d": ["a", "later"]}


def test_a_rename_into_another_database(folder: Folder) -> None:
    folder.shape(table("a", schema="depot"), 200, DdlType.RENAME_TABLE, "RENAME TABLE a TO `depot`.`a`")
    assert names_in(folder)["depot.a"] == ["a"]


def test_a_chain_of_renames_in_one_statement(folder: Folder) -> None:
    for new, old in (("d", "a"), ("a", "b"), ("b", "c")):
        folder.shape(table(new), 200, DdlType.RENAME_TABLE, f"RENAME TABLE `shop`.`{old}` TO `shop`.`{new}`")
    assert names_in(folder) == {"shop.a": ["b"], "shop.b": ["c"], "shop.d": ["a"]}


def test_two_names_that_are_swapped_in_one_statement(folder: Folder) -> None:
    for new, old in (("a", "b"), ("b", "a")):
        folder.shape(table(new), 200, DdlType.RENAME_TABLE, f"RENAME TABLE `shop`.`{old}` TO `shop`.`{new}`")
    assert names_in(folder) == {"shop.a": ["b"], "shop.b": ["a"], "shop.c": ["c"]}


def test_a_rename_of_what_is_not_there_is_an_error(folder: Folder) -> None:
    folder.shape(table("d"), 200, DdlType.RENAME_TABLE, "RENAME TABLE `shop`.`x` TO `shop`.`d`")
    with pytest.raises(DecodeError, match="renames a table that is not there"):
        names_in(folder)


def test_a_column_that_is_added_has_its_default_in_old_rows(folder: Folder) -> None:
    size = Column(3, "size", ColumnType("int", 11), nullable=False, default="7")
    note = Column(4, "note", ColumnType("varchar", 9))
    folder.shape(table("a", [ID, size, NAME, note]), 200, DdlType.ADD_COLUMN, "ALTER TABLE a ADD COLUMN ...")
    folder.rows("shop/a/200", 1, [("I", 201, '2,8,"new","n"')])
    rows = read_local(folder.path, FORM).tables["shop.a"].to_pylist()
    assert rows == [
        {"id": 1, "size": 7, "name": "a", "note": None},
        {"id": 2, "size": 8, "name": "new", "note": "n"},
    ]


def test_a_column_that_is_dropped_is_gone_and_one_that_is_renamed_keeps_its_values(folder: Folder) -> None:
    called = Column(2, "called", ColumnType("varchar", 20))
    folder.shape(table("a", [ID, called]), 200, DdlType.MODIFY_COLUMN, "ALTER TABLE a CHANGE name called ...")
    folder.shape(table("b", [ID]), 200, DdlType.DROP_COLUMN, "ALTER TABLE b DROP COLUMN name")
    tables = read_local(folder.path, FORM).tables
    assert tables["shop.a"].to_pylist() == [{"id": 1, "called": "a"}]
    assert tables["shop.b"].to_pylist() == [{"id": 1}]


def test_values_follow_a_column_to_a_wider_type(folder: Folder) -> None:
    wide = Column(1, "id", ColumnType("bigint", 20), nullable=False, pk=True)
    folder.shape(table("a", [wide, NAME]), 200, DdlType.MODIFY_COLUMN, "ALTER TABLE a MODIFY id BIGINT")
    folder.rows("shop/a/200", 1, [("U", 201, '1,"b"'), ("I", 202, f'{1 << 40},"c"')])
    assert names_in(folder)["shop.a"] == ["b", "c"]


def test_a_ddl_at_the_checkpoint_counts_where_the_writer_promises_it(folder: Folder) -> None:
    folder.shape(table("a"), 1000, DdlType.DROP_TABLE, "DROP TABLE `shop`.`a`")
    folder.shape(table("b"), 1001, DdlType.DROP_TABLE, "DROP TABLE `shop`.`b`")
    assert "shop.a" not in names_in(folder)
    assert "shop.b" in names_in(folder)
    assert "shop.a" in names_in(folder, FolderForm(dated=False, ddl_at_checkpoint=False))


def test_a_statement_that_is_not_followed_is_refused(folder: Folder) -> None:
    folder.shape(table("a"), 200, DdlType.DROP_PARTITION, "ALTER TABLE a DROP PARTITION p0")
    with pytest.raises(DecodeError, match="does not follow"):
        names_in(folder)


def test_a_view_is_no_table(folder: Folder) -> None:
    folder.shape(table("v"), 200, DdlType.CREATE_VIEW, "CREATE VIEW v AS SELECT 1")
    assert "shop.v" not in names_in(folder)
