"""The tables of the meta database: the seed's `subscribe` and `progress`, and what stands beside them.

    subscription   one row a subscription: what was asked for, who carries it, under which epoch, and how it is
    subscribe      one row for each table that it matched (the seed's)
    progress       one row for each range (the seed's, with `cluster_id` in its key): where the range stands
    checkpoint     one row a subscription: the number of the last finished cut and the ts that it reached
    naming         at most one row a subscription: the cut that was begun, the plan of its progress, its naming
    report         one row a subscription: the newest report, for people to read
    server         one row a server: its name, and until when it is known to live. Holds no truth: made anew where it
                   is missing, whatever the version
    version        one row: which version of this module made the tables

Types hold what they must: a TSO is a BIGINT, a key is bytes, a sink or a URI is text of any length. Only `ledger`
writes `progress`, `checkpoint` and `naming`. A column that a newer version adds comes with a step in `database`.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.dialects import mysql

VERSION = 2

metadata = MetaData()


def _name(length: int = 255) -> String:
    """A name: compared byte by byte on every database, as table names and subscriptions are here."""
    return String(length).with_variant(mysql.VARCHAR(length, collation="utf8mb4_bin"), "mysql", "mariadb")


def _text() -> Text:
    return Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


def _bytes() -> LargeBinary:
    return LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


version = Table(
    "version", metadata, Column("id", Integer, primary_key=True), Column("version", Integer, nullable=False)
)

subscription = Table(
    "subscription",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("name", _name(), primary_key=True),
    Column("owner", _name(), nullable=False, default=""),
    Column("epoch", BigInteger, nullable=False, default=0),
    Column("lease_until", BigInteger, nullable=False, default=0, comment="milliseconds of the meta database's clock"),
    Column("writes", BigInteger, nullable=False, default=0, comment="raised by every fenced write"),
    Column("upstream", _text(), nullable=False),
    Column("sink", _text(), nullable=False),
    Column("config", _text(), nullable=False),
    Column("rules", _text(), nullable=False, comment="JSON: the table filter"),
    Column("case_sensitive", Integer, nullable=False, default=0),
    Column("start", String(32), nullable=False),
    Column("end_ts", BigInteger, nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("error", _text(), nullable=False, default="", comment="JSON: errors.to_fields, or nothing"),
    Column("created", BigInteger, nullable=False, comment="milliseconds of the meta database's clock"),
)

subscribe = Table(
    "subscribe",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("db_name", _name(), primary_key=True),
    Column("table_name", _name(), primary_key=True),
    Column("subscribe_name", _name(), primary_key=True),
    Column("db_id", BigInteger, nullable=False, default=0),
    Column("table_id", BigInteger, nullable=False),
    Column("master_addrs", _text(), nullable=False),
    Column("sink", _text(), nullable=False),
    Column("cancel", Integer, nullable=False, default=0),
    Column("owner", _name(), nullable=False, default=""),
)

progress = Table(
    "progress",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("db_name", _name(), primary_key=True),
    Column("table_name", _name(), primary_key=True),
    Column("subscribe_name", _name(), primary_key=True),
    Column("range_id", BigInteger, primary_key=True, autoincrement=False),
    Column("progress_stage", Integer, nullable=False),
    Column("progress_init_snapshot_version", BigInteger, nullable=False),
    Column("progress_current_snapshot_version", BigInteger, nullable=False),
    Column("progress_last_snapshot_key", _bytes(), nullable=False),
    Column("progress_last_log_index", BigInteger, nullable=False),
    Column("through_ts", BigInteger, nullable=False),
    Column("intervals", _text(), comment="JSON: what the other columns do not say of the keys, or NULL"),
    Column("table_id", BigInteger, nullable=False),
    Column("partition_id", BigInteger, nullable=False),
    Column("start_key", _bytes(), nullable=False),
    Column("end_key", _bytes(), nullable=False),
    Index("progress_by_range", "cluster_id", "subscribe_name", "range_id", unique=True),
)

checkpoint = Table(
    "checkpoint",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("subscribe_name", _name(), primary_key=True),
    Column("cut", BigInteger, nullable=False),
    Column("to_ts", BigInteger, nullable=False),
)

naming = Table(
    "naming",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("subscribe_name", _name(), primary_key=True),
    Column("cut", BigInteger, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("phase", String(16), nullable=False),
    Column("from_ts", BigInteger, nullable=False),
    Column("to_ts", BigInteger, nullable=False),
    Column("after", _text(), nullable=False, comment="JSON: what progress will be, against what it is"),
    Column("naming", _text(), comment="NULL until the sink says under which names the cut will stand"),
)

report = Table(
    "report",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("subscribe_name", _name(), primary_key=True),
    Column("made", BigInteger, nullable=False, comment="milliseconds of the meta database's clock"),
    Column("report", _text(), nullable=False, comment="JSON"),
)

server = Table(
    "server",
    metadata,
    Column("cluster_id", Integer, primary_key=True, autoincrement=False),
    Column("name", _name(), primary_key=True),
    Column("instance", _name(), nullable=False, comment="differs from start to start"),
    Column("lease_until", BigInteger, nullable=False, comment="milliseconds of the meta database's clock"),
)
