"""Diagnoses: what Spark says when a job or a session failed, as an error of ours that says what to do. Pure.

Spark's messages are long traces of Java with the cause somewhere inside; the causes that a person can mend are known
by their words. Everything else keeps its first line. None of these is a subscription's fault, so all are Transient.
"""

from __future__ import annotations

import re

from tailrace.errors import ClusterUnfit, Transient, WorkerLost

_UNFIT = (
    (
        r"(?:No module named '?|PACKAGE_NOT_INSTALLED\] )(\w+)",
        "the workers' Python has no package {0}: name an interpreter that has `tailrace[spark]` with --spark-conf"
        " spark.pyspark.python=..., also out of spark.archives; Tailrace ships nothing but itself",
    ),
    (
        r"PYTHON_VERSION_MISMATCH",
        "the workers run another minor version of Python: name the right one with --spark-conf spark.pyspark.python",
    ),
    (
        r"Cannot run program \"([^\"]+)\"",
        "the workers have no program {0}: name the Python on their machines with --spark-conf spark.pyspark.python",
    ),
    (
        r"All masters are unresponsive|Could not parse Master URL|Invalid master URL|Master removed our application",
        "the master does not answer, does not know us any more, or is none: look at --master and at its log",
    ),
)
_LOST = (
    (
        r"OutOfMemoryError|exited? (?:with|status|code)\D*(?:137|52)\b",
        "an executor ran out of memory: raise --spark-conf spark.executor.memory or spark.executor.memoryOverhead",
    ),
    (
        r"MemoryError|Python worker exited unexpectedly",
        "Python workers died, as they do where memory runs out: raise spark.executor.memoryOverhead or"
        " spark.executor.pyspark.memory, or give executors fewer cores",
    ),
    (r"stopped SparkContext|SparkContext was shut down", "the Spark session has ended; it will be opened again"),
)
_NOISE = ("An error occurred while calling", ": org.apache.spark.SparkException: Exception thrown in", "at ")


def diagnose(error: BaseException, what: str) -> Transient:
    """`what` is the thing that failed: a job of so many pieces, or the session."""
    said = str(error)
    for pattern, advice in _UNFIT:
        if found := re.search(pattern, said):
            return ClusterUnfit(f"{what} failed: {advice.format(*found.groups())}", retry_after=30.0)
    for pattern, advice in _LOST:
        if re.search(pattern, said):
            return WorkerLost(f"{what} failed: {advice}")
    lines = (line.strip() for line in said.splitlines())
    telling = next((line for line in lines if line and not line.startswith(_NOISE)), type(error).__name__)
    return WorkerLost(f"{what} failed: {telling}")
