"""What a DDL statement says, as TiDB restores it and as people write it."""

from __future__ import annotations

import pytest

from tailrace.change.parse import parse_type
from tailrace.change.statement import Key, Part, PartitionStep, TableName, parse_statement
from tailrace.errors import DecodeError


def test_a_create_table_says_columns_keys_and_partitions() -> None:
    said = parse_statement(
        "CREATE TABLE `s`.`t``x` (`id` INT UNSIGNED PRIMARY KEY /*T![clustered_index] NONCLUSTERED */,"
        "`e` ENUM('a','b,c','it''s') NOT NULL DEFAULT _UTF8MB4'a' COMMENT 'x, (y)',"
        "`d` DECIMAL(12, 2) DEFAULT -1.50,`at` TIMESTAMP DEFAULT CURRENT_TIMESTAMP() ON UPDATE CURRENT_TIMESTAMP(),"
        "`v` INT GENERATED ALWAYS AS(`id`*(2+1)) VIRTUAL,`w` INT AS (`id`) STORED,`k` INT UNIQUE,"
        "UNIQUE KEY `u`(`d`, `e`(3)),INDEX(`at`),CONSTRAINT `f` FOREIGN KEY (`k`) REFERENCES `p`(`id`))"
        " COMMENT='PARTITION' PARTITION BY RANGE (YEAR(`at`)) (PARTITION `p0` VALUES LESS THAN (2000),"
        "PARTITION `pm` VALUES LESS THAN (MAXVALUE))"
    )
    assert (said.kind, said.tables) == ("create table", (TableName("s", "t`x"),))
    columns = {column.name: column for column in said.columns}
    assert list(columns) == ["id", "e", "d", "at", "v", "w", "k"]
    assert parse_type(columns["e"].type).elems == ("a", "b,c", "it's")
    assert (columns["e"].default, columns["e"].nullable) == ("a", False)
    assert (columns["d"].default, columns["at"].expression) == ("-1.50", True)
    assert (columns["v"].generated, columns["w"].generated) == ("virtual", "stored")
    keys = {key.name: key for key in said.keys}
    assert keys["PRIMARY"] == Key("PRIMARY", ("id",), True, True)
    assert keys["u"].columns == ("d", "e")
    assert keys["k"].unique
    assert said.partitioning is not None
    assert said.partitioning.by == "YEAR(`at`)"
    assert said.partitioning.parts == (Part("p0", "2000"), Part("pm", "MAXVALUE"))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("RENAME TABLE `a`.`b` TO `c`.`d`", [("a", "b", "c", "d")]),
        ("rename table b to d, x to y", [("", "b", "", "d"), ("", "x", "", "y")]),
        ("ALTER TABLE `a`.`b` RENAME AS `c`.`d`", [("a", "b", "c", "d")]),
        ("ALTER TABLE `b` RENAME TO `d`", [("", "b", "", "d")]),
        ("ALTER TABLE `b` RENAME `d`", [("", "b", "", "d")]),
    ],
)
def test_a_rename_says_from_what_to_what(text: str, pairs: list[tuple[str, str, str, str]]) -> None:
    found = [(old.schema, old.table, new.schema, new.table) for old, new in parse_statement(text).renames]
    assert found == pairs


def test_an_alter_says_what_became_of_columns_and_keys() -> None:
    said = parse_statement(
        "ALTER TABLE `t` CHANGE COLUMN `a` `b` VARCHAR(64) NOT NULL AFTER `x`, RENAME COLUMN `c` TO `d`, "
        "ADD COLUMN (`e` INT, `f` DECIMAL(6,2)), DROP COLUMN `g`, ADD UNIQUE INDEX `u`(`b`), DROP INDEX `w`, "
        "RENAME INDEX `x` TO `y`, ADD INDEX `z`((LOWER(`v`)))"
    )
    assert said.renamed_columns == (("a", "b"), ("c", "d"))
    assert [column.name for column in said.columns] == ["b", "e", "f"]
    assert said.keys == (Key("u", ("b",), True), Key("z", ()))
    assert (said.dropped_keys, said.renamed_keys) == (("w",), (("x", "y"),))


@pytest.mark.parametrize(
    ("clause", "step"),
    [
        ("DROP PARTITION `p1`,`p2`", PartitionStep("drop", ("p1", "p2"))),
        ("TRUNCATE PARTITION ALL", PartitionStep("truncate", ("ALL",))),
        ("ADD PARTITION (PARTITION `p` VALUES IN (1,NULL))", PartitionStep("add", parts=(Part("p", "1,NULL"),))),
        ("ADD PARTITION PARTITIONS 4", PartitionStep("add", count=4)),
        ("COALESCE PARTITION 2", PartitionStep("coalesce", count=2)),
        ("REMOVE PARTITIONING", PartitionStep("remove")),
        (
            "REORGANIZE PARTITION `a`,`b` INTO (PARTITION `c` VALUES LESS THAN MAXVALUE)",
            PartitionStep("reorganize", ("a", "b"), (Part("c", "MAXVALUE"),)),
        ),
        (
            "EXCHANGE PARTITION `p` WITH TABLE `s`.`t` WITHOUT VALIDATION",
            PartitionStep("exchange", ("p",), table=TableName("s", "t")),
        ),
    ],
)
def test_steps_of_partitions_are_told(clause: str, step: PartitionStep) -> None:
    assert parse_statement(f"ALTER TABLE `t` {clause}").partition_steps == (step,)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CREATE DATABASE IF NOT EXISTS `d`", "create database"),
        ("DROP DATABASE `d`", "drop database"),
        ("TRUNCATE `t`", "truncate table"),
        ("DROP TABLE IF EXISTS `a`.`b`", "drop table"),
        ("CREATE UNIQUE INDEX `u` ON `t` (`a` DESC)", "create index"),
        ("CREATE TABLE `a` LIKE `b`", "create table"),
        ("CREATE OR REPLACE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER VIEW `v` AS SELECT 1 AS `x`", "create view"),
        ("ALTER DATABASE `d` CHARACTER SET utf8mb4", "alter"),
    ],
)
def test_kinds_are_told(text: str, kind: str) -> None:
    assert parse_statement(text).kind == kind


@pytest.mark.parametrize("text", ["CREATE TABLE `t", "CREATE TABLE `t` (`a` INT", "RENAME TABLE `a`"])
def test_a_statement_that_is_cut_off_is_refused(text: str) -> None:
    with pytest.raises(DecodeError):
        parse_statement(text)
