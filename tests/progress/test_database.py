"""The meta database: versions, clocks, and what becomes of a database that is not there."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import Connection, column, insert, select, table, text, update
from sqlalchemy.dialects.mysql.base import MySQLDialect
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateTable

from tailrace.errors import ConfigError, MetaAway, MetaVersion, NotInstalled
from tailrace.progress import database, tables
from tailrace.progress.database import meta_clock, open_meta
from tailrace.progress.interval import Interval
from tailrace.progress.ledger import Ledger
from tailrace.progress.position import RangeProgress, Stage
from tests.progress.ledgers import add_subscription, file_database


def test_a_new_file_gets_all_tables_and_an_old_one_keeps_its_rows(tmp_path: Path) -> None:
    with file_database(tmp_path, "kept"):
        pass
    with file_database(tmp_path) as meta, meta.reading() as connection:
        assert connection.execute(select(tables.subscription.c.name)).scalars().all() == ["kept"]
        assert connection.execute(select(tables.version.c.version)).scalars().all() == [tables.VERSION]


def test_servers_that_start_at_once_make_the_tables_once(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def start() -> None:
        try:
            open_meta(f"sqlite:///{tmp_path / 'meta.db'}").close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_newer_version_is_neither_opened_nor_written(tmp_path: Path) -> None:
    with file_database(tmp_path) as meta:
        with sqlite3.connect(tmp_path / "meta.db") as newer:
            newer.execute("UPDATE version SET version = 99")
        newer.close()
        with pytest.raises(MetaVersion, match="version 99"):
            add_subscription(meta, "late")
        with meta.reading() as connection:
            assert connection.execute(select(tables.subscription.c.name)).all() == []
    with pytest.raises(MetaVersion, match="version 99"):
        open_meta(f"sqlite:///{tmp_path / 'meta.db'}")


def test_an_older_version_is_brought_up_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file_database(tmp_path, "kept"):
        pass

    def add_column(connection: Connection) -> None:
        connection.execute(text("ALTER TABLE report ADD COLUMN extra INTEGER"))

    def fill_column(connection: Connection) -> None:
        connection.execute(insert(table("report", column("cluster_id"), column("subscribe_name"), column("made"),
                                        column("report"), column("extra"))).values((1, "kept", 0, "", 5)))  # fmt: skip

    last = tables.VERSION
    monkeypatch.setattr(tables, "VERSION", last + 2)
    monkeypatch.setattr(database, "STEPS", {last: add_column, last + 1: fill_column})
    with file_database(tmp_path) as meta, meta.reading() as connection:
        assert connection.execute(text("SELECT extra FROM report")).scalars().all() == [5]
        assert connection.execute(select(tables.version.c.version)).scalar() == last + 2


def test_a_database_of_version_1_is_read_on(tmp_path: Path) -> None:
    """Its positions have no intervals of their own, and mean what they meant."""
    with file_database(tmp_path, "kept") as meta, meta.writing() as connection:
        connection.execute(text("UPDATE version SET version = 1"))
        connection.execute(text("ALTER TABLE progress DROP COLUMN intervals"))
        row = "1, 's', 't', 'kept', 3, 1, 40, 50, x'6b', 9, 0, 7, 0, x'61', x'7a'"
        connection.execute(text(f"INSERT INTO progress VALUES ({row})"))
        connection.execute(text("INSERT INTO checkpoint VALUES (1, 'kept', 4, 0)"))
    with file_database(tmp_path) as meta:
        found = Ledger(meta).load("kept")
    assert found is not None
    assert found.ranges == (RangeProgress(3, 7, 0, b"a", b"z", Stage.SNAPSHOT, 40, 50, b"k", 9, 0),)
    assert found.ranges[0].intervals == (Interval(b"a", b"k\0", 50), Interval(b"k\0", b"z"))


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with file_database(tmp_path, "one") as meta:
        with pytest.raises(ZeroDivisionError), meta.writing() as connection:
            connection.execute(update(tables.subscription).values(epoch=7))
            _ = 1 // 0
        with meta.reading() as connection:
            assert connection.execute(select(tables.subscription.c.epoch)).scalar() == 1


def test_a_reading_sees_one_moment(tmp_path: Path) -> None:
    with file_database(tmp_path, "one") as meta, meta.reading() as connection:
        before = connection.execute(select(tables.subscription.c.epoch)).scalar()
        with meta.writing() as other:
            other.execute(update(tables.subscription).values(epoch=7))
        assert connection.execute(select(tables.subscription.c.epoch)).scalar() == before


def test_what_is_written_survives_a_power_cut(tmp_path: Path) -> None:
    with file_database(tmp_path) as meta, meta.reading() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2


def test_the_clock_is_the_databases_own(tmp_path: Path) -> None:
    with file_database(tmp_path) as meta:
        assert abs(meta.now_ms() - time.time() * 1000) < 2000


@pytest.mark.parametrize("kind", [MySQLDialect, PGDialect])
def test_clock_and_tables_are_written_for_production_databases(kind: type[Dialect]) -> None:
    dialect = kind()
    assert "1000" in str(select(meta_clock()).compile(dialect=dialect))
    made = [str(CreateTable(each).compile(dialect=dialect)) for each in tables.metadata.sorted_tables]
    assert len(made) == 8


def test_a_busy_database_is_away_and_its_message_bears_no_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    with file_database(tmp_path, "one") as meta:
        holder = sqlite3.connect(tmp_path / "meta.db", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(MetaAway) as caught, meta.writing() as connection:
            connection.execute(update(tables.subscription).values(sink="mysql://root:hunter2@db/"))
        holder.close()
    assert "hunter2" not in str(caught.value)
    assert "locked" in str(caught.value)


def test_a_database_whose_connections_are_all_in_use_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(database, "CONNECTIONS", 1)
    with file_database(tmp_path) as meta, meta.reading(), pytest.raises(MetaAway, match="in use"):
        meta.now_ms()


def test_threads_of_one_process_take_turns_instead_of_giving_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    with file_database(tmp_path, "one") as meta:
        errors: list[BaseException] = []

        def write() -> None:
            try:
                with meta.writing() as connection:
                    connection.execute(update(tables.subscription).values(epoch=tables.subscription.c.epoch + 1))
                    time.sleep(0.1)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=write) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        with meta.reading() as connection:
            assert connection.execute(select(tables.subscription.c.epoch)).scalar() == 7


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "nonsense", "nosuch://x/y"])
def test_a_url_that_is_no_lasting_database_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="--meta"):
        open_meta(url)


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(NotInstalled, match="pymysql"):
        open_meta("mysql+pymysql://root:hunter2@127.0.0.1/meta")


def test_a_file_that_cannot_be_made_is_away(tmp_path: Path) -> None:
    with pytest.raises(MetaAway, match="unable to open"):
        open_meta(f"sqlite:///{tmp_path / 'nowhere' / 'meta.db'}")
