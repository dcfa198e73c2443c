"""Durations are Go's, and their text says the same again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.config.duration import duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5), ("1m30s", 90), ("1h", 3600), ("100ms", 0.1), ("1.5h", 5400), ("-10s", -10), ("0", 0), (".5s", 0.5)],
)
def test_a_duration_is_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "1d", "5s ", "five", "1m-30s", "--5s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)


@given(st.integers(-(10**12), 10**12))
def test_a_duration_survives_its_text(microseconds: int) -> None:
    assert parse_duration(duration_text(microseconds / 1e6)) == pytest.approx(microseconds / 1e6, abs=1e-6)
