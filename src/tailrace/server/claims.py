"""Claims: which server carries a subscription. A lease on `owner`, and an epoch that every claim raises.

Time is the meta database's clock for all servers. A holder does not read it: it counts its own monotonic clock from
*before* the request that gave it the lease, and begins nothing after two thirds of it. So, as long as two clocks do
not drift apart by a third, it has stopped beginning before anybody else can claim. That is for what cannot be fenced;
what can (progress, namings) is safe by the epoch alone (`progress.ledger`), whatever the clocks do.

A claim, a renewal and a release are one UPDATE each, whose condition is checked by the database in the same statement;
so of two servers that want a subscription one gets it, and who lost it renews nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, and_, or_, select, update

from tailrace.observe.failpoints import reach
from tailrace.progress.database import MetaDatabase, meta_clock
from tailrace.progress.tables import subscribe, subscription

CARRIED = ("new", "snapshot", "normal", "warning", "cancelling")
SAFE_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Claim:
    """A subscription that is held under `epoch`. Nothing may be begun after `until` (monotonic seconds)."""

    subscription: str
    epoch: int
    until: float


class Claims:
    """The claims of one server. For one thread, but for `held` and `overdue`, which any thread may ask."""

    def __init__(
        self,
        meta: MetaDatabase,
        cluster_id: int,
        owner: str,
        lease_seconds: float = 10.0,
        now: ColumnElement[int] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._meta = meta
        self._cluster_id = cluster_id
        self._owner = owner
        self._lease_seconds = lease_seconds
        self._now = meta_clock() if now is None else now
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._held: dict[str, Claim] = {}
        self._renewed = -lease_seconds

    @property
    def held(self) -> dict[str, Claim]:
        with self._lock:
            return dict(self._held)

    def take(self, but: Container[str] = ()) -> list[Claim]:
        """Claim every subscription that nobody holds, but for some."""
        with self._meta.reading() as connection:
            names = connection.execute(select(subscription.c.name).where(self._free())).scalars().all()
        found = [self.claim(name) for name in names if name not in but]
        return [claim for claim in found if claim is not None]

    def claim(self, name: str) -> Claim | None:
        """Become the owner and raise the epoch; None when somebody holds it, or it is not to be carried."""
        before = self._monotonic()
        taken = {"owner": self._owner, "epoch": subscription.c.epoch + 1, "lease_until": self._lease_end()}
        with self._meta.writing() as connection:
            if (
                connection.execute(update(subscription).where(self._row(name), self._free()).values(taken)).rowcount
                != 1
            ):
                return None
            epoch = connection.execute(select(subscription.c.epoch).where(self._row(name))).scalar_one()
            connection.execute(update(subscribe).where(self._tables(name)).values(owner=self._owner))
        claim = Claim(name, epoch, self._until(before))
        with self._lock:
            self._held[name] = claim
        return claim

    def renew(self) -> list[Claim]:
        """Hold on to what is held, once in a third of the lease; returns what was lost, which must stop at once."""
        before = self._monotonic()
        if not self._held or before < self._renewed + self._lease_seconds / 3:
            return []
        mine = and_(subscription.c.cluster_id == self._cluster_id, subscription.c.owner == self._owner)
        asked = list(self.held.values())
        reach("before-renew")
        mine = and_(mine, subscription.c.name.in_([claim.subscription for claim in asked]))
        with self._meta.writing() as connection:
            connection.execute(update(subscription).where(mine).values(lease_until=self._lease_end()))
            kept = connection.execute(select(subscription.c.name, subscription.c.epoch).where(mine)).all()
        epochs = {row.name: row.epoch for row in kept}
        reach("after-renew")
        with self._lock:
            # What `overdue` gave up meanwhile stays given up, though its lease was extended.
            asked = [claim for claim in asked if self._held.get(claim.subscription) == claim]
            lost = [claim for claim in asked if epochs.get(claim.subscription) != claim.epoch]
            for claim in asked:
                self._held[claim.subscription] = replace(claim, until=self._until(before))
            for claim in lost:
                del self._held[claim.subscription]
        self._renewed = before
        return lost

    def overdue(self) -> list[Claim]:
        """Give up, and return, what may not go on because it could not be renewed in time. Asks no database."""
        with self._lock:
            late = [claim for claim in self._held.values() if self._monotonic() >= claim.until]
            for claim in late:
                del self._held[claim.subscription]
        return late

    def release(self, name: str) -> None:
        """Let the next server have it at once. Only after everything done for it has stopped."""
        with self._lock:
            claim = self._held.pop(name, None)
        if claim is None:
            return
        mine = and_(self._row(name), subscription.c.owner == self._owner, subscription.c.epoch == claim.epoch)
        with self._meta.writing() as connection:
            if connection.execute(update(subscription).where(mine).values(owner="", lease_until=0)).rowcount == 1:
                connection.execute(update(subscribe).where(self._tables(name)).values(owner=""))

    def _row(self, name: str) -> ColumnElement[bool]:
        return and_(subscription.c.cluster_id == self._cluster_id, subscription.c.name == name)

    def _tables(self, name: str) -> ColumnElement[bool]:
        return and_(subscribe.c.cluster_id == self._cluster_id, subscribe.c.subscribe_name == name)

    def _free(self) -> ColumnElement[bool]:
        unheld = or_(subscription.c.owner == "", subscription.c.lease_until <= self._now)
        return and_(subscription.c.cluster_id == self._cluster_id, subscription.c.state.in_(CARRIED), unheld)

    def _lease_end(self) -> ColumnElement[int]:
        return self._now + int(self._lease_seconds * 1000)

    def _until(self, before: float) -> float:
        return before + self._lease_seconds * SAFE_SHARE
