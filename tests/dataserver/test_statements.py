"""Statements: ids of columns live as long as their names, and what needs rows rewritten is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tailrace.change.schema import Column, Index
from tailrace.change.types import ColumnType
from tailrace.dataserver import sql, statements
from tailrace.errors import AlreadyExists, ConfigError
from tests.dataserver.stores import table


def test_a_new_column_gets_an_id_that_none_ever_had() -> None:
    before = statements.created(table())
    wish = replace(before, columns=(*before.columns, Column(0, "more", ColumnType("int"))))
    assert [column.id for column in statements.altered(before, wish, 5, 0).columns] == [1, 2, 6]


@pytest.mark.parametrize("name", ["note", "NOTE"])
def test_a_column_that_is_there_cannot_be_added_again(name: str) -> None:
    """As a client does whose first answer was lost."""
    before = statements.created(table())
    wish = replace(before, columns=(*before.columns, Column(0, name, ColumnType("int"))))
    with pytest.raises(AlreadyExists, match="has the column note twice"):
        statements.altered(before, wish, 5, 0)


def test_an_index_that_is_there_cannot_be_added_again() -> None:
    before = replace(statements.created(table()), indexes=(Index(1, "by_note", ("note",)),))
    with pytest.raises(AlreadyExists, match="has the index by_note twice"):
        statements.altered(before, replace(before, indexes=before.indexes * 2), 5, 1)


@pytest.mark.parametrize(
    ("column", "filling"),
    [
        (Column(0, "c", ColumnType("int"), nullable=False), "0"),
        (Column(0, "c", ColumnType("int"), nullable=False, default="7"), "7"),
        (Column(0, "c", ColumnType("varchar", 5), nullable=False), ""),
        (Column(0, "c", ColumnType("enum", elems=("a", "b")), nullable=False), "a"),
        (Column(0, "c", ColumnType("int")), None),
        (Column(0, "c", ColumnType("date"), nullable=False), "0000-00-00"),
    ],
)
def test_old_rows_hold_the_default_in_a_new_column(column: Column, filling: str | None) -> None:
    before = statements.created(table())
    after = statements.altered(before, replace(before, columns=(*before.columns, column)), 2, 0)
    assert after.columns[-1].origin_default == filling


@pytest.mark.parametrize(
    ("kind", "possible"),
    [
        (ColumnType("varchar", 200, charset="utf8mb4", collation="utf8mb4_bin"), True),
        (ColumnType("varchar", 50, charset="utf8mb4", collation="utf8mb4_bin"), False),
        (ColumnType("int"), False),
        (ColumnType("varchar", 200, charset="latin1", collation="latin1_bin"), False),
    ],
)
def test_a_column_changes_only_where_rows_need_not(kind: ColumnType, possible: bool) -> None:
    before = statements.created(table())
    wish = replace(before, columns=(before.columns[0], replace(before.columns[1], type=kind)))
    if possible:
        assert statements.altered(before, wish, 2, 0).columns[1] == wish.columns[1]
    else:
        with pytest.raises(ConfigError, match=r"shop\.orders\.note cannot change"):
            statements.altered(before, wish, 2, 0)


def test_the_key_cannot_be_dropped_and_an_index_needs_its_columns() -> None:
    before = statements.created(table())
    with pytest.raises(ConfigError, match="id belongs to the key"):
        statements.altered(before, replace(before, columns=before.columns[1:]), 2, 0)
    with pytest.raises(ConfigError, match="no column"):
        statements.altered(before, replace(before, indexes=(Index(0, "i", ("nope",)),)), 2, 0)


def test_the_text_of_a_table_is_sql() -> None:
    known = replace(table(), indexes=(Index(2, "by`note", ("note",), prefixes=(10,)),))
    assert sql.create_table(known) == (
        "CREATE TABLE `shop`.`orders` (`id` BIGINT NOT NULL, "
        "`note` VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, "
        "PRIMARY KEY (`id`), KEY `by``note` (`note`(10)))"
    )
