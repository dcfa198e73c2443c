"""Jobs on a real Spark: receipts come back in order, a failed piece fails nobody else, a killed worker is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailrace.pipeline.carry import Order
from tailrace.pipeline.job import LocalRunner, Runner, SparkRunner, Terms
from tailrace.pipeline.session import SessionOptions
from tailrace.progress.cut import Piece
from tailrace.sink.base import SinkSpec
from tailrace.testing.services import connection
from tailrace.upstream.base import UpstreamSpec

NOWHERE = UpstreamSpec("nowhere://x")
EMPTY = UpstreamSpec("memory://empty")
TERMS = Terms(slots=2, patience=30.0)


def order(number: int, upstream: UpstreamSpec = EMPTY) -> Order:
    piece = Piece("s", 1, 1, number, "log", 7, 0, (), 1, 2)
    return Order(piece, upstream, SinkSpec("s", "blackhole://"))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a file once a worker was killed."""
    return tmp_path_factory.mktemp("killed")


CLUSTER = pytest.param("cluster", marks=[pytest.mark.spark, pytest.mark.service("spark")])


@pytest.fixture(scope="module", params=["local", pytest.param("spark", marks=pytest.mark.spark), CLUSTER])
def runner(request: pytest.FixtureRequest, killed: Path) -> Iterator[Runner]:
    # The session's workers are given this environment: the first of them to pass the point is killed there, once.
    there = killed / request.param
    there.mkdir()
    environment = {"TAILRACE_FAILPOINT": "piece-closed=kill", "TAILRACE_FAILPOINT_DIR": str(there)}
    made: Runner = LocalRunner()
    if request.param != "local":
        master = "local[2,4]" if request.param == "spark" else connection("spark").master
        made = SparkRunner(SessionOptions(master, conf={f"spark.executorEnv.{k}": v for k, v in environment.items()}))
    made.open()
    yield made
    made.close()


def test_a_killed_worker_is_replaced_and_its_pieces_run_again(
    runner: Runner, killed: Path, request: pytest.FixtureRequest
) -> None:
    receipts = runner.run([order(number) for number in range(5)], TERMS)
    assert [(receipt.piece, receipt.error) for receipt in receipts] == [(number, None) for number in range(5)]
    there = killed / request.node.callspec.params["runner"]
    assert len(list(there.iterdir())) == (1 if isinstance(runner, SparkRunner) else 0)


def test_a_piece_that_fails_answers_with_its_error_and_fails_nobody_else(runner: Runner) -> None:
    receipts = runner.run([order(0), order(1, NOWHERE), order(2)], TERMS)
    assert [receipt.error is None for receipt in receipts] == [True, False, True]
    assert receipts[1].error is not None
    assert receipts[1].error["kind"] == "ConfigError"
    assert receipts[1].error["subscription"] == "s"


def test_two_threads_can_run_jobs_at_once(runner: Runner) -> None:
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda first: runner.run([order(first + at) for at in range(3)], TERMS), [0, 10]))
    assert [[receipt.piece for receipt in receipts] for receipts in both] == [[0, 1, 2], [10, 11, 12]]
