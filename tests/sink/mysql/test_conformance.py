"""The database sink keeps every guarantee of a sink, into SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tailrace.sink.base import Sink, SinkSpec
from tailrace.sink.mysql.sink import MysqlSink
from tailrace.testing.conformance.driver import SUBSCRIPTION, Target
from tailrace.testing.conformance.sink import SinkConformance


@dataclass(frozen=True)
class SqliteTables:
    """A SQLite file, read by a connection of its own."""

    file: Path

    def sink(self) -> Sink:
        return MysqlSink(SinkSpec(SUBSCRIPTION, f"sqlite:///{self.file}"))

    def visible(self) -> Mapping[str, Mapping[int, str | None]]:
        if not self.file.exists():
            return {}
        connection = sqlite3.connect(self.file)
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_tailrace%' ESCAPE '\\'"
        names = [row[0] for row in connection.execute(query)]
        found = {name: dict(connection.execute(f'SELECT id, note FROM "{name}"').fetchall()) for name in names}
        connection.close()
        return found

    def rows_seen(self) -> int | None:
        return None


class TestSqlite(SinkConformance):
    @pytest.fixture
    def target(self, tmp_path: Path) -> Target:
        return SqliteTables(tmp_path / "target.db")
