"""The rows of one subscription in the meta database: how positions, plans and namings are written and read.

The ledger's hands: nobody else may import this. It knows columns, not rules; whoever calls a method that writes has
passed the fence in the same transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    select,
    update,
)

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.progress.cut import Cut
from tailrace.progress.plan import Difference, in_order
from tailrace.progress.position import Progress, RangeProgress, Stage, listed_fields, listed_of
from tailrace.progress.tables import checkpoint, naming, progress, subscribe, subscription


def _stand(each: RangeProgress) -> dict[str, int | bytes | str | None]:
    """What of a row moves with progress."""
    return {
        "progress_stage": int(each.stage),
        "progress_current_snapshot_version": each.current_snapshot_version,
        "progress_last_snapshot_key": each.last_snapshot_key,
        "progress_last_log_index": each.last_log_index,
        "through_ts": each.through_ts,
        "intervals": json.dumps(listed_fields(each.listed), separators=(",", ":")) if each.listed else None,
    }


def _of(table: Table) -> ColumnElement[bool]:
    """A subscription's rows of a table, by parameters."""
    return and_(table.c.cluster_id == bindparam("of_cluster"), table.c.subscribe_name == bindparam("of"))


# Built once: every cut passes here several times.
_CHECKPOINT = select(checkpoint).where(_of(checkpoint))
_NAMING = select(naming).where(_of(naming))
_MOVE = update(checkpoint).where(_of(checkpoint)).values(cut=bindparam("at"), to_ts=bindparam("upto"))
_RANGE = and_(_of(progress), progress.c.range_id == bindparam("id"))
_LEAVE_RANGE = delete(progress).where(_RANGE)
_MOVE_RANGE = update(progress).where(_RANGE).values({name: bindparam(name) for name in _stand(RangeProgress(0, 0))})
_BEGIN = insert(naming)
_NAME = update(naming).where(_of(naming)).values(naming=bindparam("text"))
_FORGET = delete(naming).where(_of(naming))


@dataclass(frozen=True, slots=True)
class Begun:
    """A cut that was begun: its plan as it was written, and its naming once that is saved."""

    cut: Cut
    plan: str
    naming: str | None


class Rows:
    """One subscription's rows, through one open transaction."""

    def __init__(self, connection: Connection, cluster_id: int, subscription: str) -> None:
        self._connection = connection
        self._key = {"cluster_id": cluster_id, "subscribe_name": subscription}
        self._me = {"of_cluster": cluster_id, "of": subscription}
        self._subscription = subscription

    def progress(self) -> Progress | None:
        head = self._connection.execute(_CHECKPOINT, self._me).first()
        if head is None:
            return None
        rows = self._connection.execute(select(progress).where(self._mine(progress)))
        return in_order(Progress(self._subscription, head.cut, head.to_ts, tuple(map(_position, rows))))

    def last_cut(self) -> int:
        head = self._connection.execute(_CHECKPOINT, self._me).first()
        return head.cut if head else 0

    def move(self, step: Difference, base: Progress | None) -> None:
        """Make the rows what they are after `step`; only rows that change are touched."""
        if base is None:
            self._connection.execute(insert(checkpoint), self._key | {"cut": step.cut, "to_ts": step.to_ts})
        else:
            self._connection.execute(_MOVE, self._me | {"at": step.cut, "upto": step.to_ts})
        if not step.changed and not step.gone:
            return
        known = base.by_range() if base else {}
        moved = [each for each in step.changed if _same_keys(each, known.get(each.range_id))]
        fresh = [each for each in step.changed if not _same_keys(each, known.get(each.range_id))]
        gone = [*step.gone, *(each.range_id for each in fresh if each.range_id in known)]
        if gone:
            self._connection.execute(_LEAVE_RANGE, [self._me | {"id": range_id} for range_id in gone])
        if moved:
            changes = [self._me | _stand(each) | {"id": each.range_id} for each in moved]
            self._connection.execute(_MOVE_RANGE, changes)
        if fresh:
            names = self._table_names()
            rows = [self._key | _ground(each, names) | _stand(each) for each in fresh]
            self._connection.execute(insert(progress), rows)

    def begun(self) -> Begun | None:
        row = self._connection.execute(_NAMING, self._me).first()
        if row is None:
            return None
        cut = Cut(self._subscription, row.epoch, row.cut, row.phase, row.from_ts, row.to_ts)
        return Begun(cut, row.after, row.naming)

    def begin(self, cut: Cut, plan: str) -> None:
        numbers = {"cut": cut.number, "epoch": cut.epoch, "from_ts": cut.from_ts, "to_ts": cut.to_ts}
        texts = {"phase": cut.phase, "after": plan, "naming": None}
        self._connection.execute(_BEGIN, self._key | numbers | texts)

    def name(self, text: str) -> None:
        self._connection.execute(_NAME, self._me | {"text": text})

    def forget(self) -> None:
        self._connection.execute(_FORGET, self._me)

    def clear(self) -> None:
        """Nothing is left but the subscription's own rows."""
        for table in (progress, checkpoint, naming):
            self._connection.execute(delete(table).where(self._mine(table)))

    def name_tables(self, listed: Sequence[TableSchema]) -> None:
        """One `subscribe` row for each table; positions of ranges bear the tables' names of now."""
        like = self._connection.execute(select(subscribe).where(self._mine(subscribe)).limit(1)).first()
        shared = {name: getattr(like, name) for name in ("master_addrs", "sink", "cancel", "owner")} if like else {}
        shared = shared or {"master_addrs": "", "sink": "", "cancel": 0, "owner": ""}
        before, after = self._table_names(), {each.table_id: (each.schema, each.name) for each in listed}
        # Only what changed, and all that goes before any that comes: tables may exchange their names.
        gone = [names for table_id, names in before.items() if after.get(table_id) != names]
        new = {table_id: names for table_id, names in sorted(after.items()) if before.get(table_id) != names}
        if gone:
            names = and_(subscribe.c.db_name == bindparam("db"), subscribe.c.table_name == bindparam("tbl"))
            of_names = delete(subscribe).where(self._mine(subscribe), names)
            self._connection.execute(of_names, [{"db": schema, "tbl": table} for schema, table in gone])
        if new:
            rows = [self._key | shared | _named(names) | {"table_id": table_id} for table_id, names in new.items()]
            self._connection.execute(insert(subscribe), rows)
        for table_id, names_now in new.items():
            of_table = and_(self._mine(progress), progress.c.table_id == table_id)
            self._connection.execute(update(progress).where(of_table).values(_named(names_now)))

    def _table_names(self) -> dict[int, tuple[str, str]]:
        columns = (subscribe.c.table_id, subscribe.c.db_name, subscribe.c.table_name)
        rows = self._connection.execute(select(*columns).where(self._mine(subscribe)))
        return {row.table_id: (row.db_name, row.table_name) for row in rows}

    def _mine(self, table: Table) -> ColumnElement[bool]:
        return and_(*(table.c[name] == value for name, value in self._key.items()))


def move_time(connection: Connection, cluster_id: int, standing: Sequence[tuple[int, Progress]]) -> dict[str, Ts]:
    """Raise `to_ts` of each (epoch, progress) that is still the newest epoch's and between two cuts; returns where
    each stands then. The fences were passed in the same transaction."""
    owned = and_(
        subscription.c.cluster_id == cluster_id,
        subscription.c.name == bindparam("of"),
        subscription.c.epoch == bindparam("under"),
    )
    begun = and_(naming.c.cluster_id == cluster_id, naming.c.subscribe_name == bindparam("of"))
    one = and_(checkpoint.c.cluster_id == cluster_id, checkpoint.c.subscribe_name == bindparam("of"))
    still = and_(one, checkpoint.c.cut == bindparam("at"), checkpoint.c.to_ts < bindparam("upto"))
    moved = update(checkpoint).where(still, exists().where(owned), ~exists().where(begun))
    rows = [{"of": p.subscription, "under": epoch, "at": p.cut, "upto": p.to_ts} for epoch, p in standing]
    connection.execute(moved.values(to_ts=bindparam("upto")), rows)
    chosen = select(checkpoint.c.subscribe_name, checkpoint.c.to_ts).where(checkpoint.c.cluster_id == cluster_id)
    names = {progress.subscription for _, progress in standing}
    return {row.subscribe_name: row.to_ts for row in connection.execute(chosen) if row.subscribe_name in names}


def _same_keys(one: RangeProgress, other: RangeProgress | None) -> bool:
    """Whether only where the range stands differs, so that its row can be moved rather than made anew."""
    return other is not None and _ground(one, {}) == _ground(other, {})


def _ground(each: RangeProgress, names: dict[int, tuple[str, str]]) -> dict[str, str | int | bytes]:
    """What of a row stays for as long as the range is what it is."""
    return _named(names.get(each.table_id, ("", f"#{each.table_id}"))) | {
        "range_id": each.range_id,
        "table_id": each.table_id,
        "partition_id": each.partition_id,
        "start_key": each.start,
        "end_key": each.end,
        "progress_init_snapshot_version": each.init_snapshot_version,
    }


def _named(names: tuple[str, str]) -> dict[str, str | int | bytes]:
    return {"db_name": names[0], "table_name": names[1]}


def _position(row: Row[Any]) -> RangeProgress:
    return RangeProgress(
        range_id=row.range_id,
        table_id=row.table_id,
        partition_id=row.partition_id,
        start=bytes(row.start_key),
        end=bytes(row.end_key),
        stage=Stage(row.progress_stage),
        init_snapshot_version=row.progress_init_snapshot_version,
        current_snapshot_version=row.progress_current_snapshot_version,
        last_snapshot_key=bytes(row.progress_last_snapshot_key),
        last_log_index=row.progress_last_log_index,
        through_ts=row.through_ts,
        listed=listed_of(json.loads(row.intervals)) if row.intervals else (),
    )
