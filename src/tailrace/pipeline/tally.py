"""The tally of a delivery: what it has moved, how fast, and how far behind it is.

It only counts what the delivery tells it, survives the delivery's own restarts, and reports at most once a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tailrace.change.tso import Ts, physical_ms
from tailrace.observe import metrics, names
from tailrace.pipeline.assignment import Report
from tailrace.pipeline.pace import Clock, Rate
from tailrace.progress.cut import Receipt
from tailrace.progress.position import Progress, Stage

REPORT_SECONDS = 1.0


class Tally:
    """`behind` says that the last cut ended before what the upstream could give, so the next must not wait."""

    def __init__(self, tell: Callable[[Report], None], clock: Clock = time.monotonic) -> None:
        self.report = Report()
        self.behind = False
        self.seconds: dict[str, float] = {}
        self.cut_seconds: dict[str, float] = {}
        self._tell = tell
        self._clock = clock
        self._rate = Rate(clock)
        self._told_at = -1e9

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Counts the time of a step of a cut on the driver; `seconds` are those of its pieces on the workers."""
        begun = self._clock()
        try:
            yield
        finally:
            spent = self._clock() - begun
            self.cut_seconds[name] = self.cut_seconds.get(name, 0.0) + spent
            metrics.count(names.STEP_SECONDS, spent, step=name)

    def settled(self, progress: Progress) -> None:
        self.report = replace(self.report, **_stand(progress))
        self._maybe_tell(at_once=True)

    def resolved(self, resolved_ts: Ts) -> None:
        self.report = replace(self.report, resolved_ts=max(resolved_ts, self.report.resolved_ts))
        self.report = replace(self.report, lag_seconds=self._lag())
        self._maybe_tell()

    def moved(self, progress: Progress) -> None:
        """Time went by without changes."""
        self.report = replace(self.report, to_ts=progress.to_ts)
        self.report = replace(self.report, lag_seconds=self._lag())
        self._maybe_tell()

    def delivered(self, receipts: Sequence[Receipt], progress: Progress) -> None:
        rows, size = sum(each.rows for each in receipts), sum(each.bytes for each in receipts)
        for receipt in receipts:
            for stage, spent in receipt.seconds.items():
                self.seconds[stage] = self.seconds.get(stage, 0.0) + spent
        self._rate.add(rows)
        metrics.count(names.ROWS, rows, subscription=progress.subscription)
        metrics.count(names.BYTES, size, subscription=progress.subscription)
        metrics.count(names.CUTS, subscription=progress.subscription)
        report, stand = self.report, _stand(progress)
        snapshot = rows if any(receipt.reached for receipt in receipts) else 0
        self.report = replace(
            report,
            rows=report.rows + rows,
            bytes=report.bytes + size,
            cuts=report.cuts + 1,
            rows_per_second=self._rate.value,
            snapshot_rows=report.snapshot_rows + snapshot,
            **stand,
        )
        self.report = replace(self.report, lag_seconds=self._lag())
        self._maybe_tell(at_once=report.snapshot_ranges_left != self.report.snapshot_ranges_left)

    def _lag(self) -> float:
        if not self.report.to_ts:
            return 0.0
        return max(0.0, (physical_ms(self.report.resolved_ts) - physical_ms(self.report.to_ts)) / 1000)

    def _maybe_tell(self, at_once: bool = False) -> None:
        now = self._clock()
        if at_once or now - self._told_at >= REPORT_SECONDS:
            self._told_at = now
            self._tell(self.report)


def _stand(progress: Progress) -> dict[str, int]:
    left = sum(1 for position in progress.ranges if position.stage is Stage.SNAPSHOT)
    return {"ranges": len(progress.ranges), "snapshot_ranges_left": left, "to_ts": progress.to_ts}
