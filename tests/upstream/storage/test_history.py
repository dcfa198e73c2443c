"""Which tables there are at a ts, whatever they were called, and what happened between."""

from __future__ import annotations

import itertools
import json

from tailrace.change.ddl import DdlType
from tailrace.upstream.storage.history import History
from tailrace.upstream.storage.paths import Folder, SchemaPath
from tailrace.upstream.storage.schemas import SchemaEntry, entry_of

INT = {
    "ColumnName": "id",
    "ColumnType": "INT",
    "ColumnPrecision": "11",
    "ColumnNullable": "false",
    "ColumnIsPk": "true",
}


def entry(version: int, table: str, query: str = "", type: int = 0, columns: int = 1, schema: str = "s") -> SchemaEntry:
    """A schema file as it lies in a folder, without a checksum in its name."""
    shape = [INT, *({"ColumnName": f"c{at}", "ColumnType": "INT"} for at in range(1, columns))]
    said = {
        "Table": table,
        "Schema": schema,
        "Version": 1,
        "TableVersion": version,
        "Query": query,
        "Type": type,
        "TableColumns": shape if table else None,
        "TableColumnsTotal": len(shape) if table else 0,
    }
    return entry_of(
        SchemaPath(Folder(schema, table), version, None, f"{schema}/{table}/{version}"), json.dumps(said).encode()
    )


def create(version: int, table: str) -> SchemaEntry:
    return entry(version, table, f"CREATE TABLE `{table}` (`id` INT PRIMARY KEY)", DdlType.CREATE_TABLE)


def rename(version: int, old: str, new: str) -> SchemaEntry:
    return entry(version, new, f"RENAME TABLE `s`.`{old}` TO `s`.`{new}`", DdlType.RENAME_TABLE)


def names(history: History, at: int) -> dict[str, int]:
    return {table.name: table.table_id for table in history.tables(at)}


def test_a_table_is_there_from_its_create_to_its_drop() -> None:
    history = History([create(10, "t"), entry(20, "t", "DROP TABLE `s`.`t`", DdlType.DROP_TABLE)], late=0)
    assert [list(names(history, at)) for at in (9, 10, 19, 20)] == [[], ["t"], ["t"], []]


def test_with_ticdcs_metadata_a_ddl_counts_one_later() -> None:
    history = History([create(10, "t")], late=1)
    assert [list(names(history, at)) for at in (10, 11)] == [[], ["t"]]
    assert [event.commit_ts for event in history.events] == [11]


def test_a_table_without_a_create_was_always_there() -> None:
    history = History([entry(10, "t")], late=1)
    assert list(names(history, 1)) == ["t"]
    assert history.events == []


def test_a_table_made_anew_is_another_one() -> None:
    history = History([create(10, "t"), entry(20, "t", "DROP TABLE `t`", DdlType.DROP_TABLE), create(30, "t")], late=0)
    assert names(history, 15)["t"] != names(history, 30)["t"]


def test_a_renamed_table_stays_who_it_is_and_its_old_name_is_free() -> None:
    history = History([create(10, "a"), rename(20, "a", "b"), create(30, "a")], late=0)
    before, after = names(history, 15), names(history, 30)
    assert before["a"] == after["b"] != after["a"]
    [first, second] = history.lineages[before["a"]].periods
    assert (first.folder, first.end, second.folder, second.begin) == (Folder("s", "a"), 20, Folder("s", "b"), 20)


def test_tables_change_names_in_a_circle_and_in_a_chain() -> None:
    start = [create(10, "a"), create(11, "b"), create(12, "c")]
    history = History([*start, rename(20, "a", "b"), rename(20, "b", "c"), rename(20, "c", "a")], late=0)
    before, after = names(history, 15), names(history, 20)
    assert (after["b"], after["c"], after["a"]) == (before["a"], before["b"], before["c"])
    history = History([*start, rename(20, "a", "d"), rename(20, "b", "a"), rename(20, "c", "b")], late=0)
    before, after = names(history, 15), names(history, 20)
    assert after == {"d": before["a"], "a": before["b"], "b": before["c"]}


def test_a_rename_of_a_table_that_had_no_rows_yet_begins_with_the_rename() -> None:
    history = History([rename(20, "a", "b")], late=0)
    assert history.events[0].before is not None
    assert history.events[0].before.name == "a"
    assert "b" in names(history, 20)


def test_a_dropped_database_takes_its_tables_along() -> None:
    drop = entry(20, "", "DROP DATABASE `s`", DdlType.DROP_SCHEMA)
    other = entry(5, "u", schema="z")
    history = History([create(10, "t"), other, drop], late=0)
    assert set(names(history, 20)) == {"u"}


def test_ids_and_events_do_not_depend_on_the_order_in_which_files_are_found() -> None:
    files = [
        create(10, "a"),
        rename(20, "a", "b"),
        entry(25, "b", "ALTER TABLE `b` ADD COLUMN `c1` INT", 5, 2),
        entry(3, "x"),
    ]
    seen = {
        tuple((event.order, event.query) for event in History(list(each), 1).events)
        for each in itertools.permutations(files)
    }
    ids = {tuple(sorted(names(History(list(each), 1), 40).items())) for each in itertools.permutations(files)}
    assert (len(seen), len(ids)) == (1, 1)


def test_a_first_schema_file_that_comes_late_changes_no_id() -> None:
    alter = entry(30, "t", "ALTER TABLE `t` ADD COLUMN `c1` INT", 5, 2)
    assert names(History([alter], 1), 40) == names(History([entry(3, "t"), alter], 1), 40)


def test_members_and_virtual_columns_are_remembered_from_the_queries() -> None:
    query = "CREATE TABLE `t` (`id` INT PRIMARY KEY, `c1` INT AS (`id`) VIRTUAL, `c2` INT, UNIQUE `u`(`c2`))"
    later = entry(20, "t", "ALTER TABLE `t` COMMENT = 'x'", 17, 3)
    history = History([entry(10, "t", query, DdlType.CREATE_TABLE, 3), later], late=0)
    [table] = history.tables(20)
    assert [column.name for column in table.row_columns] == ["id", "c2"]
    assert [index.columns for index in table.indexes] == [("c2",)]
