"""The shuffle: a spread as one Spark job of two stages (`spread` says what they do).

What travels between the stages are segments, each with where it begins beside it; Spark brings those of a route to
one task and sorts them there, on disk where memory does not hold them. Nothing else of Spark is relied on.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.pipeline.loads import deal
from tailrace.pipeline.spread import Arrival, Feed, Route, Spread, carry_here, feed, settle
from tailrace.progress.cut import Receipt

_PLAN = pa.schema([pa.field("load", pa.binary())])
_ORDER = ("target", "commit_ts", "start_ts", "table_id", "key", "feed", "number")
_SEGMENTS = pa.schema(
    [
        pa.field("task", pa.int32()),
        pa.field("target", pa.int32()),
        pa.field("commit_ts", pa.int64()),
        pa.field("start_ts", pa.int64()),
        pa.field("table_id", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("feed", pa.int32()),
        pa.field("number", pa.int32()),
        pa.field("data", pa.binary()),
    ]
)
_SEGMENTS_SQL = (
    "task int, target int, commit_ts long, start_ts long, table_id long, key binary, feed int, number int, data binary"
)
_ANSWERS = pa.schema([pa.field("number", pa.int32()), pa.field("receipt", pa.binary())])
_ANSWERS_SQL = "number int, receipt binary"


def shuffled(session: SparkSession, spread: Spread, slots: int) -> dict[int, Receipt]:
    """The receipts of large cuts, by their numbers."""
    feeds, routes = spread.feeds, sorted(spread.routes)
    loads = deal([each.order for each in feeds], slots)
    tasks = deal([spread.routes[number].order for number in routes], slots)
    of_task = {routes[index]: task for task, members in enumerate(tasks) for index in members}
    plan = [pickle.dumps([feeds[index] for index in load], protocol=5) for load in loads]
    segments = session.createDataFrame(_plan(plan)).mapInArrow(_Feeding(of_task), _SEGMENTS_SQL)
    sorted_segments = segments.repartitionById(len(tasks), "task").sortWithinPartitions(*_ORDER)
    return _answers(sorted_segments.mapInArrow(_Settling(spread.routes), _ANSWERS_SQL).toArrow())


def unshuffled(session: SparkSession, spreads: Sequence[Spread], patience: float) -> dict[int, Receipt]:
    """The receipts of small cuts, each carried by one task."""
    plan = [pickle.dumps((each, patience), protocol=5) for each in spreads]
    return _answers(session.createDataFrame(_plan(plan)).mapInArrow(_carry_spreads, _ANSWERS_SQL).toArrow())


def _plan(loads: Sequence[bytes]) -> pa.Table:
    return pa.table([pa.array(loads, pa.binary())], schema=_PLAN)


def _answers(found: pa.Table) -> dict[int, Receipt]:
    receipts = (pickle.loads(receipt) for receipt in found.column(1).to_pylist())
    return dict(zip(found.column(0).to_pylist(), receipts, strict=True))


def _carry_spreads(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for load in batch.column(0).to_pylist():
            yield from map(_answer, carry_here(*pickle.loads(load)).items())


class _Feeding:
    """The first stage: runs on executors. `of_task`: which task of the second stage settles which route."""

    def __init__(self, of_task: Mapping[int, int]) -> None:
        self._of_task = dict(of_task)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for load in batch.column(0).to_pylist():
                feeds: list[Feed] = pickle.loads(load)
                for arrival in itertools.chain.from_iterable(map(feed, feeds)):
                    yield self._row(arrival)

    def _row(self, arrival: Arrival) -> pa.RecordBatch:
        values = (self._of_task[arrival.target], arrival.target, *arrival.place, arrival.feed, arrival.number)
        columns = [pa.array([value], field.type) for value, field in zip(values, _SEGMENTS, strict=False)]
        return pa.RecordBatch.from_arrays([*columns, pa.array([arrival.data], pa.binary())], schema=_SEGMENTS)


class _Settling:
    """The second stage: runs on executors, over segments that are sorted."""

    def __init__(self, routes: Mapping[int, Route]) -> None:
        self._routes = dict(routes)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrivals = itertools.chain.from_iterable(map(_arrivals, batches))
        yield from map(_answer, settle(self._routes, arrivals))


def _arrivals(batch: pa.RecordBatch) -> Iterator[Arrival]:
    plain = [column.to_pylist() for column in batch.columns[1:-1]]
    for at, (target, commit, start, table, key, number_of_feed, number) in enumerate(zip(*plain, strict=True)):
        place = (commit, start, table, key)
        yield Arrival(target, place, number_of_feed, number, batch.column(8)[at].as_buffer())


def _answer(answer: tuple[int, Receipt]) -> pa.RecordBatch:
    number, receipt = answer
    packed = pickle.dumps(receipt, protocol=5)
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int32()), pa.array([packed], pa.binary())], schema=_ANSWERS
    )
