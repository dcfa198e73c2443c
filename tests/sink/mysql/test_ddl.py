"""DDL in SQLite: the rows that are there afterwards are those that MySQL would have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tailrace.change.ddl import DdlEvent
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.change.statement import parse_statement
from tailrace.errors import SinkRefused
from tailrace.sink.mysql.sqlite.database import SqliteTarget


class Base:
    """A target, and the shapes of its tables as a source knows them."""

    def __init__(self, file: Path) -> None:
        self.target = SqliteTarget(file, "test", ZoneInfo("Europe/Berlin"))
        self.target.claim(1)
        self.shapes: dict[str, TableSchema] = {}
        self.ts = 1_800_000_000_000 << 18

    def create(self, name: str, body: str) -> None:
        statement = parse_statement(f"CREATE TABLE `s`.`{name}` ({body}")
        primary = {column for key in statement.keys if key.primary for column in key.columns}
        columns = tuple(
            Column(
                at, each.name, parse_type(each.type), each.nullable and each.name not in primary, each.name in primary
            )
            for at, each in enumerate(statement.columns, 1)
        )
        self.run(statement.text, TableSchema("s", name, 1, 1, columns))

    def run(self, query: str, table: TableSchema, before: TableSchema | None = None) -> None:
        self.run_all([(query, table, before)])

    def run_all(self, said: Sequence[tuple[str, TableSchema, TableSchema | None]]) -> None:
        events = [
            DdlEvent(self.ts, self.ts, seq, 0, query, table.schema, table.name, table, before)
            for seq, (query, table, before) in enumerate(said)
        ]
        with self.target.transaction(1):
            self.target.ddl(events)
        self.shapes |= {table.name: table for _, table, _ in said}

    def alter(self, name: str, clause: str, *columns: Column) -> None:
        self.run(
            f"ALTER TABLE `s`.`{name}` {clause}",
            replace(self.shapes[name], columns=columns or self.shapes[name].columns),
        )

    def put(self, name: str, *rows: tuple[Any, ...]) -> None:
        connection = self.target._connection
        connection.executemany(f'INSERT INTO "s.{name}" VALUES ({", ".join("?" * len(rows[0]))})', rows)

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return sorted(self.target._connection.execute(f'SELECT * FROM "s.{name}"').fetchall(), key=str)


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Base]:
    made = Base(tmp_path / "target.db")
    yield made
    made.target.close()


def column(name: str, kind: str, default: str | None = None, nullable: bool = True, pk: bool = False) -> Column:
    return Column(1, name, parse_type(kind), nullable and not pk, pk, default)


ID = column("id", "int", pk=True)


def test_an_added_column_has_its_default_in_old_rows(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY)")
    base.put("t", (1,), (2,))
    added = [
        column("n", "int", "7"),
        column("d", "decimal(8,3)", "1.5"),
        column("z", "varchar(9)", nullable=False),
        column("at", "timestamp", "2020-06-01 00:00:00"),
        column("now", "datetime(3)", "CURRENT_TIMESTAMP"),
        column("b", "binary(3)", "a"),
        column("nothing", "int"),
    ]
    base.alter("t", "ADD COLUMN `n` INT DEFAULT 7", ID, *added)
    want = (7, "1.500", "", "2020-06-01 02:00:00", "2027-01-15 09:00:00.000", b"a\0\0", None)
    assert base.rows("t") == [(1, *want), (2, *want)]


def test_a_changed_column_keeps_its_values_under_the_new_type_and_name(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY, `a` INT, `b` VARCHAR(9), `c` DATETIME(3))")
    base.put("t", (1, 5, "12.7", "2020-01-02 03:04:05.678"), (2, None, "x", None))
    base.alter(
        "t",
        "CHANGE COLUMN `a` `A2` DECIMAL(6,2), MODIFY COLUMN `b` BIGINT, MODIFY COLUMN `c` DATE",
        column("c", "date"),
        ID,
        column("A2", "decimal(6,2)"),
        column("b", "bigint"),
    )
    assert base.rows("t") == [("2020-01-02", 1, "5.00", 13), (None, 2, None, 0)]


def test_moments_are_rounded_and_a_float_shows_its_own_value(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY, `a` DATETIME(3), `f` FLOAT)")
    base.put("t", (1, "2020-12-31 23:59:59.678", 3.14), (2, "0000-00-00 00:00:00.000", None))
    base.alter("t", "MODIFY COLUMN `a` DATETIME", ID, column("a", "datetime"), column("f", "double"))
    assert base.rows("t") == [(1, "2021-01-01 00:00:00", 3.140000104904175), (2, "0000-00-00 00:00:00", None)]


def test_tables_exchange_their_names_in_one_statement(base: Base) -> None:
    for name in ("a", "b"):
        base.create(name, "`id` INT PRIMARY KEY)")
    base.put("a", (1,))
    base.put("b", (2,))
    one, two = base.shapes["a"], base.shapes["b"]
    base.run_all(
        [
            ("RENAME TABLE `s`.`a` TO `s`.`b`", replace(one, name="b"), one),
            ("RENAME TABLE `s`.`b` TO `s`.`a`", replace(two, name="a"), two),
        ]
    )
    assert (base.rows("a"), base.rows("b")) == ([(2,)], [(1,)])


def test_partitions_are_emptied_dropped_and_exchanged_by_what_their_rows_are(base: Base) -> None:
    base.create(
        "t",
        "`id` INT, `day` INT, PRIMARY KEY(`id`, `day`)) PARTITION BY RANGE (`day`) "
        "(PARTITION `p1` VALUES LESS THAN (10),"
        "PARTITION `p2` VALUES LESS THAN (20), PARTITION `pm` VALUES LESS THAN (MAXVALUE))",
    )
    base.create("u", "`id` INT, `day` INT, PRIMARY KEY(`id`, `day`))")
    base.put("t", (1, 5), (2, 15), (3, 25), (4, 10))
    base.put("u", (9, 11))
    base.alter("t", "EXCHANGE PARTITION `p2` WITH TABLE `s`.`u`")
    assert (base.rows("t"), base.rows("u")) == ([(1, 5), (3, 25), (9, 11)], [(2, 15), (4, 10)])
    base.alter("t", "TRUNCATE PARTITION `p1`")
    assert base.rows("t") == [(3, 25), (9, 11)]
    base.alter("t", "DROP PARTITION `p2`")
    base.put("t", (5, 12))
    base.alter("t", "TRUNCATE PARTITION `pm`")
    assert base.rows("t") == []


def test_lists_and_hashes_are_partitions_too(base: Base) -> None:
    base.create(
        "l", "`id` INT) PARTITION BY LIST (`id`) (PARTITION `a` VALUES IN (1,2), PARTITION `n` VALUES IN (NULL,5))"
    )
    base.put("l", (1,), (2,), (5,), (None,))
    base.alter("l", "TRUNCATE PARTITION `n`")
    assert base.rows("l") == [(1,), (2,)]
    base.create("h", "`id` INT PRIMARY KEY) PARTITION BY HASH (`id`) PARTITIONS 3")
    base.put("h", *((at,) for at in range(6)))
    base.alter("h", "TRUNCATE PARTITION `p1`")
    assert base.rows("h") == [(0,), (2,), (3,), (5,)]


def test_partitions_by_what_a_function_says_of_a_date(base: Base) -> None:
    base.create(
        "y",
        "`id` INT, `d` DATE) PARTITION BY RANGE (YEAR(`d`)) "
        "(PARTITION `old` VALUES LESS THAN (2000), PARTITION `new` VALUES LESS THAN MAXVALUE)",
    )
    base.put("y", (1, "1999-12-31"), (2, "2000-01-01"), (3, None))
    base.alter("y", "DROP PARTITION `old`")
    assert base.rows("y") == [(2, "2000-01-01")]
    base.create(
        "z",
        "`id` INT, `d` DATE) PARTITION BY RANGE (TO_DAYS(`d`)) (PARTITION `a` VALUES LESS THAN "
        "(TO_DAYS(_UTF8MB4'2020-01-02')), PARTITION `b` VALUES LESS THAN (737792))",
    )
    base.put("z", (1, "2020-01-01"), (2, "2020-01-02"))
    base.alter("z", "TRUNCATE PARTITION `b`")
    assert base.rows("z") == [(1, "2020-01-01")]
    assert base.target._connection.execute("SELECT TO_DAYS('2020-01-02'), MOD(-7, 3)").fetchone() == (737791, -1)


def test_a_column_that_only_changes_its_case_keeps_its_values(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY, `Name` VARCHAR(9))")
    base.put("t", (1, "a"))
    base.alter("t", "MODIFY COLUMN `name` VARCHAR(20)", ID, column("name", "varchar(20)"), column("x", "int", "1"))
    assert base.rows("t") == [(1, "a", 1)]


def test_partitions_that_cannot_be_told_apart_are_refused(base: Base) -> None:
    base.create("k", "`id` INT PRIMARY KEY) PARTITION BY KEY (`id`) PARTITIONS 3")
    with pytest.raises(SinkRefused, match="KEY"):
        base.alter("k", "TRUNCATE PARTITION `p1`")
    base.create("t", "`id` INT PRIMARY KEY)")
    with pytest.raises(SinkRefused, match="partitioned"):
        base.alter("t", "DROP PARTITION `p1`")


def test_a_table_that_is_there_with_rows_is_not_made_over(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY)")
    base.put("t", (1,))
    with pytest.raises(SinkRefused, match="rows in it"):
        base.create("t", "`id` INT PRIMARY KEY)")
    assert base.rows("t") == [(1,)]


def test_a_statement_that_fails_leaves_nothing_of_its_transaction(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY, `u` INT)")
    base.put("t", (1, 5), (2, 5))
    with pytest.raises(SinkRefused, match="UNIQUE"):
        base.alter("t", "ADD UNIQUE INDEX `u`(`u`)")
    assert base.rows("t") == [(1, 5), (2, 5)]
    base.alter("t", "COMMENT = 'still there'")


def test_views_are_said_in_sqlites_language(base: Base) -> None:
    base.create("t", "`id` INT PRIMARY KEY, `v` INT)")
    base.put("t", (1, 5), (2, 50))
    view = TableSchema("s", "v", 2, 2, (column("id", "int"),), is_view=True)
    base.run("CREATE VIEW `s`.`v` AS SELECT `id` FROM `s`.`t` WHERE `v`>10 AND IFNULL(`t`.`v`,0)<>7", view)
    assert base.rows("v") == [(2,)]
    base.run("DROP VIEW `s`.`v`", view)
    base.run("CREATE VIEW `s`.`v` AS SELECT 1 AS `x`", view)
    assert base.rows("v") == [(1,)]
