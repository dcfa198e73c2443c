"""Reading a view as Spark does, in this process: plan, then read each task from its pickled form."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

from pyspark.sql.datasource import Filter, InputPartition

from tailrace.pipeline.view.batch import BatchReader
from tailrace.pipeline.view.source import TailraceSource
from tailrace.pipeline.view.stream import StreamReader

Rows = list[dict[str, Any]]


def options(where: object, **more: str) -> dict[str, str]:
    return {"path": str(where), "table": "shop.orders", **more}


def batch_rows(where: object, filters: Sequence[Filter] = (), **more: str) -> Rows:
    source = TailraceSource(options(where, **more))
    reader = source.reader(source.schema())
    assert isinstance(reader, BatchReader)
    reader.pushFilters(list(filters))
    return read_all(reader, reader.partitions())


def stream(where: object, **more: str) -> StreamReader:
    source = TailraceSource(options(where, **more))
    reader = source.streamReader(source.schema())
    assert isinstance(reader, StreamReader)
    return reader


def read_all(reader: BatchReader | StreamReader, tasks: Sequence[InputPartition]) -> Rows:
    found: Rows = []
    for task in pickle.loads(pickle.dumps(list(tasks))):
        for batch in reader.read(task):
            found += batch.to_pylist()
    return found


def ids(rows: Rows) -> list[int]:
    return [row["id"] for row in rows]
