"""The overview: how a server and all subscriptions of its cluster are, as readings of metrics.

What is said of a subscription comes from the meta database, so any server can say it, also of one that is paused,
failed or that nobody carries. Lag is known in every state: it is how far the clock is ahead of what was captured or
delivered, and before the first delivery, how old the subscription is; one that nobody carries falls behind by a second
each second, and one that has finished misses nothing. "The clock" is this server's, against the timestamps of the
upstream, so it is as good as the two agree.

Looking costs one query, made at most every `FRESH_SECONDS`, by a thread of its own. Where it does not answer soon, the
last answer stands and its lags grow, so a database that is away hides nothing. No reading holds more of a subscription
than its name.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, and_, select

from tailrace import __version__
from tailrace.change.tso import Ts, physical_ms
from tailrace.errors import MetaAway, TailraceError
from tailrace.observe import metrics, names
from tailrace.observe.metrics import Meter, Reading
from tailrace.progress.database import MetaDatabase, meta_clock
from tailrace.progress.tables import checkpoint, report, subscription
from tailrace.server.claims import CARRIED
from tailrace.server.service import Service

FRESH_SECONDS = 2.0
PATIENCE_SECONDS = 2.0

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Standing:
    """One subscription as the meta database has it; times are milliseconds. `captured` and `delivered` are where the
    upstream and the sink are."""

    name: str
    state: str
    orphaned: bool
    captured_ms: int
    delivered_ms: int
    ranges_left: int

    def lag(self, reached_ms: int, now: float) -> float:
        return 0.0 if self.state == "finished" else max(0.0, now - reached_ms / 1000)


class Overview:
    """Safe to share between threads. `clock` tells the time of day, `monotonic` how much of it went by."""

    def __init__(
        self,
        meta: MetaDatabase,
        cluster_id: int,
        meter: Meter = metrics.METER,
        clock: Clock = time.time,
        monotonic: Clock = time.monotonic,
    ) -> None:
        self._meta = meta
        self._cluster_id = cluster_id
        self._meter = meter
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="overview")
        self._asked: Future[list[Standing]] | None = None
        self._asked_at = 0.0
        self._found: list[Standing] = []

    def trouble(self) -> TailraceError | None:
        """Why the meta database did not answer when it was last asked; None when it did."""
        return self._look()[1]

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def readings(self) -> Iterator[Reading]:
        (found, trouble), now = self._look(), self._clock()
        yield Reading(names.BUILD, 1, (__version__,))
        yield Reading(names.META_UP, 0 if trouble else 1)
        for state, number in Counter(each.state for each in found).items():
            yield Reading(names.SUBSCRIPTIONS, number, (state,))
        for each in found:
            yield Reading(names.STATE, 1, (each.name, each.state))
            yield Reading(names.ORPHANED, int(each.orphaned), (each.name,))
            yield Reading(names.CAPTURED_LAG, each.lag(each.captured_ms, now), (each.name,))
            yield Reading(names.DELIVERED_LAG, each.lag(each.delivered_ms, now), (each.name,))
            yield Reading(names.SNAPSHOT_RANGES_LEFT, each.ranges_left, (each.name,))

    def _look(self) -> tuple[list[Standing], TailraceError | None]:
        """The newest answer that there is, and why there is no fresh one."""
        with self._lock:
            now = self._monotonic()
            if self._asked is None or (self._asked.done() and now - self._asked_at >= FRESH_SECONDS):
                self._asked, self._asked_at = self._pool.submit(self._ask), now
            asked = self._asked
        try:
            self._found = asked.result(PATIENCE_SECONDS)
        except TailraceError as error:
            return self._found, error
        except TimeoutError:
            return self._found, MetaAway(f"the meta database has not answered within {PATIENCE_SECONDS:.0f} s")
        return self._found, None

    def _ask(self) -> list[Standing]:
        of = subscription.c
        joined = subscription.outerjoin(
            checkpoint, and_(checkpoint.c.cluster_id == of.cluster_id, checkpoint.c.subscribe_name == of.name)
        ).outerjoin(report, and_(report.c.cluster_id == of.cluster_id, report.c.subscribe_name == of.name))
        held = and_(of.owner != "", of.lease_until > meta_clock()).label("held")
        columns = (of.name, of.state, of.start, of.created, checkpoint.c.to_ts, report.c.report, held)
        chosen = select(*columns).select_from(joined)
        mine = and_(of.cluster_id == self._cluster_id, of.state != "cancelled")
        with self._meta.reading() as connection:
            rows = connection.execute(chosen.where(mine).order_by(of.created, of.name)).all()
        self._meter.keep({row.name for row in rows})
        return [_standing(row) for row in rows]


def service_readings(service: Service, monotonic: Clock = time.monotonic) -> Iterator[Reading]:
    """What this server holds, and whether it works."""
    held = service.held.values()
    yield Reading(names.CLAIMS_HELD, len(held))
    if held:
        yield Reading(names.LEASE_LEFT, max(0.0, min(claim.until for claim in held) - monotonic()))
    yield Reading(names.ROUND_AGE, service.round_age)


def _standing(row: Row[Any]) -> Standing:
    said = json.loads(row.report) if row.report else {}
    # Progress that only time has made is saved now and then; its report comes each second.
    durable = max(row.to_ts or 0, said.get("to_ts", 0))
    delivered = _reached_ms(durable) or _reached_ms(int(row.start) if row.start.isdigit() else 0) or row.created
    return Standing(
        name=row.name,
        state=row.state,
        orphaned=row.state in CARRIED and not row.held,
        captured_ms=max(delivered, _reached_ms(said.get("resolved_ts", 0))),
        delivered_ms=delivered,
        ranges_left=said.get("snapshot_ranges_left", 0),
    )


def _reached_ms(ts: Ts) -> int:
    return physical_ms(ts) if ts else 0
