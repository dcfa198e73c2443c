"""Who is proven, and what is held against whom."""

from __future__ import annotations

import pytest

from tailrace.errors import (
    MetaAway,
    Overdue,
    SinkAway,
    SinkRefused,
    StaleRoute,
    TailraceError,
    UpstreamAway,
    WorkerLost,
)
from tailrace.pipeline import jobs
from tailrace.pipeline.standing import CUTS_TO_TRUST_AGAIN, Standing, is_held_against
from tailrace.store import clients
from tailrace.upstream.dataserver import wire


def test_a_new_one_is_proven_by_its_first_good_cut() -> None:
    standing = Standing()
    assert not standing.proven
    standing.went_well()
    assert standing.proven


def test_a_suspect_is_trusted_again_after_several_in_a_row() -> None:
    standing = Standing("proven")
    standing.went_wrong()
    for _ in range(CUTS_TO_TRUST_AGAIN - 1):
        standing.went_well()
        assert standing.company == "suspect"
    standing.went_wrong()
    assert standing.failures == 1
    for _ in range(CUTS_TO_TRUST_AGAIN):
        assert standing.company == "suspect"
        standing.went_well()
    assert standing.proven and standing.failures == 0


@pytest.mark.parametrize("error", [SinkAway("x"), SinkRefused("x"), WorkerLost("x"), Overdue("x"), ValueError("x")])
def test_what_a_sink_or_a_worker_does_makes_a_suspect(error: Exception) -> None:
    assert is_held_against(error)


@pytest.mark.parametrize("error", [UpstreamAway("x"), StaleRoute("x"), MetaAway("x")])
def test_what_meets_all_at_once_is_held_against_nobody(error: TailraceError) -> None:
    assert not is_held_against(error)


def test_every_call_to_the_outside_ends_before_its_piece() -> None:
    assert jobs.PATIENCE["alone"] > wire.CALL_SECONDS
    assert jobs.PATIENCE["alone"] > clients._REQUEST_SECONDS
