"""A Connect server is a master too: the package goes there as an artifact, jobs and the shuffle's plans run."""

from __future__ import annotations

import importlib.util
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tailrace.change.ranges import Epoch, Range
from tailrace.pipeline.carry import Order
from tailrace.pipeline.java import java_home
from tailrace.pipeline.job import SparkRunner
from tailrace.pipeline.pieces import with_routes
from tailrace.pipeline.session import SessionOptions
from tailrace.progress.cut import Cut, Piece, Span
from tailrace.sink.base import SinkSpec
from tailrace.testing.services import daemon
from tailrace.testing.services.component import Command, Component, Place, Tell
from tests.pipeline.test_job import NOWHERE, TERMS, order

pytestmark = pytest.mark.spark


def _install(folder: Path, tell: Tell) -> Path:
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "bin" / "spark-submit"


def _command(program: Path, place: Place) -> Command:
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(place.port),
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    options = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    kind = "org.apache.spark.sql.connect.service.SparkConnectServer"
    argv = (str(program), "--master", "local[2]", *options, "--class", kind, "spark-internal")
    return Command(argv, {"JAVA_HOME": str(java_home()), "PYSPARK_PYTHON": sys.executable})


def _ready(place: Place) -> bool:
    try:
        socket.create_connection(("127.0.0.1", place.port), 1.0).close()
    except OSError:
        return False
    return True


SERVER = Component("connect", "a Connect server", _install, _command, _ready, patience=90.0)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkRunner]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        place = daemon.up(SERVER, print)
        made = SparkRunner(SessionOptions(f"sc://{place.address}"))
        try:
            made.open()
            yield made
        finally:
            made.close()
            daemon.down(SERVER)


def test_jobs_run_at_once_and_a_failed_piece_fails_nobody_else(runner: SparkRunner) -> None:
    assert runner.slots == 2
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda first: runner.run([order(first), order(first + 1, NOWHERE)], TERMS), [0, 10]))
    assert [[receipt.piece for receipt in receipts] for receipts in both] == [[0, 1], [10, 11]]
    assert [[receipt.error is None for receipt in receipts] for receipts in both] == [[True, False]] * 2


def test_what_a_feed_says_reaches_every_route_through_the_shuffle(runner: SparkRunner) -> None:
    span = Span(Range(1, 7, 0, b"", b"", Epoch(), ""))
    feeds = [Piece("s", 1, 1, at, "log", 7, 0, (span,), 0, 9, bytes=9 << 20) for at in range(3)]
    pieces = with_routes(Cut("s", 1, 1, "log", 0, 9), feeds, 2)
    receipts = runner.run([Order(piece, NOWHERE, SinkSpec("s", "blackhole://?routes=2")) for piece in pieces], TERMS)
    assert [receipt.piece for receipt in receipts] == [piece.number for piece in pieces]
    assert [receipt.error["kind"] for receipt in receipts if receipt.error] == ["ConfigError"] * 5
