"""Time zones by the names that users give them. An unknown one is a ConfigError, never the zone of the machine."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from tailrace.errors import ConfigError


def zone_named(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise ConfigError(f"time-zone is {name!r}; it may be a name such as Asia/Shanghai or UTC") from None
