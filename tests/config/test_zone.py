"""A zone is the one that was named, or an error that shows the name."""

from __future__ import annotations

import pytest

from tailrace.config import zone_named
from tailrace.errors import ConfigError


def test_a_zone_is_found_by_its_name() -> None:
    assert str(zone_named("Asia/Shanghai")) == "Asia/Shanghai"


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../UTC", "/etc/passwd", "a\0b"])
def test_an_unknown_zone_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(ConfigError, match=r"time-zone is .*may be a name such as"):
        zone_named(name)
