"""The probe: one small job a session, which asks the workers what they are before the first piece is entrusted to them.

Guarantees: a cluster that cannot run our pieces is `ClusterUnfit` with what is wrong and what to do, within the time
that a start may take; it is never a piece that hangs or fails for a reason that nobody can read. The job warms up as
well: after it Spark has compiled its plan, and workers were forked with their imports done.
"""

from __future__ import annotations

import json
import platform
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException

from tailrace.errors import ClusterUnfit
from tailrace.pipeline import shipment
from tailrace.pipeline.diagnosis import diagnose
from tailrace.pipeline.session import Session
from tailrace.pipeline.shipment import fingerprint, sources

NEEDED = ("google.protobuf", "grpc", "numpy", "pandas", "pyarrow", "xxhash")

# A cluster with another version of this package must still understand the question: it travels with its text.
for module in (sys.modules[__name__], shipment):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a cluster may take to give its first worker, and what was asked of it, for the message."""

    seconds: float
    asked: str


def probe(session: Session, limits: Limits) -> None:
    """Raises ClusterUnfit where a worker answers that it is not as this driver is, or where none answers."""
    question = pa.table([pa.array(range(session.slots), pa.int32())], ["task"])
    frame = session.spark.createDataFrame(question).mapInArrow(_answer, "facts string")
    late = threading.Event()
    timer = threading.Timer(limits.seconds, _give_up, (session, late))
    timer.daemon = True
    timer.start()
    try:
        facts = frame.toArrow().column(0).to_pylist()
    except (PySparkException, Py4JError) as error:
        if late.is_set():
            raise ClusterUnfit(
                f"no worker began a task within {limits.seconds:.0f} s: {limits.asked}; start workers that have as much"
                " free, end what holds them, or ask for less (--spark-conf spark.executor.memory=..., spark.cores.max)"
            ) from error
        raise diagnose(error, "the first job") from error
    finally:
        timer.cancel()
    for text in facts:
        _check(json.loads(text))


def _give_up(session: Session, late: threading.Event) -> None:
    late.set()
    session.interrupt()


def _answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs on a worker, where nothing of this module may be taken for granted."""
    import importlib.util

    def lacks(name: str) -> bool:
        try:
            return importlib.util.find_spec(name) is None
        except ModuleNotFoundError:
            return True

    for batch in batches:
        facts: dict[str, Any] = {"python": platform.python_version(), "interpreter": sys.executable}
        facts |= {"host": platform.node(), "missing": [name for name in NEEDED if lacks(name)]}
        try:
            module = importlib.import_module("tailrace")
            facts |= {"version": module.__version__, "fingerprint": fingerprint(sources()), "place": module.__file__}
        except ImportError:
            facts["missing"].append("tailrace")
        yield pa.RecordBatch.from_arrays([pa.array([json.dumps(facts)] * batch.num_rows)], ["facts"])


def _check(facts: dict[str, Any]) -> None:
    where = f"a worker on {facts['host']} runs {facts['interpreter']} (Python {facts['python']})"
    if facts["missing"]:
        raise ClusterUnfit(
            f"{where}, which lacks {', '.join(facts['missing'])}: install `tailrace[spark]` for that interpreter, or"
            " name one that has it with --spark-conf spark.pyspark.python=..., also out of spark.archives"
        )
    if facts["python"].split(".")[:2] != platform.python_version().split(".")[:2]:
        raise ClusterUnfit(
            f"{where}, and the driver Python {platform.python_version()}: give both the same minor version,"
            " with --spark-conf spark.pyspark.python=..."
        )
    if facts["fingerprint"] != fingerprint(sources()):
        raise ClusterUnfit(
            f"{where} with tailrace {facts['version']} in {facts['place']}, which is not what this driver has: remove"
            " it there, or leave PYTHONPATH of the executors to Tailrace, which ships its own"
        )
