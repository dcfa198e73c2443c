"""Meta databases with subscriptions in them, for tests of what is written there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlalchemy import StaticPool, create_engine, insert, select, update

from tailrace.progress import tables
from tailrace.progress.cut import Cut
from tailrace.progress.database import MetaDatabase, open_meta
from tailrace.progress.position import Progress, RangeProgress, Stage

CLUSTER = 1
NAME = "orders"


@contextmanager
def memory_database(*names: str) -> Iterator[MetaDatabase]:
    """A meta database of one connection, for one thread: what each transaction does is the same, and it is fast."""
    meta = MetaDatabase(create_engine("sqlite://", poolclass=StaticPool))
    try:
        meta.prepare()
        for name in names or (NAME,):
            add_subscription(meta, name)
        yield meta
    finally:
        meta.close()


@contextmanager
def file_database(folder: Path, *names: str) -> Iterator[MetaDatabase]:
    """A meta database as a server opens it, for several threads."""
    meta = open_meta(f"sqlite:///{folder / 'meta.db'}")
    try:
        for name in names:
            add_subscription(meta, name)
        yield meta
    finally:
        meta.close()


def add_subscription(meta: MetaDatabase, name: str, cluster_id: int = CLUSTER, epoch: int = 1) -> None:
    fields = {"cluster_id": cluster_id, "name": name, "epoch": epoch, "upstream": "", "sink": "", "config": ""}
    asked = {"rules": "[]", "start": "snapshot", "end_ts": 1, "time_zone": "UTC", "state": "new", "created": 0}
    with meta.writing() as connection:
        connection.execute(insert(tables.subscription).values(fields | asked))


def raise_epoch(meta: MetaDatabase, name: str = NAME) -> int:
    """What a claim does to the fence."""
    mine = tables.subscription.c.name == name
    with meta.writing() as connection:
        connection.execute(update(tables.subscription).where(mine).values(epoch=tables.subscription.c.epoch + 1))
        return int(connection.execute(select(tables.subscription.c.epoch).where(mine)).scalar_one())


def positions(count: int, through_ts: int = 0) -> tuple[RangeProgress, ...]:
    """Ranges of one table, gapless, in the log."""
    keys = [b"" if at in (0, count) else b"k%06d" % at for at in range(count + 1)]
    return tuple(
        RangeProgress(at + 1, 7, 0, keys[at], keys[at + 1], Stage.LOG, 5, 5, b"", at, through_ts) for at in range(count)
    )


def cut_of(number: int, epoch: int = 1, name: str = NAME) -> Cut:
    return Cut(name, epoch, number, "log", (number - 1) * 10, number * 10)


def moved(before: Progress, number: int, *ranges: int) -> Progress:
    """What progress is after cut `number` over some of its ranges (none given: all)."""
    through = tuple(
        replace(each, through_ts=number * 10, last_log_index=each.last_log_index + 1)
        if not ranges or each.range_id in ranges
        else each
        for each in before.ranges
    )
    return replace(before, cut=number, to_ts=number * 10, ranges=through)
