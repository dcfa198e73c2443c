"""Members: the servers of a cluster that live, so that each knows its share and no two have one name.

A server is known to live until its row's lease runs out, by the meta database's clock, as with claims. It decides
nothing that could go wrong: who carries a subscription is `claims`' matter, whatever stands here. So a table that is
gone is made anew, and a row that is gone is written again.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from sqlalchemy import ColumnElement, and_, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from tailrace.errors import AlreadyExists, MetaAway
from tailrace.observe import names
from tailrace.observe.logs import say
from tailrace.progress.database import MetaDatabase, meta_clock
from tailrace.progress.tables import server

LOOK_SECONDS = 0.2

logger = logging.getLogger(__name__)


class Members:
    """The cluster as one server sees it: `name` is its own, `instance` this start of it."""

    def __init__(
        self,
        meta: MetaDatabase,
        cluster_id: int,
        name: str,
        instance: str,
        lease_seconds: float = 10.0,
        now: ColumnElement[int] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._meta = meta
        self._cluster_id = cluster_id
        self._name = name
        self._instance = instance
        self._lease_seconds = lease_seconds
        self._now = meta_clock() if now is None else now
        self._pause = pause

    def join(self) -> None:
        """Become a member. AlreadyExists when a server of this name lives; one that died is waited for."""
        self._meta.make_missing(server)
        seen, waited = 0, 0.0
        while (until := self._take()) is not None:
            if (seen and until != seen) or waited > 2 * self._lease_seconds:
                raise AlreadyExists(
                    f"a server named {self._name} of cluster {self._cluster_id} lives already; "
                    "give this one another name with --name"
                )
            seen, waited = until, waited + LOOK_SECONDS
            self._pause(LOOK_SECONDS)

    def renew(self) -> int:
        """Say that this server lives; returns how many do. AlreadyExists when another one took the name while this
        one was known to be dead: it must end."""
        try:
            return self._renew()
        except MetaAway:
            if not self._meta.make_missing(server):
                raise
            say(logger, logging.WARNING, names.SERVER_TROUBLED, reason="the table of servers was gone; it is made anew")
            return self._renew()

    def leave(self) -> None:
        with self._meta.writing() as connection:
            connection.execute(delete(server).where(self._mine()))

    def _take(self) -> int | None:
        """Write the own row; None when it is written, else until when another instance holds the name."""
        named = and_(server.c.cluster_id == self._cluster_id, server.c.name == self._name)
        row = {"instance": self._instance, "lease_until": self._lease_end()}
        over = server.c.lease_until <= self._now
        with self._meta.writing() as connection:
            if connection.execute(update(server).where(named, over | self._mine()).values(row)).rowcount:
                return None
            held = connection.execute(select(server.c.lease_until).where(named)).scalar()
            if held is not None:
                return int(held)
        try:
            with self._meta.writing() as connection:
                connection.execute(insert(server).values(row | {"cluster_id": self._cluster_id, "name": self._name}))
            return None
        except IntegrityError:
            return self._take()

    def _renew(self) -> int:
        with self._meta.writing() as connection:
            renewed = connection.execute(update(server).where(self._mine()).values(lease_until=self._lease_end()))
            alive = and_(server.c.cluster_id == self._cluster_id, server.c.lease_until > self._now)
            count = int(connection.execute(select(func.count()).select_from(server).where(alive)).scalar_one())
        if renewed.rowcount:
            return count
        if self._take() is not None:
            raise AlreadyExists(
                f"another server took the name {self._name} of cluster {self._cluster_id} while this one was not heard "
                "of; give one of them another name with --name"
            )
        return count + 1

    def _mine(self) -> ColumnElement[bool]:
        return and_(
            server.c.cluster_id == self._cluster_id, server.c.name == self._name, server.c.instance == self._instance
        )

    def _lease_end(self) -> ColumnElement[int]:
        return self._now + int(self._lease_seconds * 1000)


def share(carried: int, alive: int) -> int:
    """How many of so many subscriptions one of so many servers should carry, at most."""
    return math.ceil(carried / max(alive, 1))
