"""A metered runner changes nothing of a job, and counts what it ran, also when it failed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tailrace.errors import SinkAway, WorkerLost
from tailrace.observe.metrics import METER
from tailrace.pipeline.carry import Order
from tailrace.pipeline.job import Terms
from tailrace.pipeline.metering import MeteredRunner
from tailrace.progress.cut import Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec
from tests.observe.shown import samples

TERMS = Terms(3, 1.0)


class Answering:
    slots = 3

    def __init__(self) -> None:
        self.told: list[str] = []
        self.running = 0.0

    def open(self) -> None:
        self.told.append("open")

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        self.running = counted("tailrace_pieces_running")
        if orders[0].piece.subscription == "poison":
            raise WorkerLost("the job died")
        bad = SinkAway("not now").to_fields()
        return [Receipt(0, seconds={"pull": 1.5, "write": 0.5}), Receipt(1, error=bad, seconds={"pull": 1.0})]

    def close(self) -> None:
        self.told.append("close")


def counted(name: str, **labels: str) -> float:
    return samples(METER.exposition()).get((name, tuple(sorted(labels.items()))), 0.0)


def order(name: str, number: int) -> Order:
    piece = Piece(name, 1, 1, number, "log", 7, 0, (), 0, 1)
    return Order(piece, UpstreamSpec("memory://x"), SinkSpec(name, "blackhole://"))


@pytest.fixture(autouse=True)
def _nobody() -> None:
    METER.keep(())
    METER.keep(())


def test_receipts_pass_and_stages_are_counted_by_subscription() -> None:
    runner, times = Answering(), iter([10.0, 10.3])
    errors = counted("tailrace_piece_errors_total", code="TR-4101")
    jobs = counted("tailrace_job_seconds_count", result="done")
    metered = MeteredRunner(runner, lambda: next(times))
    metered.open()
    receipts = metered.run([order("a", 0), order("b", 1)], TERMS)
    metered.close()
    assert [receipt.piece for receipt in receipts] == [0, 1]
    assert (metered.slots, runner.told, runner.running) == (3, ["open", "close"], 2)
    assert counted("tailrace_piece_seconds_total", subscription="a", stage="pull") == 1.5
    assert counted("tailrace_piece_seconds_total", subscription="b", stage="pull") == 1.0
    assert counted("tailrace_piece_errors_total", code="TR-4101") == errors + 1
    assert counted("tailrace_job_seconds_count", result="done") == jobs + 1
    assert counted("tailrace_pieces_running") == counted("tailrace_jobs_running") == 0


def test_a_job_that_fails_whole_is_counted_and_its_error_passes() -> None:
    errors = counted("tailrace_piece_errors_total", code="TR-5101")
    jobs = counted("tailrace_job_seconds_count", result="failed")
    with pytest.raises(WorkerLost, match="the job died"):
        MeteredRunner(Answering()).run([order("poison", 0), order("poison", 1)], TERMS)
    assert counted("tailrace_piece_errors_total", code="TR-5101") == errors + 2
    assert counted("tailrace_job_seconds_count", result="failed") == jobs + 1
    assert counted("tailrace_pieces_running") == counted("tailrace_jobs_running") == 0
