"""Jobs: what is ready, of all subscriptions, goes into shared Spark jobs, each in the company that it has earned.

`submit` hands in the orders of one cut. Everything that waits for the same kind of job when one may begin runs in it:

    quick   the small cuts of the proven: two at once, on any slot
    large   the large cuts of the proven: one at once, on all slots but one while small ones come
    new     those of subscriptions that nothing is known of yet: one at once
    alone   a suspect's: a job for each

`new` and `alone` have at most half of the slots together. Guarantees: each caller gets the receipts of its own orders,
or the error of its own job. A job that fails whole fails nobody who was only in it: it runs again in halves, one after
another and on half of the slots, until what it fails of stands alone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from tailrace.errors import WorkerLost
from tailrace.observe import metrics, names
from tailrace.pipeline.carry import Order
from tailrace.pipeline.runner import Runner, Terms
from tailrace.pipeline.standing import Standing
from tailrace.progress.cut import Receipt

Kind = Literal["quick", "large", "new", "alone"]

QUICK_AT_ONCE = 2
LARGE_BYTES = 16 << 20
# A job that goes on without a piece holds the others in it for as long as this, at most.
PATIENCE: dict[Kind, float] = {"quick": 1.5, "large": 5.0, "new": 5.0, "alone": 90.0}
# How long after a small cut a slot is kept free for the next.
KEPT_FREE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The orders of one cut, and where their receipts are awaited."""

    orders: Sequence[Order]
    standing: Standing
    answer: Future[list[Receipt]] = field(default_factory=Future)

    @property
    def kind(self) -> Kind:
        if not self.standing.proven:
            return "new" if self.standing.company == "new" else "alone"
        return "large" if sum(order.piece.bytes for order in self.orders) >= LARGE_BYTES else "quick"


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What runs as one, on so many slots."""

    kind: Kind
    batches: Sequence[Batch]
    slots: int
    torn: bool = False


class Jobs:
    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._lock = threading.Condition()
        self.waiting: dict[Kind, list[Batch]] = {"quick": [], "large": [], "new": [], "alone": []}
        self.running: set[Job] = set()
        self._torn: deque[tuple[Kind, list[Batch]]] = deque()
        self._quick_at = -KEPT_FREE_SECONDS
        self._closed = False
        self._slots = 0

    @property
    def slots(self) -> int:
        """How many tasks run at once; the first to ask may wait until Spark has started."""
        self._slots = self._slots or self._runner.slots
        return self._slots

    def submit(self, orders: Sequence[Order], standing: Standing) -> Future[list[Receipt]]:
        """The receipts, in time; WorkerLost when the job died or the pipeline is stopping."""
        batch = Batch(orders, standing)
        if not orders:
            batch.answer.set_result([])
            return batch.answer
        slots = self.slots
        with self._lock:
            closed = self._closed
            if not closed:
                self.waiting[batch.kind].append(batch)
                self._begin_what_may(slots)
        if closed:
            batch.answer.set_exception(WorkerLost("the pipeline is stopping"))
        return batch.answer

    def close(self, seconds: float = 10.0) -> None:
        """Jobs under way are waited for, for a while; what has not begun fails."""
        with self._lock:
            self._closed = True
            left = [batch for waiting in self.waiting.values() for batch in waiting]
            left += [batch for _, batches in self._torn for batch in batches]
            self._torn.clear()
            for waiting in self.waiting.values():
                waiting.clear()
        for batch in left:
            batch.answer.set_exception(WorkerLost("the pipeline is stopping"))
        with self._lock:
            self._lock.wait_for(lambda: not self.running, seconds)

    def _begin_what_may(self, slots: int) -> None:
        begun: list[Job] = []
        if self._torn and not any(job.torn for job in self.running):
            kind, batches = self._torn.popleft()
            begun.append(self._take(kind, batches, max(1, slots // 2), torn=True))
        for kind in ("quick", "large", "new"):
            waiting = self.waiting[kind]
            if waiting and (given := self._room(kind, slots)):
                self.waiting[kind] = []
                begun.append(self._take(kind, waiting, given))
        alone = self.waiting["alone"]
        alone.sort(key=lambda batch: batch.standing.failures)
        while alone and (given := self._room("alone", slots)):
            begun.append(self._take("alone", [alone.pop(0)], given))
        metrics.show(names.PIECES_ON_PROBATION, self._on_probation())
        for job in begun:
            threading.Thread(target=self._run, args=(job,), name=f"job-{job.kind}", daemon=True).start()

    def _take(self, kind: Kind, batches: Sequence[Batch], slots: int, torn: bool = False) -> Job:
        job = Job(kind, batches, slots, torn)
        self.running.add(job)
        if kind == "quick":
            self._quick_at = time.monotonic()
        return job

    def _room(self, kind: Kind, slots: int) -> int:
        """How many slots a job of a kind may have now; 0 when it must wait."""
        if kind == "quick":
            return slots if self._count("quick") < QUICK_AT_ONCE else 0
        if kind == "large":
            kept = time.monotonic() < self._quick_at + KEPT_FREE_SECONDS
            return 0 if self._count("large") else max(1, slots - 1 if kept else slots)
        half = max(1, slots // 2)
        free = half - sum(job.slots for job in self.running if job.torn or job.kind in ("new", "alone"))
        if kind == "new":
            return 0 if self._count("new") else max(0, free if not self.waiting["alone"] else -(-free // 2))
        # One slot stays for those of whom nothing bad is known, where there is more than one.
        return max(0, min(free - (0 if half == 1 or self._count("new") else 1), max(1, half // 2)))

    def _on_probation(self) -> int:
        """Pieces of those who are not proven, waiting or running."""
        apart: tuple[Kind, ...] = ("new", "alone")
        batches = [batch for kind in apart for batch in self.waiting[kind]]
        batches += [batch for job in self.running if job.kind in apart for batch in job.batches]
        return sum(len(batch.orders) for batch in batches)

    def _count(self, kind: Kind) -> int:
        return sum(job.kind == kind for job in self.running if not job.torn)

    def _run(self, job: Job) -> None:
        receipts: list[Receipt] = []
        failure: BaseException | None = None
        try:
            orders = [order for batch in job.batches for order in batch.orders]
            receipts = self._runner.run(orders, Terms(job.slots, PATIENCE[job.kind]))
        except BaseException as error:
            failure = error
        with self._lock:
            self.running.discard(job)
            torn = failure is not None and len(job.batches) > 1 and not self._closed
            if torn:
                half = len(job.batches) // 2
                self._torn += [(job.kind, list(job.batches[:half])), (job.kind, list(job.batches[half:]))]
            if not self._closed:
                self._begin_what_may(self.slots)
            self._lock.notify_all()
        if not torn:
            _answer(job.batches, receipts, failure)


def _answer(batches: Sequence[Batch], receipts: Sequence[Receipt], failure: BaseException | None) -> None:
    at = 0
    for batch in batches:
        if failure is not None:
            batch.answer.set_exception(failure)
            continue
        batch.answer.set_result(list(receipts[at : at + len(batch.orders)]))
        at += len(batch.orders)
