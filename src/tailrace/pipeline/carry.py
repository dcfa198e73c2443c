"""Carry: what runs on an executor for one piece: pull, merge, split, encode, write, receipt.

Guarantees: a piece that is carried twice leaves the same rows twice in places that no reader looks at, and only the
attempts whose receipts reach the driver count. A failure never leaves here as an exception: it becomes a receipt with
the error, so that one piece cannot fail the job of the others. Columns all the way: nothing here looks at a row.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tailrace.change.batch import ChangeBatch
from tailrace.errors import Overdue, TailraceError, WorkerLost
from tailrace.observe.failpoints import reach
from tailrace.pipeline import worker
from tailrace.pipeline.merge import merge
from tailrace.progress.cut import Piece, Reached, Receipt, Span
from tailrace.route.split import split_stream
from tailrace.sink.base import Sink, SinkSpec, SinkWriter
from tailrace.upstream.base import Upstream, UpstreamSpec, log_batches

PAGE_ROWS = 65_536
PAGE_BYTES = 8 << 20
AHEAD = 2

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Order:
    """A piece with what a worker needs to open both of its ends."""

    piece: Piece
    upstream: UpstreamSpec
    sink: SinkSpec


@dataclass(slots=True)
class StageClock:
    """Seconds by stage, as the receipt reports them."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun


def carry(order: Order, gone: threading.Event | None = None) -> Receipt:
    """The receipt of one attempt; never raises for what went wrong with the piece. An attempt that nobody waits for
    any more (`gone`) ends at its next batch and leaves nothing."""
    try:
        return _attempt(order, gone or threading.Event())
    except Exception as error:
        return failed(order.piece, error)


def failed(piece: Piece, error: Exception) -> Receipt:
    """The receipt of a piece that went wrong, whatever it was."""
    if not isinstance(error, TailraceError):
        logger.error("piece %s", piece.name, exc_info=error)
        memory = "a Python worker has no memory left" if isinstance(error, MemoryError) else ""
        error = WorkerLost(memory or f"a piece failed where no failure was foreseen: {error!r}")
    place = {"subscription": piece.subscription, "table": str(piece.table_id), "position": piece.name}
    return Receipt(piece.number, error=error.at(**place).to_fields())


def _attempt(order: Order, gone: threading.Event) -> Receipt:
    piece, clock = order.piece, StageClock()
    upstream, sink = worker.upstreams.get(order.upstream), worker.sinks.get(order.sink)

    def fill(writer: SinkWriter) -> tuple[Reached, ...]:
        if piece.phase == "snapshot":
            return tuple(_snapshot(upstream, piece, span, writer, clock, gone) for span in piece.spans)
        _log(upstream, sink, piece, writer, clock, gone)
        return ()

    return written(sink, piece, fill, clock)


def written(sink: Sink, piece: Piece, fill: Callable[[SinkWriter], tuple[Reached, ...]], clock: StageClock) -> Receipt:
    """The receipt of a piece whose writer was filled and closed; a failure leaves nothing of it."""
    writer = sink.writer(piece)
    try:
        reached = fill(writer)
        with clock.stage("close"):
            done = writer.close()
    except BaseException:
        writer.discard()
        raise
    reach("piece-closed")
    return Receipt(piece.number, done.rows, done.bytes, done.payload, reached=reached, seconds=clock.seconds)


def _snapshot(
    upstream: Upstream, piece: Piece, span: Span, writer: SinkWriter, clock: StageClock, gone: threading.Event
) -> Reached:
    """Pages from the span's first key on, until the piece's share is full or the span has no more."""
    last, end = span.after_key, False

    def pages() -> Iterator[ChangeBatch]:
        nonlocal last, end
        rows = size = 0
        while not end and rows < piece.limit_rows and size < piece.bytes:
            want = min(PAGE_ROWS, piece.limit_rows - rows)
            with clock.stage("pull"):
                page = upstream.pull_snapshot(span.range, piece.version, last, span.end_key, want, span.from_key)
            reach("snapshot-page")
            rows += sum(batch.num_rows for batch in page.batches)
            size += sum(batch.nbytes for batch in page.batches)
            last, end = page.last_key or last, page.end
            yield from page.batches

    _write(ahead(pages), writer, clock, gone)
    return Reached(span.range.id, last, end)


def _log(
    upstream: Upstream, sink: Sink, piece: Piece, writer: SinkWriter, clock: StageClock, gone: threading.Event
) -> None:
    def batches() -> Iterator[ChangeBatch]:
        return log_changes(upstream, sink, piece, clock)

    large = piece.bytes > PAGE_BYTES
    _write(ahead(batches) if large else batches(), writer, clock, gone)


def log_changes(upstream: Upstream, sink: Sink, piece: Piece, clock: StageClock) -> Iterator[ChangeBatch]:
    """All changes of a piece of the log, in commit order, split where the sink wants it."""

    def span_batches(span: Span) -> Iterator[ChangeBatch]:
        return log_batches(upstream, span.range, span.from_index, piece.from_ts, piece.to_ts, PAGE_BYTES, span.within)

    merged = merge([span_batches(span) for span in piece.spans])
    ordered = split_stream(merged) if sink.capabilities.split_updates else merged
    while True:
        with clock.stage("pull"):
            batch = next(ordered, None)
        if batch is None:
            return
        reach("log-page")
        yield batch


def _write(batches: Iterator[ChangeBatch], writer: SinkWriter, clock: StageClock, gone: threading.Event) -> None:
    reach("piece-before-write")
    for batch in batches:
        if gone.is_set():
            raise Overdue("nobody waits for this attempt any more")
        if batch.num_rows:
            with clock.stage("write"):
                writer.write(batch)


def ahead(source: Callable[[], Iterator[ChangeBatch]]) -> Iterator[ChangeBatch]:
    """The batches of `source`, pulled by a thread a little ahead, so that waiting for pages and writing overlap."""
    waiting: queue.Queue[ChangeBatch | BaseException | None] = queue.Queue(AHEAD)
    gone = threading.Event()

    def offer(item: ChangeBatch | BaseException | None) -> bool:
        while not gone.is_set():
            try:
                waiting.put(item, timeout=1.0)
            except queue.Full:
                continue
            return True
        return False

    def pull() -> None:
        try:
            for batch in source():
                if not offer(batch):
                    return
            offer(None)
        except BaseException as error:
            offer(error)

    threading.Thread(target=pull, name="pull-ahead", daemon=True).start()
    try:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        gone.set()
