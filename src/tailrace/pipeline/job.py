"""A job: loads of orders -> one DataFrame -> `mapInArrow` -> receipts.

A `Runner` guarantees one receipt for each order, in the order of the orders, or an exception for the whole job. What
travels to the executors is a plan of a few hundred bytes a piece, never data.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from tailrace.errors import Transient
from tailrace.pipeline.carry import Order
from tailrace.pipeline.diagnosis import diagnose
from tailrace.pipeline.loads import carry_load, deal, pack, unpack_receipts
from tailrace.pipeline.pace import Clock
from tailrace.pipeline.probe import Limits, probe
from tailrace.pipeline.runner import Runner, Terms
from tailrace.pipeline.session import Session, SessionOptions, open_session
from tailrace.pipeline.shuffle import shuffled, unshuffled
from tailrace.pipeline.spread import Spread, by_size, carry_here, divided
from tailrace.progress.cut import Receipt

__all__ = ["LocalRunner", "Runner", "SparkRunner", "Terms"]

REFUSED_SECONDS = 15.0
_PLAN = pa.schema([pa.field("slot", pa.int32()), pa.field("load", pa.binary())])


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
        return divided(
            orders,
            lambda plain: self._carry(plain, terms),
            lambda spread: carry_here(spread, terms.patience),
        )

    def _carry(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
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
    """Runs jobs on Spark; the session is opened, and its workers are probed, when first needed. Several threads may
    run jobs at once. A session that has ended, as with its cluster, is replaced by the next call; a cluster that could
    not be used is not asked again for a while, by whomever."""

    def __init__(self, options: SessionOptions, clock: Clock = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._refused: tuple[float, Transient] | None = None

    @property
    def session(self) -> Session:
        with self._lock:
            if self._session is not None and self._session.ended:
                self._stop()
            if self._session is None:
                self._session = self._opened()
            return self._session

    def _opened(self) -> Session:
        if self._refused is not None and self._clock() < self._refused[0]:
            # Each caller gets an error of its own, because each adds its own place to it.
            raise type(self._refused[1])(self._refused[1].message, retry_after=REFUSED_SECONDS)
        session: Session | None = None
        try:
            session = open_session(self._options)
            probe(session, Limits(self._options.start_seconds, self._options.asked))
        except BaseException as error:
            if isinstance(error, Transient):
                self._refused = self._clock() + REFUSED_SECONDS, error
            if session is not None:
                session.stop()
            raise
        return session

    @property
    def slots(self) -> int:
        return self.session.slots

    def open(self) -> None:
        """An empty load for each slot: Spark compiles its plan, and every worker is forked and has its imports."""
        self._answers([pack([], 0.0)] * self.slots)

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        slots = min(terms.slots, self.slots)

        def plain(some: Sequence[Order]) -> list[Receipt]:
            loads = deal(some, slots)
            packed = [pack([some[index] for index in load], terms.patience) for load in loads]
            return _gather(some, loads, self._answers(packed))

        try:
            return divided(orders, plain, lambda spread: self._spread(spread, Terms(slots, terms.patience)))
        except (PySparkException, Py4JError) as error:
            raise diagnose(error, f"a job of {len(orders)} pieces") from error

    def _spread(self, spread: Spread, terms: Terms) -> dict[int, Receipt]:
        small, large = by_size(spread)
        found = unshuffled(self.session.spark, small, terms.patience) if small else {}
        return found | (shuffled(self.session.spark, large, terms.slots) if large.feeds else {})

    def _answers(self, packed: Sequence[bytes]) -> dict[int, bytes]:
        plan = pa.table([pa.array(range(len(packed)), pa.int32()), pa.array(packed, pa.binary())], schema=_PLAN)
        answer = self.session.spark.createDataFrame(plan).mapInArrow(_carry_batches, "slot int, load binary").toArrow()
        return dict(zip(answer.column(0).to_pylist(), answer.column(1).to_pylist(), strict=True))

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.stop()
