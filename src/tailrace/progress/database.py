"""The meta database: how it is opened, read and written.

`MetaDatabase` guarantees that it only ever works on tables of the version that it knows (`MetaVersion` otherwise, and
nothing is written), that a reading sees one moment of all tables, that a writing is one transaction that is whole or
not there, and that a database which does not answer is `MetaAway`. What the transactions mean is said elsewhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from sqlalchemy import (
    BigInteger,
    Connection,
    Engine,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from tailrace.errors import ConfigError, MetaAway, MetaVersion, NotInstalled
from tailrace.observe.clock import wall_ms
from tailrace.progress import tables

BUSY_SECONDS = 10.0
CONNECTIONS = 32

Step = Callable[[Connection], None]

_VERSION = select(tables.version.c.version)


def _with_intervals(connection: Connection) -> None:
    kind = tables.progress.c.intervals.type.compile(connection.dialect)
    connection.execute(text(f"ALTER TABLE progress ADD COLUMN intervals {kind}"))
    # Early databases of version 1 lack `server`.
    tables.metadata.create_all(connection)


STEPS: dict[int, Step] = {1: _with_intervals}
"""For each older version the step that makes the next one of it."""


class meta_clock(FunctionElement[int]):
    """Milliseconds since 1970 by the meta database's own clock: the only clock that all servers share."""

    type = BigInteger()
    inherit_cache = True


@compiles(meta_clock, "sqlite")
def _sqlite_clock(element: object, compiler: object, **options: Any) -> str:
    return "tailrace_clock()"


@compiles(meta_clock, "mysql")
@compiles(meta_clock, "mariadb")
def _mysql_clock(element: object, compiler: object, **options: Any) -> str:
    return "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)"


@compiles(meta_clock, "postgresql")
def _postgresql_clock(element: object, compiler: object, **options: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"


class MetaDatabase:
    """One meta database. Made by `open_meta`; safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # SQLite has one writer at a time, and whoever waits for it there polls: threads of one process queue up here.
        self._turn = threading.Lock() if engine.dialect.name == "sqlite" else nullcontext()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment of all tables and changes nothing."""
        options = {"isolation_level": "REPEATABLE READ"} if self._engine.dialect.name == "postgresql" else {}
        with self._answering(), self._engine.connect().execution_options(**options) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction whose first statement must be a write: so it sees what it will change, not what was before.

        Raises MetaVersion, with nothing written, when a newer version has taken the database over meanwhile.
        """
        with self._turn, self._answering(), self._engine.begin() as connection:
            yield connection
            _refuse_newer(_version_of(connection))

    def now_ms(self) -> int:
        with self.reading() as connection:
            return connection.execute(select(meta_clock())).scalar_one()

    def prepare(self) -> None:
        """Make or bring up the tables; MetaVersion, with nothing written, when a newer version made them."""
        with self._answering(), self._engine.execution_options(alone=True).begin() as connection:
            found = _version_of(connection) if inspect(connection).has_table(tables.version.name) else None
            _refuse_newer(found)
            if found is None:
                _create(connection)
            elif found < tables.VERSION:
                _bring_up(connection, found)

    def make_missing(self, table: Table) -> bool:
        """Make a table that is not there; whether it was missing. For one whose rows nobody misses."""
        with self._answering(), self._engine.execution_options(alone=True).begin() as connection:
            missing = not inspect(connection).has_table(table.name)
            table.create(connection, checkfirst=True)
        return missing

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except DBAPIError as error:
            # The driver's own text, without the statement's values: they may hold a sink's password.
            raise MetaAway(f"the meta database does not answer: {error.orig}") from error
        except PoolTimeout as error:
            raise MetaAway(f"all {CONNECTIONS} connections to the meta database are in use") from error


def open_meta(url: str) -> MetaDatabase:
    """Open, and make where it is new. `sqlite:///FILE`, or MySQL or PostgreSQL by SQLAlchemy's URL."""
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
            raise ConfigError("--meta: an SQLite meta database must be a file, as in sqlite:///meta.db")
        wait = {"timeout": BUSY_SECONDS} if parsed.get_backend_name() == "sqlite" else {}
        engine = create_engine(
            parsed,
            connect_args=wait,
            hide_parameters=True,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=BUSY_SECONDS,
            pool_pre_ping=parsed.get_backend_name() != "sqlite",
        )
    except (ArgumentError, NoSuchModuleError) as error:
        raise ConfigError(
            "--meta: not a database URL; it should be like sqlite:///FILE or mysql+pymysql://…"
        ) from error
    except ModuleNotFoundError as error:
        raise NotInstalled(f"--meta: the driver {error.name} is not installed; install it beside tailrace") from error
    if engine.dialect.name == "sqlite":
        _prepare_sqlite(engine)
    meta = MetaDatabase(engine)
    meta.prepare()
    return meta


def _prepare_sqlite(engine: Engine) -> None:
    """Write-ahead log, so that readers never wait; FULL, so that what was said to be saved outlives a power cut."""

    @event.listens_for(engine, "connect")
    def on_connect(connection: Any, record: object) -> None:
        # The driver would begin a transaction only before the first write; `on_begin` does it before a reading too.
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # SQLite has no clock of its own, only that of the process that it runs in.
        connection.create_function("tailrace_clock", 0, wall_ms)

    @event.listens_for(engine, "begin")
    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("alone") else "BEGIN")


def _version_of(connection: Connection) -> int | None:
    return connection.execute(_VERSION).scalar()


def _refuse_newer(found: int | None) -> None:
    if found is not None and found > tables.VERSION:
        raise MetaVersion(
            f"the meta database is of version {found}; this Tailrace knows versions up to {tables.VERSION}: "
            "start the newer Tailrace, or give another meta database"
        )


def _create(connection: Connection) -> None:
    tables.metadata.create_all(connection)
    connection.execute(insert(tables.version).values(id=1, version=tables.VERSION))


def _bring_up(connection: Connection, found: int) -> None:
    for older in range(found, tables.VERSION):
        STEPS[older](connection)
    connection.execute(update(tables.version).values(version=tables.VERSION))
