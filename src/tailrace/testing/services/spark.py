"""A Spark standalone cluster for tests: one master and two workers on loopback, out of the `pyspark` package itself.

Each worker offers one core and `WORKER_MEMORY`, so that two slots are two machines as far as Spark can tell: no
thread, no file and no environment of the driver is shared with them but what a real cluster would share too.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tailrace.errors import NotInstalled
from tailrace.pipeline.java import java_home
from tailrace.testing.services.component import Command, Component, Place, Tell
from tailrace.testing.services.spark_processes import WORKERS, web_port_file

WORKER_MEMORY = "1g"


@dataclass(frozen=True, slots=True)
class SparkConnection:
    master: str
    workers: int = WORKERS


def connection(place: Place) -> SparkConnection:
    return SparkConnection(f"spark://{place.address}")


def _install(folder: Path, tell: Tell) -> Path:
    """Nothing is fetched: the program is the `spark-class` of the installed package."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise NotInstalled("the Spark cluster is made of the package pyspark: run pip install 'tailrace[spark]'")
    return Path(found.origin).parent / "bin" / "spark-class"


def _command(program: Path, place: Place) -> Command:
    environment = {
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(program.parents[1]),
        "SPARK_LOCAL_DIRS": str(place.folder / "data" / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        # Tests kill executors on purpose: however many, the application goes on.
        "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
    }
    module = "tailrace.testing.services.spark_processes"
    return Command(
        (sys.executable, "-m", module, str(program), str(place.folder / "data"), str(place.port), WORKER_MEMORY),
        environment,
    )


def _ready(place: Place) -> bool:
    """Whether the master answers and every worker is with it."""
    try:
        port = int(web_port_file(place.folder / "data").read_text())
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/", timeout=2) as answer:
            workers = json.load(answer)["workers"]
    except (OSError, ValueError):
        return False
    return [worker["state"] for worker in workers] == ["ALIVE"] * WORKERS


COMPONENT = Component(
    name="spark",
    what=f"Spark standalone cluster (1 master, {WORKERS} workers of 1 core and {WORKER_MEMORY})",
    install=_install,
    command=_command,
    ready=_ready,
    patience=90.0,
)
