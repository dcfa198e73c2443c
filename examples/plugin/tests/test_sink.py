"""The sink holds everything that Tailrace asks of a sink: the suite is inherited, only the target is ours."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from tailrace_sqlite.sink import SqliteSink

from tailrace.sink.base import Sink, SinkSpec
from tailrace.testing.conformance.driver import SUBSCRIPTION, Target
from tailrace.testing.conformance.sink import SinkConformance


class Database:
    """What the suite writes into, and how a reader sees it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def sink(self) -> Sink:
        return SqliteSink(SinkSpec(SUBSCRIPTION, f"sqlite+changes://{self._path}"))

    def visible(self) -> Mapping[str, Mapping[int, str | None]]:
        tables: dict[str, dict[int, str | None]] = {}
        for table, before, after in self._ask('SELECT "table", before, after FROM changes ORDER BY cut, rowid'):
            rows = tables.setdefault(table, {})
            if before is not None:
                rows.pop(json.loads(before)["id"], None)
            if after is not None:
                row = json.loads(after)
                rows[row["id"]] = row["note"]
        for (query,) in self._ask("SELECT query FROM statements ORDER BY ts, seq"):
            if query.startswith("DROP TABLE "):
                tables.pop(query.removeprefix("DROP TABLE ").replace("`", ""), None)
        return {table: rows for table, rows in tables.items() if rows}

    def rows_seen(self) -> int | None:
        [(rows,)] = self._ask("SELECT count(*) FROM changes")
        return int(rows)

    def _ask(self, query: str) -> list[tuple[str, ...]]:
        self.sink().verify()
        with closing(sqlite3.connect(self._path)) as database:
            return database.execute(query).fetchall()


class TestSqliteSink(SinkConformance):
    @pytest.fixture
    def target(self, tmp_path: Path) -> Target:
        return Database(tmp_path / "changes.db")


def test_a_place_that_cannot_be_written_is_a_problem_at_once(tmp_path: Path) -> None:
    sink = SqliteSink(SinkSpec(SUBSCRIPTION, f"sqlite+changes://{tmp_path}/missing/changes.db"))
    [problem] = sink.verify()
    assert "missing/changes.db" in problem.message
