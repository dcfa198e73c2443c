"""Claims: which server carries a subscription. A lease on `owner`, and an epoch that every claim raises.

Time is the meta database's clock for all servers. A holder does not read it: it counts its own monotonic clock from
*before* the request that gave it the lease, and begins nothing after two thirds of it. So, as long as two clocks do
not drift apart by a third, it has stopped beginning before anybody else can claim. That is for what cannot be fenced;
what can (progress, namings) is safe by the epoch alone (`progress.ledger`), whatever the clocks do.

Claims, renewals and releases are one UPDATE each, whose condition is checked by the database in the same statement; so
of two servers that want a subscription one gets it, and who lost it renews nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from itertools import islice

from sqlalchemy import ColumnElement, and_, bindparam, case, func, or_, select, update

from tailrace.observe.failpoints import reach
from tailrace.progress.database import MetaDatabase, meta_clock
from tailrace.progress.tables import subscribe, subscription

CARRIED = ("new", "snapshot", "normal", "warning", "cancelling")
SAFE_SHARE = 2 / 3
# So many in one transaction: fewer would wait for the disk too often, more would keep other writers waiting.
BATCH = 200


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

    def take(self, but: Container[str] = (), most: int = BATCH) -> list[Claim]:
        """Claim what nobody holds, but for some, and at most so many: in one transaction, so not too many at once."""
        columns = (subscription.c.name, subscription.c.epoch)
        with self._meta.reading() as connection:
            found = connection.execute(select(*columns).where(self._free()).order_by(subscription.c.name)).all()
        held = self.held
        free = {row.name: row.epoch for row in found if row.name not in but and row.name not in held}
        return self._claim(dict(islice(free.items(), max(0, min(most, BATCH)))))

    def claim(self, name: str) -> Claim | None:
        """Become the owner and raise the epoch; None when somebody holds it, or it is not to be carried."""
        with self._meta.reading() as connection:
            before = connection.execute(select(subscription.c.epoch).where(self._rows([name]))).scalar()
        taken = self._claim({name: before}) if before is not None else []
        return taken[0] if taken else None

    def carried(self) -> tuple[int, int]:
        """How many subscriptions there are to carry, by whomever, and how many owners let leases of theirs run out."""
        where = and_(subscription.c.cluster_id == self._cluster_id, subscription.c.state.in_(CARRIED))
        late = and_(subscription.c.owner != "", subscription.c.lease_until <= self._now)
        owners = func.count(case((late, subscription.c.owner)).distinct())
        with self._meta.reading() as connection:
            row = connection.execute(select(func.count(), owners).select_from(subscription).where(where)).one()
        return int(row[0]), int(row[1])

    def _claim(self, epochs: dict[str, int]) -> list[Claim]:
        """Of these, with the epochs that they had a moment ago, what is free still. A row that bears this owner and a
        higher epoch was taken by this very statement: nobody else writes this owner's name."""
        if not epochs:
            return []
        before = self._monotonic()
        values = {"owner": self._owner, "epoch": subscription.c.epoch + 1, "lease_until": self._lease_end()}
        with self._meta.writing() as connection:
            connection.execute(update(subscription).where(self._rows(epochs), self._free()).values(values))
            mine = and_(self._rows(epochs), subscription.c.owner == self._owner)
            rows = connection.execute(select(subscription.c.name, subscription.c.epoch).where(mine)).all()
            taken = {row.name: row.epoch for row in rows if row.epoch > epochs[row.name]}
            if taken:
                connection.execute(update(subscribe).where(self._tables(taken)).values(owner=self._owner))
        claims = [Claim(name, epoch, self._until(before)) for name, epoch in taken.items()]
        with self._lock:
            self._held |= {claim.subscription: claim for claim in claims}
        return claims

    def seize(self, name: str) -> int:
        """Raise the epoch at once, whoever holds the subscription, and return it: whoever held it is fenced.

        For a process that is told to carry one subscription alone. There is no lease, so nothing is to be renewed.
        """
        taken = {"owner": self._owner, "epoch": subscription.c.epoch + 1, "lease_until": 0}
        with self._meta.writing() as connection:
            connection.execute(update(subscription).where(self._rows([name])).values(taken))
            return int(connection.execute(select(subscription.c.epoch).where(self._rows([name]))).scalar_one())

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

    def release(self, *names: str) -> None:
        """Let the next server have them at once. Only after everything done for them has stopped."""
        with self._lock:
            claims = [self._held.pop(name) for name in names if name in self._held]
        if not claims:
            return
        one = and_(
            subscription.c.cluster_id == self._cluster_id,
            subscription.c.name == bindparam("of"),
            subscription.c.owner == self._owner,
            subscription.c.epoch == bindparam("under"),
        )
        rows = [{"of": claim.subscription, "under": claim.epoch} for claim in claims]
        ours = and_(self._tables(claim.subscription for claim in claims), subscribe.c.owner == self._owner)
        with self._meta.writing() as connection:
            connection.execute(update(subscription).where(one).values(owner="", lease_until=0), rows)
            connection.execute(update(subscribe).where(ours).values(owner=""))

    def _rows(self, names: Iterable[str]) -> ColumnElement[bool]:
        return and_(subscription.c.cluster_id == self._cluster_id, subscription.c.name.in_(list(names)))

    def _tables(self, names: Iterable[str]) -> ColumnElement[bool]:
        return and_(subscribe.c.cluster_id == self._cluster_id, subscribe.c.subscribe_name.in_(list(names)))

    def _free(self) -> ColumnElement[bool]:
        unheld = or_(subscription.c.owner == "", subscription.c.lease_until <= self._now)
        return and_(subscription.c.cluster_id == self._cluster_id, subscription.c.state.in_(CARRIED), unheld)

    def _lease_end(self) -> ColumnElement[int]:
        return self._now + int(self._lease_seconds * 1000)

    def _until(self, before: float) -> float:
        return before + self._lease_seconds * SAFE_SHARE
