"""The fence: only the newest owner of a subscription writes.

A claim raises a subscription's epoch; a writer names the epoch that it was given. `pass_fence` is the first statement
of every writing transaction of `ledger`, and it is itself a write to the subscription's row. So two transactions of
one subscription never overlap (the database lets the second wait for the row), and an older epoch matches no row.
It must never be a SELECT: a row that was only read may change before the transaction ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from sqlalchemy import Connection, and_, bindparam, select, update

from tailrace.errors import Fenced, NotFound
from tailrace.progress.tables import subscription

# Built once: every write of every cut passes here.
_ROW = and_(subscription.c.cluster_id == bindparam("of_cluster"), subscription.c.name == bindparam("of"))
_OWNED = and_(_ROW, subscription.c.epoch == bindparam("under"))
_RAISE = update(subscription).where(_OWNED).values(writes=subscription.c.writes + 1)
_WRITES = select(subscription.c.writes).where(_ROW)
_EPOCH = select(subscription.c.epoch).where(_ROW)


def pass_fence(connection: Connection, cluster_id: int, name: str, epoch: int) -> int:
    """Take the subscription's row for this transaction; returns how many writes have passed, this one included.

    Raises Fenced, and the transaction must end, when `epoch` is not the subscription's.
    """
    place = {"of_cluster": cluster_id, "of": name}
    if connection.execute(_RAISE, place | {"under": epoch}).rowcount != 1:
        _refuse(connection, cluster_id, name, epoch)
    return int(connection.execute(_WRITES, place).scalar_one())


def pass_fences(connection: Connection, cluster_id: int, epochs: Mapping[str, int]) -> None:
    """The same for many subscriptions, in the order of their names. One whose epoch is over is not taken, and whoever
    writes it then must say the epoch again in that statement's condition."""
    rows = [{"of_cluster": cluster_id, "of": name, "under": epochs[name]} for name in sorted(epochs)]
    connection.execute(_RAISE, rows)


def check_epoch(connection: Connection, cluster_id: int, name: str, epoch: int) -> None:
    """Raises Fenced when `epoch` is not the subscription's now. Saves a useless effort; it protects nothing."""
    if connection.execute(_EPOCH, {"of_cluster": cluster_id, "of": name}).scalar() != epoch:
        _refuse(connection, cluster_id, name, epoch)


def _refuse(connection: Connection, cluster_id: int, name: str, epoch: int) -> NoReturn:
    newest = connection.execute(_EPOCH, {"of_cluster": cluster_id, "of": name}).scalar()
    if newest is None:
        raise NotFound("the meta database has no such subscription", subscription=name)
    raise Fenced(f"epoch {epoch} is over, epoch {newest} owns the subscription now", subscription=name)
