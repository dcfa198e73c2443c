"""`tailrace consume`: trees that TiCDC wrote come out as they must, and what is broken is said and can be mended."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailrace.cli.main import tailrace
from tailrace.errors import TailraceError
from tailrace.observe import failpoints
from tailrace.pipeline import worker
from tests.trees.replay import Replay, Run
from tests.trees.target import SqliteFile
from tests.trees.tree import Tree

TREES = Path(__file__).parents[1] / "trees"
NAMES = sorted(each.parent.name for each in TREES.glob("*/uri.txt"))


class InProcess(Replay):
    """The same command without a process for each run."""

    def run(self, failpoint: str = "") -> Run:
        worker.upstreams._opened.clear()
        done = CliRunner().invoke(tailrace, self.words())
        text = done.output + (str(done.exception) if done.exception else "")
        return Run(done.exit_code, text)


def replay(tree: Tree, work: Path) -> InProcess:
    made = InProcess(tree, SqliteFile(work), work)
    made.begin_anew()
    return made


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A copy that a test may break."""
    shutil.copytree(TREES / "csv-basic", tmp_path / "tree")
    return Tree(tmp_path / "tree")


@pytest.mark.parametrize("name", NAMES)
def test_every_table_of_a_tree_is_as_its_source_was(name: str, tmp_path: Path) -> None:
    made = replay(Tree(TREES / name), tmp_path)
    first = made.run()
    assert first.problems == []
    assert made.differences() == []
    again = made.run()
    assert (again.problems, again.cuts, made.differences()) == ([], 0, [])


@pytest.mark.parametrize(
    "point",
    [
        "after-naming@2",
        "between-files@1",
        "before-ddl@2",
        "after-ddl@1",
        "after-commit@3",
        "after-progress@4",
        "before-naming@2",
        "piece-closed@3",
    ],
)
def test_a_failure_at_any_point_loses_nothing_and_doubles_nothing(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, at = point.partition("@")
    made = replay(Tree(TREES / "csv-partition"), tmp_path)
    failpoints.reset()
    monkeypatch.setenv(failpoints.VARIABLE, f"{name}=raise@{at}")
    run = made.run()
    failpoints.reset()
    assert run.problems == []
    assert "tried again" in run.output
    assert made.differences() == []


def one(folder: Path, pattern: str) -> Path:
    return min(folder.glob(pattern))


def test_low_numbers_may_be_gone_but_a_gap_above_them_is_an_error(tree: Tree, tmp_path: Path) -> None:
    files = sorted(one(tree.storage, "shop/customer/*/2026-*").glob("CDC*.csv"))
    assert len(files) >= 2
    files[-1].rename(files[-1].with_name("CDC00000000000000000009.csv"))
    made = replay(tree, tmp_path)
    run = made.run()
    assert run.code == 1
    assert f"file number {len(files)} is missing, though 9 is there" in run.output
    for file in files[:-1]:
        file.unlink()
    assert made.run().problems == []


@pytest.mark.parametrize(
    ("what", "pattern", "says"),
    [
        ("half a row", "shop/orders/*/2026-*/CDC00000000000000000001.csv", "CDC00000000000000000001.csv row"),
        ("no UTF-8", "shop/orders/*/2026-*/CDC00000000000000000001.csv", "UTF-8"),
        ("too many cells", "shop/orders/*/2026-*/CDC00000000000000000001.csv", "cells"),
        ("no schema", "shop/orders/meta/*.json", "has no schema file"),
        ("half a schema", "shop/orders/meta/*.json", "is not JSON"),
        ("another column", "shop/orders/meta/*.json", "checksum"),
        ("no type", "shop/orders/meta/*.json", "no type that Tailrace knows"),
        ("no metadata", "metadata", "has no metadata file"),
        ("broken metadata", "metadata", "checkpoint-ts"),
    ],
)
def test_what_is_broken_is_said_and_goes_on_when_it_is_mended(
    tree: Tree, tmp_path: Path, what: str, pattern: str, says: str
) -> None:
    path = one(tree.storage, pattern)
    whole = path.read_bytes()
    spoil(path, whole, what)
    made = replay(tree, tmp_path)
    run = made.run()
    assert run.code == 1
    assert says in run.output
    assert rows_of(tmp_path, "shop.orders") == 0
    path.write_bytes(whole)
    assert made.run().problems == []
    assert made.differences() == []


def spoil(path: Path, whole: bytes, what: str) -> None:
    changed: dict[str, Callable[[], bytes]] = {
        "half a row": lambda: whole[: len(whole) - 12],
        "no UTF-8": lambda: whole.replace(b"tab", b"t\xffb"),
        "too many cells": lambda: whole.replace(b"\r\n", b",1\r\n", 1),
        "half a schema": lambda: whole[: len(whole) // 2],
        "another column": lambda: whole.replace(b'"remark"', b'"remarks"'),
        "no type": lambda: whole.replace(b'"TEXT"', b'"TAXT"'),
        "broken metadata": lambda: b'{"checkpoint":1}',
    }
    if what in changed:
        data = changed[what]()
        assert data != whole
        path.write_bytes(data)
    else:
        path.unlink()


def rows_of(work: Path, table: str) -> int:
    with sqlite3.connect(work / "target.db") as connection:
        there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        return int(connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]) if there else 0


def test_files_without_commit_ts_are_refused_unless_told_otherwise(tree: Tree, tmp_path: Path) -> None:
    for file in tree.storage.rglob("*.csv"):
        file.write_bytes(re.sub(rb'(?m)^("[IUD]","\w+","\w+"),\d+,', rb"\1,", file.read_bytes()))
    config = tree.config.read_text().replace("include-commit-ts = true", "include-commit-ts = false")
    tree.config.write_text(config)
    made = replay(tree, tmp_path)
    words = [word for word in made.words() if word != "--without-commit-ts"]
    refused = CliRunner().invoke(tailrace, words)
    assert isinstance(refused.exception, TailraceError)
    assert "--without-commit-ts" in refused.exception.message
    assert "--without-commit-ts" in made.words()
    assert made.run().problems == []
    assert made.differences() == []


def test_a_state_of_another_storage_is_refused(tree: Tree, tmp_path: Path) -> None:
    made = replay(tree, tmp_path)
    assert made.run().problems == []
    other = Tree(shutil.copytree(tree.folder, tmp_path / "other"))
    again = InProcess(other, SqliteFile(tmp_path), tmp_path).run()
    assert "the saved progress is of upstream" in again.output


def test_until_stops_at_a_timestamp_and_goes_on_later(tree: Tree, tmp_path: Path) -> None:
    made = replay(tree, tmp_path)
    words = [word for word in made.words() if word != "--once"]
    half = 470558777591988225
    first: Result = CliRunner().invoke(tailrace, [*words, "--until", str(half)])
    assert f"up to {half}" in first.output
    assert made.differences() != []
    assert made.run().problems == []
    assert made.differences() == []
