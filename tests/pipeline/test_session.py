"""What Spark is told: a local one finds the package where it is, the executors of a cluster get the shipped one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tailrace.errors import ClusterUnfit
from tailrace.pipeline.session import SessionOptions, open_session, settings
from tailrace.pipeline.shipment import shipment
from tailrace.testing.cluster import free_port

PATH = "spark.executorEnv.PYTHONPATH"
PYTHON = "spark.pyspark.python"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


@pytest.mark.parametrize("master", ["local", "local[4,4]"])
def test_a_local_spark_is_shipped_nothing_and_stays_on_loopback(master: str) -> None:
    told = settings(SessionOptions(master))
    assert PATH not in told
    assert told["spark.driver.host"] == "127.0.0.1"
    assert told[PYTHON] == sys.executable


@pytest.mark.parametrize("master", ["spark://a:7077", "local-cluster[2,1,1024]", "yarn", "k8s://https://a:6443"])
def test_the_executors_of_a_cluster_find_what_is_shipped_before_their_own(master: str) -> None:
    told = settings(SessionOptions(master, conf={PATH: "/opt/more"}))
    assert told[PATH].split(os.pathsep) == [shipment().name, "/opt/more"]
    assert "spark.driver.host" not in told


def test_a_cluster_on_loopback_is_answered_on_loopback() -> None:
    assert settings(SessionOptions("spark://127.0.0.1:7077"))["spark.driver.host"] == "127.0.0.1"


def test_what_is_asked_for_wins_over_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/env/python")
    assert settings(SessionOptions("yarn"))[PYTHON] == "/env/python"
    assert settings(SessionOptions("yarn", conf={PYTHON: "./e/python"}))[PYTHON] == "./e/python"
    assert settings(SessionOptions("local[2]"))[PYTHON] == sys.executable
    assert settings(SessionOptions("yarn", conf={"spark.ui.enabled": "true"}))["spark.ui.enabled"] == "true"


def test_a_master_that_does_not_answer_is_said_at_once() -> None:
    place = f"127.0.0.1:{free_port()}"
    with pytest.raises(ClusterUnfit, match=f"{place}.*--master"):
        open_session(SessionOptions(f"spark://{place},127.0.0.1:nowhere"))


def test_only_what_a_session_may_set_is_asked_of_a_connect_server() -> None:
    assert SessionOptions("sc://h:15002").connect
    assert not SessionOptions("spark://h:7077").connect
