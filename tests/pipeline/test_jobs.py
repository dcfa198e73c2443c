"""What is ready goes into one job; each caller gets its own receipts, or the error of the job."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tailrace.errors import WorkerLost
from tailrace.pipeline.carry import Order
from tailrace.pipeline.jobs import Jobs
from tailrace.progress.cut import Piece, Receipt
from tailrace.sink.base import SinkSpec
from tailrace.upstream.base import UpstreamSpec


def orders(subscription: str, count: int) -> list[Order]:
    spec = UpstreamSpec("memory://jobs"), SinkSpec(subscription, "blackhole://")
    return [Order(Piece(subscription, 1, 1, at, "log", 7, 0, (), 1, 2), *spec) for at in range(count)]


class Gate:
    """A runner that waits to be let through, and remembers its jobs."""

    slots = 2

    def __init__(self) -> None:
        self.open_gate = threading.Event()
        self.jobs: list[list[str]] = []
        self.fail = False

    def open(self) -> None:
        pass

    def run(self, orders: Sequence[Order]) -> list[Receipt]:
        self.jobs.append([order.piece.subscription for order in orders])
        self.open_gate.wait(10)
        if self.fail:
            raise WorkerLost("a worker died")
        return [Receipt(order.piece.number, rows=len(order.piece.subscription)) for order in orders]

    def close(self) -> None:
        pass


def test_what_waits_while_jobs_run_goes_into_one_job() -> None:
    gate = Gate()
    jobs = Jobs(gate, at_once=1)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(jobs.carry, orders("a", 1))
        while not gate.jobs:
            pass
        others = [pool.submit(jobs.carry, orders(name, count)) for name, count in (("bb", 2), ("ccc", 3))]
        while len(jobs.waiting) < 2:
            pass
        gate.open_gate.set()
        assert [receipt.rows for receipt in first.result()] == [1]
        assert [[receipt.rows for receipt in other.result()] for other in others] == [[2, 2], [3, 3, 3]]
    assert [sorted(job) for job in gate.jobs] == [["a"], ["bb", "bb", "ccc", "ccc", "ccc"]]
    jobs.close()


def test_a_long_job_does_not_hold_up_the_next() -> None:
    gate = Gate()
    jobs = Jobs(gate, at_once=2)
    with ThreadPoolExecutor(2) as pool:
        pool.submit(jobs.carry, orders("a", 1))
        while not gate.jobs:
            pass
        pool.submit(jobs.carry, orders("b", 1))
        while len(gate.jobs) < 2:
            pass
        gate.open_gate.set()
    jobs.close()


def test_a_job_that_fails_whole_fails_each_of_its_callers() -> None:
    gate = Gate()
    gate.fail = True
    gate.open_gate.set()
    jobs = Jobs(gate)
    for name in ("a", "b"):
        with pytest.raises(WorkerLost, match="a worker died"):
            jobs.carry(orders(name, 1))
    jobs.close()


def test_no_orders_are_no_job() -> None:
    gate = Gate()
    jobs = Jobs(gate)
    assert jobs.carry([]) == []
    assert gate.jobs == []
    jobs.close()


def test_nothing_begins_after_the_close() -> None:
    jobs = Jobs(Gate())
    jobs.close()
    with pytest.raises(WorkerLost, match="stopping"):
        jobs.carry(orders("a", 1))
