"""The Spark session: local by default, any master on request, also a Connect server (`sc://HOST:PORT`).

Guarantees: one session a process, Java 17+ found or brought along, Python workers that run this very package: a local
Spark finds it where it is, the executors of a cluster are sent it (`shipment`). The default master is
`local[2 x cores, 4]`: `local[*]` would allow no retry, and one killed worker would fail the job of everybody. Nothing
here relies on FAIR pools, order of arrival or speculation being off.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import tailrace
from tailrace.errors import ClusterUnfit
from tailrace.pipeline.diagnosis import diagnose
from tailrace.pipeline.java import java_home
from tailrace.pipeline.shipment import shipment

ATTEMPTS = 4
_CONNECT_MARK = "SPARK_CONNECT_MODE_ENABLED"
START_SECONDS = 120.0
KNOCK_SECONDS = 5.0
_LOOPBACK = ("spark://127.0.0.1:", "spark://localhost:")
_PYTHON = "spark.pyspark.python"
_PATH = "spark.executorEnv.PYTHONPATH"


def default_master() -> str:
    return f"local[{2 * (os.cpu_count() or 1)},{ATTEMPTS}]"


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """`conf` is added to, and wins over, what Tailrace sets itself. A cluster has `start_seconds` to give a worker."""

    master: str = field(default_factory=default_master)
    driver_memory: str = "512m"
    conf: Mapping[str, str] = field(default_factory=dict)
    start_seconds: float = START_SECONDS

    @property
    def local(self) -> bool:
        """Whether the workers are children of this process's own Java."""
        return self.master == "local" or self.master.startswith("local[")

    @property
    def connect(self) -> bool:
        """Whether Spark is behind a Connect server, with its driver and its settings."""
        return self.master.startswith("sc://")

    @property
    def python(self) -> str:
        """The interpreter of the workers, by its path on their machines."""
        told = "" if self.local else os.environ.get("PYSPARK_PYTHON", "")
        return self.conf.get(_PYTHON) or told or sys.executable

    @property
    def asked(self) -> str:
        """What a worker has to offer, for people."""
        memory = self.conf.get("spark.executor.memory", "1g")
        cores = self.conf.get("spark.executor.cores", "1 or more")
        return f"{self.master} was asked for executors with {memory} of memory and {cores} cores"


def settings(options: SessionOptions) -> dict[str, str]:
    """What the session is built with; a plan of a few rows gains nothing from a web page, code generation or AQE."""
    own = {
        "spark.master": options.master,
        "spark.app.name": "tailrace",
        "spark.driver.memory": options.driver_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        _PYTHON: options.python,
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
    if options.local or options.master.startswith(_LOOPBACK):
        own |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if not options.local:
        # Spark puts what is shipped into the folder in which an executor runs, before its first task.
        own[_PATH] = os.pathsep.join(filter(None, [shipment().name, options.conf.get(_PATH)]))
    return own | {key: value for key, value in options.conf.items() if key != _PATH or options.local}


@dataclass(frozen=True, slots=True)
class Session:
    """A session, with what differs where its driver is somewhere else. `remote_slots` is 0 where it is here."""

    spark: SparkSession
    remote_slots: int = 0

    @property
    def slots(self) -> int:
        """How many tasks run at once, as far as it is known now."""
        return self.remote_slots or int(self.spark.sparkContext.defaultParallelism)

    @property
    def ended(self) -> bool:
        """Whether it was ended from elsewhere, as when the master has gone."""
        if self.remote_slots:
            return bool(self.spark.is_stopped)  # type: ignore[attr-defined]
        return bool(self.spark.sparkContext._jsc.sc().isStopped())

    def interrupt(self) -> None:
        """End all jobs, which then fail."""
        if self.remote_slots:
            self.spark.interruptAll()
        else:
            self.spark.sparkContext.cancelAllJobs()

    def stop(self) -> None:
        self.spark.stop()
        if self.remote_slots:
            # PySpark leaves a mark by which every later session of this process would be sought at a server, too.
            os.environ.pop(_CONNECT_MARK, None)


def open_session(options: SessionOptions) -> Session:
    """Start Spark (five seconds), or join the session that this process has."""
    try:
        return _joined(options) if options.connect else _started(options)
    except (PySparkException, Py4JError, ImportError) as error:
        raise diagnose(error, f"Spark with the master {options.master}") from error


def _started(options: SessionOptions) -> Session:
    _knock(options.master)
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = options.python
    if options.local:
        source = os.path.dirname(os.path.dirname(os.path.abspath(tailrace.__file__)))
        paths = [source, *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))
    builder = SparkSession.builder
    for key, value in settings(options).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    if not options.local:
        # A file and not a `pyFile`: the latter would also change where this driver imports from.
        session.sparkContext.addFile(str(shipment()))
    return Session(session)


def _joined(options: SessionOptions) -> Session:
    """What the server was started with stays as it is: only what a session may set is set."""
    builder = SparkSession.builder.remote(options.master)
    for key, value in (settings(options) | dict(options.conf)).items():
        if key.startswith("spark.sql.") and key != "spark.sql.warehouse.dir":
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.addArtifact(str(shipment()), pyfile=True)
    # A Connect server does not say how wide it is, but it divides what has no width of its own by it.
    spans = session.sql("SELECT DISTINCT p FROM (SELECT spark_partition_id() AS p FROM range(100000))")
    return Session(session, spans.count())


def _knock(master: str) -> None:
    """Spark itself takes a minute to say that nobody answers where a standalone master should be."""
    scheme, _, places = master.partition("://")
    if scheme != "spark":
        return
    said: list[str] = []
    for place in places.split(","):
        host, _, port = place.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()
            return
        except (OSError, ValueError) as error:
            said.append(f"{place}: {error}")
    raise ClusterUnfit(
        f"no Spark master answers ({'; '.join(said)}): start it, or give its spark://HOST:PORT in --master"
    )
