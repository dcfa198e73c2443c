"""TIMESTAMP must move between UTC and a wall clock as the zone's own rules say."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tailrace.errors import ConfigError
from tailrace.upstream.rowcodec.cells import BadCell
from tailrace.upstream.rowcodec.zones import zone_of

ZONES = ["Asia/Shanghai", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Gaza"]


def seconds(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=UTC).timestamp())  # type: ignore[misc, arg-type]


@pytest.mark.parametrize("name", ZONES)
def test_wall_clocks_are_those_of_the_zone(name: str) -> None:
    moments = np.random.default_rng(3).integers(86_400, (1 << 31) - 86_400, 3000)
    want = [int(datetime.fromtimestamp(int(at), ZoneInfo(name)).replace(tzinfo=UTC).timestamp()) for at in moments]
    zone = zone_of(name)
    assert zone.from_utc(moments).tolist() == want
    back = zone.to_utc(np.array(want))
    assert zone.from_utc(back).tolist() == want


@pytest.mark.parametrize("name", ZONES)
def test_offsets_change_at_the_second_that_they_change(name: str) -> None:
    zone = zone_of(name)
    for start, offset in zip(zone.starts[1:].tolist(), zone.offsets[1:].tolist(), strict=True):
        at = [datetime.fromtimestamp(second, ZoneInfo(name)).utcoffset() for second in (start - 1, start)]
        assert at[0] != at[1]
        assert at[1] is not None
        assert at[1].total_seconds() == offset


def test_fixed_offsets_and_utc() -> None:
    assert zone_of("+05:30").from_utc(np.array([0])).tolist() == [19_800]
    assert zone_of("-3:00").to_utc(np.array([0])).tolist() == [10_800]
    assert zone_of("UTC").to_utc(np.array([5])).tolist() == [5]


def test_a_wall_clock_that_a_zone_skips_is_refused_and_one_shown_twice_is_a_moment_that_shows_it() -> None:
    zone = zone_of("America/New_York")
    with pytest.raises(BadCell, match="skips"):
        zone.to_utc(np.array([seconds(2021, 3, 14, 2, 30)]))
    twice = zone.to_utc(np.array([seconds(2021, 11, 7, 1, 30)]))
    assert twice.tolist()[0] in (seconds(2021, 11, 7, 5, 30), seconds(2021, 11, 7, 6, 30))


def test_an_unknown_zone_is_an_error_of_the_configuration() -> None:
    for name in ("Mars/Olympus", "+25", "", "../etc/passwd"):
        with pytest.raises(ConfigError, match="no time zone"):
            zone_of(name)
