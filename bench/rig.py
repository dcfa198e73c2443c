"""The rig of the benches that run everything: a server in this process, beside real data servers.

The server is the one of `tailrace server`: the same service, ledger and conductor, with Spark in its default form.
Only the way in is shorter: subscriptions are made by a call instead of over gRPC.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.change.tso import Ts
from tailrace.errors import TailraceError
from tailrace.pipeline.assignment import Listener
from tailrace.pipeline.conductor import Conductor
from tailrace.pipeline.job import SparkRunner
from tailrace.pipeline.session import SessionOptions
from tailrace.pipeline.tally import Tally
from tailrace.progress.database import open_meta
from tailrace.progress.ledger import Ledger
from tailrace.server.requests import SubscribeRequest
from tailrace.server.service import Service, ServiceOptions
from tailrace.server.subscriptions import Subscriptions

WAIT_SECONDS = 600.0
STATUS_SECONDS = 1.0


class Rig:
    def __init__(self, subscriptions: Subscriptions, conductor: Conductor, upstream: str) -> None:
        self._subscriptions = subscriptions
        self._conductor = conductor
        self._upstream = upstream
        self._seen: dict[str, Tally] = {}

    def subscribe(self, name: str, sink: str, rules: tuple[str, ...], start: str = "snapshot", end: int = 0) -> None:
        request = SubscribeRequest(
            name, self._upstream, sink, rules=rules, start=start, end=str(end) if end else "", time_zone="UTC"
        )
        self._subscriptions.subscribe(request)

    def tally(self, name: str) -> Tally:
        """What a subscription has moved, also after it has finished and is carried no more."""
        try:
            self._seen[name] = self._conductor.tally(name)
        except KeyError:
            if name not in self._seen:
                raise
        return self._seen[name]

    def wait(self, name: str, to_ts: Ts) -> float:
        """Seconds until everything up to a ts is durable; raises what the subscription failed of."""
        begun = asked = time.perf_counter()
        while True:
            try:
                if self.tally(name).report.to_ts >= to_ts:
                    return time.perf_counter() - begun
            except KeyError:
                pass  # not claimed yet
            now = time.perf_counter()
            # A status costs milliseconds, which would be taken from what is measured.
            if now - asked > STATUS_SECONDS:
                asked = now
                record = self._subscriptions.status(name).subscription
                if record.state == "failed" and record.error is not None:
                    raise record.error
            if now - begun > WAIT_SECONDS:
                raise TailraceError(f"{name} is not there after {WAIT_SECONDS:.0f} s: {self.tally(name).report}")
            time.sleep(0.01)

    def cancel(self, name: str) -> None:
        self._subscriptions.cancel(name)


@contextmanager
def rig(folder: Path, upstream: str, options: SessionOptions | None = None) -> Iterator[Rig]:
    """A server with a new meta database in the folder; Spark is warm when the block begins."""
    folder.mkdir(parents=True, exist_ok=True)
    meta = open_meta(f"sqlite:///{folder}/meta.db")
    runner = SparkRunner(options or SessionOptions())
    runner.open()
    made: list[Conductor] = []

    def make(ledger: Ledger, listener: Listener) -> Conductor:
        made.append(Conductor(runner, ledger, listener))
        return made[0]

    service = Service(meta, ServiceOptions(owner=f"bench:{os.getpid()}", poll_seconds=0.1), make)
    subscriptions = Subscriptions(meta, 1, service.wake)
    service.start()
    try:
        yield Rig(subscriptions, made[0], upstream)
    finally:
        service.stop()
        meta.close()
