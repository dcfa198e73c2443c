"""Jobs: what is ready, of all subscriptions, goes into one Spark job.

`Jobs.carry` hands in the orders of one cut and waits for their receipts. A gatherer takes everything that was handed in
since the last job began and runs it as one; up to `at_once` jobs run at the same time, so that a long one does not
hold up the short ones behind it. Guarantees: each caller gets the receipts of its own orders, or the error of the job.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tailrace.errors import WorkerLost
from tailrace.pipeline.carry import Order
from tailrace.pipeline.runner import Runner
from tailrace.progress.cut import Receipt

_Batch = tuple[Sequence[Order], Future[list[Receipt]]]


class Jobs:
    def __init__(self, runner: Runner, at_once: int = 2) -> None:
        self._runner = runner
        self._free = threading.Semaphore(at_once)
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="job")
        self._ready = threading.Condition()
        self.waiting: list[_Batch] = []
        self._closed = False
        self._gatherer = threading.Thread(target=self._gather, name="jobs", daemon=True)
        self._gatherer.start()

    @property
    def slots(self) -> int:
        return self._runner.slots

    def carry(self, orders: Sequence[Order]) -> list[Receipt]:
        """Waits; raises WorkerLost when the job died or the pipeline is stopping."""
        if not orders:
            return []
        answer: Future[list[Receipt]] = Future()
        with self._ready:
            if self._closed:
                raise WorkerLost("the pipeline is stopping")
            self.waiting.append((orders, answer))
            self._ready.notify()
        return answer.result()

    def close(self) -> None:
        """Jobs under way are waited for; what has not begun fails."""
        with self._ready:
            self._closed = True
            self._ready.notify()
        self._gatherer.join()
        self._pool.shutdown(wait=True)

    def _gather(self) -> None:
        while True:
            self._free.acquire()
            with self._ready:
                while not self.waiting and not self._closed:
                    self._ready.wait()
                taken, self.waiting = self.waiting, []
                if self._closed:
                    for _, answer in taken:
                        answer.set_exception(WorkerLost("the pipeline is stopping"))
                    return
            self._pool.submit(self._run, taken)

    def _run(self, taken: list[_Batch]) -> None:
        try:
            receipts = self._runner.run([order for orders, _ in taken for order in orders])
        except BaseException as error:
            for _, answer in taken:
                answer.set_exception(error)
            return
        finally:
            self._free.release()
        at = 0
        for orders, answer in taken:
            answer.set_result(receipts[at : at + len(orders)])
            at += len(orders)
