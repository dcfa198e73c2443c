"""Metering: a runner that counts what another runner runs.

It adds nothing to a job and changes nothing of it: receipts and errors pass as they are. Counted here are attempts,
also those whose cut fails afterwards; what became durable is counted by the tally.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tailrace.errors import TailraceError, from_fields
from tailrace.observe import metrics, names
from tailrace.pipeline.carry import Order
from tailrace.pipeline.job import Runner, Terms
from tailrace.pipeline.pace import Clock
from tailrace.progress.cut import Receipt


class MeteredRunner:
    def __init__(self, runner: Runner, clock: Clock = time.monotonic) -> None:
        self._runner = runner
        self._clock = clock

    @property
    def slots(self) -> int:
        return self._runner.slots

    def open(self) -> None:
        self._runner.open()

    def run(self, orders: Sequence[Order], terms: Terms) -> list[Receipt]:
        begun, result = self._clock(), "failed"
        metrics.change(names.JOBS_RUNNING, 1)
        metrics.change(names.PIECES_RUNNING, len(orders))
        try:
            receipts = self._runner.run(orders, terms)
            result = "done"
        except TailraceError as error:
            metrics.count(names.PIECE_ERRORS, len(orders), code=error.code)
            raise
        finally:
            metrics.change(names.JOBS_RUNNING, -1)
            metrics.change(names.PIECES_RUNNING, -len(orders))
            metrics.time(names.JOB_SECONDS, self._clock() - begun, result=result)
        _count(orders, receipts)
        return receipts

    def close(self) -> None:
        self._runner.close()


def _count(orders: Sequence[Order], receipts: Sequence[Receipt]) -> None:
    spent: dict[tuple[str, str], float] = {}
    for order, receipt in zip(orders, receipts, strict=True):
        for stage, seconds in receipt.seconds.items():
            key = (order.piece.subscription, stage)
            spent[key] = spent.get(key, 0.0) + seconds
        if receipt.error:
            metrics.count(names.PIECE_ERRORS, code=from_fields(receipt.error).code)
    for (subscription, stage), seconds in spent.items():
        metrics.count(names.PIECE_SECONDS, seconds, subscription=subscription, stage=stage)
