"""Time zones as tables of offsets, so that a column moves between UTC and a wall clock in a few kernels.

A table covers the years of TIMESTAMP, 1970 to 2038. Where a wall clock shows a time twice, the choice is Go's, so that
TiDB stores the same moment; a wall-clock time that a zone skips is an error, as it is in TiDB.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from tailrace.errors import ConfigError
from tailrace.upstream.rowcodec.cells import Ints, check

FIRST, LAST = 0, (1 << 31) - 1
_DAY = 86_400
_OFFSET = re.compile(r"([+-])(\d{1,2}):?(\d{2})")


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """From `starts[i]` on (seconds of UTC) the wall clock is `offsets[i]` seconds ahead."""

    name: str
    starts: Ints
    offsets: Ints

    def from_utc(self, seconds: Ints) -> Ints:
        inside = (seconds >= FIRST) & (seconds <= LAST)
        check(inside, lambda i: f"{seconds[i]} seconds since 1970 is outside of TIMESTAMP")
        return seconds + self.offsets[self._at(seconds)]

    def to_utc(self, wall: Ints) -> Ints:
        guess = self._at(wall)
        utc = wall - self.offsets[guess]
        again = self._at(utc)
        utc = np.where(again == guess, utc, wall - self.offsets[again])
        check((utc >= FIRST) & (utc <= LAST), lambda i: f"{wall[i]} seconds since 1970 is outside of TIMESTAMP")
        shown = utc + self.offsets[self._at(utc)]
        check(shown == wall, lambda i: f"the wall clock of {self.name} skips {wall[i]} seconds since 1970")
        return utc

    def _at(self, seconds: Ints) -> Ints:
        return np.searchsorted(self.starts, seconds, side="right") - 1


@lru_cache(maxsize=64)
def zone_of(name: str) -> Zone:
    """The zone of an IANA name or an offset such as +08:00."""
    zone = _parse(name)
    starts, offsets = [-(1 << 62)], [_offset(zone, FIRST)]
    for day in range(FIRST, LAST + 2 * _DAY, _DAY):
        ahead = _offset(zone, day)
        if ahead != offsets[-1]:
            starts.append(_change(zone, day - _DAY, day))
            offsets.append(ahead)
    return Zone(name, np.array(starts, np.int64), np.array(offsets, np.int64))


def _parse(name: str) -> tzinfo:
    if name.upper() == "UTC":
        return UTC
    found = _OFFSET.fullmatch(name)
    try:
        if found:
            ahead = timedelta(hours=int(found[2]), minutes=int(found[3]))
            return timezone(-ahead if found[1] == "-" else ahead)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(f"no time zone {name!r}: it may be an IANA name or an offset such as +08:00") from error


def _offset(zone: tzinfo, seconds: int) -> int:
    ahead = datetime.fromtimestamp(seconds, zone).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())


def _change(zone: tzinfo, before: int, after: int) -> int:
    """The second in (before, after] from which on the offset is another."""
    old = _offset(zone, before)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(zone, middle) == old:
            before = middle
        else:
            after = middle
    return after
