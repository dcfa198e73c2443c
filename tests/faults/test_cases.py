"""Which faults are tried: all of them in the long form, others each day in the short one, the same for one seed."""

from __future__ import annotations

import pytest

from tailrace.observe.failpoints import FAILPOINTS
from tests.faults import cases


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TAILRACE_FAULTS", "TAILRACE_FAULTS_SEED"):
        monkeypatch.delenv(name, raising=False)


def test_the_long_form_has_each_point_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAILRACE_FAULTS", "all")
    found = {(case.point, case.way) for case in cases.chosen()}
    assert found == {(point, way) for point in FAILPOINTS for way in cases.ways(point)}
    assert len(found) == len(cases.chosen()) > 100


def test_the_short_form_is_another_one_each_day_and_its_seed_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    today = cases.chosen()
    assert len(today) == cases.SOME
    monkeypatch.setenv("TAILRACE_FAULTS_SEED", str(today[0].seed))
    assert cases.chosen() == today
    tried: set[tuple[str, str]] = set()
    for seed in range(40):
        monkeypatch.setenv("TAILRACE_FAULTS_SEED", str(seed))
        tried |= {(case.point, case.way) for case in cases.chosen()}
    assert {point for point, _ in tried} == set(FAILPOINTS)
    assert {way for _, way in tried} == {"kill", "driver", "whole", "stop"}


def test_every_point_that_has_a_place_of_its_own_exists() -> None:
    named = cases.DDL | cases.CANCEL | cases.IDLE | cases.EARLY | cases.LATE | cases.AFTER.keys() | cases.STORE
    assert named <= set(FAILPOINTS)
    assert not cases.EARLY & cases.LATE
