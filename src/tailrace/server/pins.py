"""Pins: letting go of the history that a subscription held in its upstream, when no pipeline carries it any more."""

from __future__ import annotations

from tailrace.change.tso import MAX_TS
from tailrace.upstream.base import TableRules, Upstream


def release_pins(upstream: Upstream, rules: TableRules, subscriber: str) -> None:
    """Remove a subscriber from every range of every table that matches; harmless where it is not known."""
    for table in upstream.tables(rules, upstream.now()):
        for route in upstream.routes(table):
            upstream.release(route, subscriber, MAX_TS)
