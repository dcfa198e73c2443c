"""A job: loads of orders -> one DataFrame -> `mapInArrow` -> receipts.

A `Runner` guarantees one receipt for each order, in the order of the orders, or an exception for the whole job. What
travels to the executors is a plan of a few hundred bytes a piece, never data.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tailrace.errors import WorkerLost
from tailrace.pipeline.carry import Order
from tailrace.pipeline.loads import carry_load, deal, pack, unpack_receipts
from tailrace.pipeline.session import SessionOptions, open_session
from tailrace.progress.cut import Receipt

_PLAN = pa.schema([pa.field("slot", pa.int32()), pa.field("load", pa.binary())])


@dataclass(frozen=True, slots=True)
class Terms:
    """What a job may take: so many tasks, and so many seconds before a task goes on without a piece."""

    slots: int
    patience: float


class Runner(Protocol):
    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        ...

    def open(self) -> None:
        """Have everything started before the first piece comes; `run` does without."""
        ...

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        """Raises WorkerLost when the job failed as a whole."""
        ...

    def close(self) -> None: ...


def _gather(orders: Sequence[Order], loads: list[list[int]], answers: dict[int, bytes]) -> list[Receipt]:
    found: dict[int, Receipt] = {}
    for slot, load in enumerate(loads):
        found |= zip(load, unpack_receipts(answers[slot]), strict=True)
    return [found[index] for index in range(len(orders))]


class LocalRunner:
    """The same work in threads of this process: for unit tests, and for nothing else."""

    def __init__(self, slots: int = 2) -> None:
        self.slots = slots

    def open(self) -> None:
        pass

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        loads = deal(orders, min(terms.slots, self.slots))
        with ThreadPoolExecutor(self.slots) as pool:
            answers = list(
                pool.map(carry_load, [pack([orders[index] for index in load], terms.patience) for load in loads])
            )
        return _gather(orders, loads, dict(enumerate(answers)))

    def close(self) -> None:
        pass


def _carry_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        answers = [carry_load(load) for load in batch.column(1).to_pylist()]
        yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(answers, pa.binary())], schema=_PLAN)


class SparkRunner:
    """Runs jobs on Spark; the session is opened when first needed. Several threads may run jobs at once."""

    def __init__(self, options: SessionOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._session: SparkSession | None = None

    @property
    def session(self) -> SparkSession:
        with self._lock:
            if self._session is None:
                self._session = open_session(self._options)
            return self._session

    @property
    def slots(self) -> int:
        return int(self.session.sparkContext.defaultParallelism)

    def open(self) -> None:
        """An empty load for each slot: Spark compiles its plan, and every worker is forked and has its imports."""
        self._answers([pack([], 0.0)] * self.slots)

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        loads = deal(orders, min(terms.slots, self.slots))
        try:
            answers = self._answers([pack([orders[index] for index in load], terms.patience) for load in loads])
        except PySparkException as error:
            raise WorkerLost(f"a job of {len(orders)} pieces failed: {_first_line(error)}") from error
        return _gather(orders, loads, answers)

    def _answers(self, packed: Sequence[bytes]) -> dict[int, bytes]:
        plan = pa.table([pa.array(range(len(packed)), pa.int32()), pa.array(packed, pa.binary())], schema=_PLAN)
        answer = self.session.createDataFrame(plan).mapInArrow(_carry_batches, "slot int, load binary").toArrow()
        return dict(zip(answer.column(0).to_pylist(), answer.column(1).to_pylist(), strict=True))

    def close(self) -> None:
        with self._lock:
            if self._session is not None:
                self._session.stop()
                self._session = None


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
