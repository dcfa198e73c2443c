"""What a person can mend is said so that it can be mended; everything else keeps what Spark said of it."""

from __future__ import annotations

import pytest

from tailrace.errors import ClusterUnfit, WorkerLost
from tailrace.pipeline.diagnosis import diagnose

TRACE = """An error occurred while calling o89.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:53)
Caused by: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 failed 4 times
Error from python worker:
  {}
"""


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("ModuleNotFoundError: No module named 'tailrace.pipeline'", "no package tailrace"),
        ("PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18 must be installed", "no package PyArrow"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12", "another minor version"),
        ('java.io.IOException: Cannot run program "/opt/python": error=2', "no program /opt/python"),
        ("All masters are unresponsive! Giving up.", "--master"),
    ],
)
def test_a_cluster_that_is_not_as_it_should_be_is_unfit(said: str, advice: str) -> None:
    error = diagnose(RuntimeError(TRACE.format(said)), "a job of 3 pieces")
    assert isinstance(error, ClusterUnfit)
    assert "a job of 3 pieces failed" in str(error)
    assert advice in str(error)


@pytest.mark.parametrize(
    "said",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        "ExecutorLostFailure (executor 1 exited): Command exited with code 137",
        "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)",
    ],
)
def test_workers_that_died_are_said_to_lack_memory(said: str) -> None:
    error = diagnose(RuntimeError(TRACE.format(said)), "a job")
    assert isinstance(error, WorkerLost)
    assert "memory" in str(error)


def test_what_is_not_known_keeps_the_first_line_that_says_something() -> None:
    error = diagnose(RuntimeError(TRACE.format("KeyError: 7")), "a job")
    assert isinstance(error, WorkerLost)
    assert "Job aborted due to stage failure: Task 0 failed 4 times" in str(error)
    assert "TimeoutError" in str(diagnose(TimeoutError(), "a job"))
