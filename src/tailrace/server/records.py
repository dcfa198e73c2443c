"""Records: the subscriptions of a cluster as rows of the meta database, and as values.

What a row says of owner, epoch and lease is `claims`' to change; where it stands is the ledger's. Here it is made, its
state changes, it is read. A state that an owner reports is only written while its epoch is the newest, and never over
a cancellation. A `Subscription` still bears its secrets: `masked` is what may leave the server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, true, update
from sqlalchemy.exc import IntegrityError

from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.config import masked_uri
from tailrace.errors import AlreadyExists, NotFound, TailraceError, from_fields
from tailrace.pipeline.assignment import Assignment
from tailrace.pipeline.assignment import State as CarrierState
from tailrace.progress.database import MetaDatabase, meta_clock
from tailrace.progress.tables import checkpoint, report, subscribe, subscription
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec

State = CarrierState | Literal["new", "cancelling", "cancelled"]


@dataclass(frozen=True, slots=True)
class Subscription:
    """One subscription: what was asked for, who carries it, and how it is."""

    name: str
    upstream: str
    sink: str
    config: str
    rules: tuple[str, ...]
    case_sensitive: bool
    start: str
    end_ts: Ts
    time_zone: str
    tables: tuple[str, ...] = ()
    state: State = "new"
    error: TailraceError | None = None
    owner: str = ""
    epoch: int = 0
    created_ms: int = 0
    cut: int = 0
    checkpoint_ts: Ts = 0

    def masked(self) -> Subscription:
        return replace(self, upstream=masked_uri(self.upstream), sink=masked_uri(self.sink), config="")

    def assignment(self, epoch: int) -> Assignment:
        return Assignment(
            subscription=self.name,
            epoch=epoch,
            upstream=self.upstream_spec,
            sink=SinkSpec(self.name, self.sink, self.config, self.time_zone),
            rules=self.rules,
            case_sensitive=self.case_sensitive,
            start=self.start,
            end_ts=self.end_ts,
        )

    @property
    def upstream_spec(self) -> UpstreamSpec:
        return UpstreamSpec(self.upstream, self.time_zone)


class Records:
    """The subscriptions of one cluster. Safe to share between threads."""

    def __init__(self, meta: MetaDatabase, cluster_id: int) -> None:
        self._meta = meta
        self._cluster_id = cluster_id

    def add(self, made: Subscription, tables: Sequence[TableSchema]) -> None:
        """Make the rows, all or none; AlreadyExists where the name is taken. A cancelled one's name is free again,
        and its epoch goes on, so that nothing of the old owners passes for the new one's."""
        fields = {
            "upstream": made.upstream,
            "sink": made.sink,
            "config": made.config,
            "rules": json.dumps(made.rules),
            "case_sensitive": int(made.case_sensitive),
            "start": made.start,
            "end_ts": made.end_ts,
            "time_zone": made.time_zone,
            "state": "new",
            "error": "",
            "created": meta_clock(),
        }
        with self._meta.writing() as connection:
            over = and_(self._named(made.name), subscription.c.state == "cancelled")
            if connection.execute(update(subscription).where(over).values(fields)).rowcount != 1:
                self._insert(connection, made.name, fields)
            key = {"cluster_id": self._cluster_id, "subscribe_name": made.name}
            for table in (subscribe, report):
                connection.execute(delete(table).where(_mine(table.c, key)))
            connection.execute(insert(report).values(key | {"made": 0, "report": ""}))
            rows = [key | _table_fields(each, made) for each in tables]
            if rows:
                connection.execute(insert(subscribe), rows)

    def get(self, name: str) -> Subscription:
        """Raises NotFound with the names that there are."""
        found = self.some([name])
        if not found:
            names = [each.name for each in self.all()][:20]
            raise NotFound(f"there is no subscription of this name; there are: {', '.join(names) or 'none'}").at(
                subscription=name
            )
        return found[0]

    def some(self, names: Sequence[str]) -> list[Subscription]:
        """Those of these names that there are."""
        return self._read(subscribe.c.subscribe_name.in_(names), subscription.c.name.in_(names))

    def all(self) -> list[Subscription]:
        """All subscriptions by name, cancelled ones too."""
        return self._read(true(), true())

    def _read(self, of_tables: ColumnElement[bool], of_rows: ColumnElement[bool]) -> list[Subscription]:
        with self._meta.reading() as connection:
            mine = and_(subscribe.c.cluster_id == self._cluster_id, of_tables)
            named = select(subscribe.c.subscribe_name, subscribe.c.db_name, subscribe.c.table_name).where(mine)
            tables: dict[str, list[str]] = {}
            for row in connection.execute(named):
                tables.setdefault(row.subscribe_name, []).append(f"{row.db_name}.{row.table_name}")
            joined = subscription.outerjoin(
                checkpoint,
                and_(
                    checkpoint.c.cluster_id == subscription.c.cluster_id,
                    checkpoint.c.subscribe_name == subscription.c.name,
                ),
            )
            chosen = select(subscription, checkpoint.c.cut, checkpoint.c.to_ts).select_from(joined)
            rows = connection.execute(chosen.where(subscription.c.cluster_id == self._cluster_id, of_rows)).all()
        return sorted((_subscription(row, tables.get(row.name, [])) for row in rows), key=lambda each: each.name)

    def cancelling(self) -> list[str]:
        """The names that are to be cancelled."""
        where = and_(subscription.c.cluster_id == self._cluster_id, subscription.c.state == "cancelling")
        with self._meta.reading() as connection:
            return list(connection.execute(select(subscription.c.name).where(where)).scalars())

    def cancel(self, name: str) -> None:
        """Ask for the end of a subscription, whatever its state is. Twice is as good as once."""
        live = and_(self._named(name), subscription.c.state.not_in(("cancelling", "cancelled")))
        key = {"cluster_id": self._cluster_id, "subscribe_name": name}
        with self._meta.writing() as connection:
            if connection.execute(update(subscription).where(live).values(state="cancelling")).rowcount == 1:
                connection.execute(update(subscribe).where(_mine(subscribe.c, key)).values(cancel=1))
                return
        self.get(name)

    def set_state(self, name: str, epoch: int, state: State, error: TailraceError | None) -> bool:
        """What its owner says of it; False when it is not the owner any more, or the subscription is cancelled."""
        return self.set_states([(name, epoch, state, error)]) == [True]

    def set_states(self, said: Sequence[tuple[str, int, State, TailraceError | None]]) -> list[bool]:
        """The same for many, in one transaction and in their order."""
        if not said:
            return []
        with self._meta.writing() as connection:
            return [self._set_state(connection, *each) for each in said]

    def _set_state(
        self, connection: Connection, name: str, epoch: int, state: State, error: TailraceError | None
    ) -> bool:
        kept = ("cancelled",) if state == "cancelled" else ("cancelling", "cancelled")
        mine = and_(self._named(name), subscription.c.epoch == epoch, subscription.c.state.not_in(kept))
        said = {"state": state, "error": json.dumps(error.to_fields()) if error else ""}
        return connection.execute(update(subscription).where(mine).values(said)).rowcount == 1

    def _insert(self, connection: Connection, name: str, fields: dict[str, Any]) -> None:
        try:
            connection.execute(insert(subscription).values(fields | {"cluster_id": self._cluster_id, "name": name}))
        except IntegrityError as error:
            taken = "the name is taken: choose another, or cancel that subscription first"
            raise AlreadyExists(taken, subscription=name) from error

    def _named(self, name: str) -> ColumnElement[bool]:
        return and_(subscription.c.cluster_id == self._cluster_id, subscription.c.name == name)


def _mine(columns: Any, key: dict[str, Any]) -> ColumnElement[bool]:
    return and_(*(columns[name] == value for name, value in key.items()))


def _table_fields(table: TableSchema, made: Subscription) -> dict[str, str | int]:
    names: dict[str, str | int] = {"db_name": table.schema, "table_name": table.name, "table_id": table.table_id}
    return names | {"master_addrs": made.upstream, "sink": made.sink}


def _subscription(row: Row[Any], tables: list[str]) -> Subscription:
    return Subscription(
        name=row.name,
        upstream=row.upstream,
        sink=row.sink,
        config=row.config,
        rules=tuple(json.loads(row.rules)),
        case_sensitive=bool(row.case_sensitive),
        start=row.start,
        end_ts=row.end_ts,
        time_zone=row.time_zone,
        tables=tuple(sorted(tables)),
        state=row.state,
        error=from_fields(json.loads(row.error)) if row.error else None,
        owner=row.owner,
        epoch=row.epoch,
        created_ms=row.created,
        cut=row.cut or 0,
        checkpoint_ts=row.to_ts or 0,
    )
