"""What a worker process keeps from job to job: opened upstreams, sinks and sieves, one for each spec.

Equal specs share one object, so connections, schemas and encoders live as long as the process; what is opened here
must mend its own connections. Nothing here knows a piece.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from tailrace import plugins
from tailrace.pipeline.sieve import Sieve, open_sieve
from tailrace.sink.base import Sink, SinkSpec
from tailrace.upstream.base import Upstream, UpstreamSpec

Spec = TypeVar("Spec", bound=Hashable)
Opened = TypeVar("Opened")


class Shelf(Generic[Spec, Opened]):
    """Opens each spec once; thread-safe, and two specs can be opened at the same time."""

    def __init__(self, opener: Callable[[Spec], Opened]) -> None:
        self._opener = opener
        self._lock = threading.Lock()
        self._opening: dict[Spec, threading.Lock] = {}
        self._opened: dict[Spec, Opened] = {}

    def get(self, spec: Spec) -> Opened:
        with self._lock:
            if spec in self._opened:
                return self._opened[spec]
            mine = self._opening.setdefault(spec, threading.Lock())
        with mine:
            found = self._opened.get(spec)
            if found is None:
                found = self._opened[spec] = self._opener(spec)
            return found


upstreams: Shelf[UpstreamSpec, Upstream] = Shelf(lambda spec: plugins.open_upstream(spec))
sieves: Shelf[SinkSpec, Sieve] = Shelf(open_sieve)
sinks: Shelf[SinkSpec, Sink] = Shelf(lambda spec: plugins.open_sink(spec))
