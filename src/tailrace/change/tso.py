"""Timestamps of the TSO: the one place that knows `physical milliseconds << 18 | logical counter`.

A `Ts` is a plain int that fits a signed 64-bit column. This module never reads a clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

Ts = int

LOGICAL_BITS = 18
MAX_TS: Ts = (1 << 63) - 1


def compose(physical_ms: int, logical: int = 0) -> Ts:
    """The timestamp of a wall clock's milliseconds and a counter within them."""
    return physical_ms << LOGICAL_BITS | logical


def physical_ms(ts: Ts) -> int:
    """Milliseconds since 1970 of a timestamp."""
    return ts >> LOGICAL_BITS


def logical(ts: Ts) -> int:
    """The counter within its millisecond."""
    return ts & ((1 << LOGICAL_BITS) - 1)


def moment(ts: Ts, zone: tzinfo = UTC) -> datetime:
    """The wall-clock moment of a timestamp in a time zone."""
    return datetime.fromtimestamp(physical_ms(ts) / 1000, zone)
