"""The Spark session: local by default, any master on request.

Guarantees: one session a process, Java 17+ found or brought along, Python workers that run this very interpreter with
this very package. The default master is `local[2 x cores, 4]`: `local[*]` would allow no retry, and one killed worker
would fail the job of everybody. Nothing here relies on FAIR pools, order of arrival or speculation being off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

import tailrace
from tailrace.pipeline.java import java_home

ATTEMPTS = 4


def default_master() -> str:
    return f"local[{2 * (os.cpu_count() or 1)},{ATTEMPTS}]"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """`conf` is added to, and wins over, what Tailrace sets itself."""

    master: str = field(default_factory=default_master)
    driver_memory: str = "512m"
    conf: Mapping[str, str] = field(default_factory=dict)


def settings(options: SessionOptions) -> dict[str, str]:
    """What the session is built with; a plan of a few rows gains nothing from a web page, code generation or AQE."""
    own = {
        "spark.master": options.master,
        "spark.app.name": "tailrace",
        "spark.driver.memory": options.driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.python.daemon.module": "tailrace.pipeline.daemon",
        "spark.python.worker.reuse": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": os.path.join(os.environ.get("TMPDIR", "/tmp"), "tailrace-warehouse"),
    }
    return own | dict(options.conf)


def open_session(options: SessionOptions) -> SparkSession:
    """Start Spark (five seconds), or join the session that this process has."""
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    source = os.path.dirname(os.path.dirname(os.path.abspath(tailrace.__file__)))
    paths = [source, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    builder = SparkSession.builder
    for key, value in settings(options).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
