"""Streams: `spark.readStream.format("tailrace")`.

An offset is a cut, `{"cut": commit ts}`: a batch holds the changes above the cut before it and up to its own, so it
never parts a transaction, and reading it again gives the same rows. No batch crosses a DDL that its columns do not
outlive: the stream ends there with SchemaChanged, after everything before it. A query that is started again at that
cut goes on, with the columns that the table then has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import SchemaChanged
from tailrace.pipeline.view.opening import open_origin
from tailrace.pipeline.view.options import LATEST, ViewOptions
from tailrace.pipeline.view.origin import Limits, Origin, Sight, Span, Version
from tailrace.pipeline.view.shape import check_asked, misfit
from tailrace.pipeline.view.task import read, tasks

_CUT = "cut"


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Planning happens in one process that lives as long as the query; `read` in any, with nothing but its task."""

    def __init__(self, options: ViewOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._origin: Origin | None = None
        self._opened_at: Ts | None = None
        self._last: Ts = MAX_TS
        self._seen: Ts | None = None

    def initialOffset(self) -> dict[str, Any]:
        start = self._options.start_ts
        return {_CUT: self._look().resolved if start == LATEST else start or 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_bytes:
            return ReadMaxBytes(self._options.max_bytes)
        return ReadMaxFiles(self._options.max_files) if self._options.max_files else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._look().resolved

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        cut, sight = int(start[_CUT]), self._look()
        if self._opened_at is None:
            check_asked(self._schema, sight.versions, self._options)
            sight.check_kept(cut)
            self._opened_at = cut
        upto = min(sight.resolved, self._options.end_ts, self._last)
        barrier = self._barrier(sight, cut)
        upto = min(upto, barrier)
        if upto <= cut:
            return start
        unlimited = isinstance(limit, ReadAllAvailable)
        limits = Limits() if unlimited else Limits(self._options.max_files, self._options.max_bytes)
        edge = sight.edge(Span(cut, upto), limits)
        if edge > cut:
            return {_CUT: edge}
        return {_CUT: barrier} if upto == barrier else start

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._seen is None else {_CUT: self._seen}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        span = Span(int(start[_CUT]), int(end[_CUT]))
        return tasks(self._look(), span, span, self._schema, self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition, self._schema, self._options.time_zone)

    def commit(self, end: dict[str, Any]) -> None:
        if self._origin is not None:
            self._origin.release(int(end[_CUT]))

    def stop(self) -> None:
        if self._origin is not None:
            self._origin.close()

    def _look(self) -> Sight:
        if self._origin is None:
            self._origin = open_origin(self._options)
        sight = self._origin.look()
        self._seen = sight.resolved
        return sight

    def _barrier(self, sight: Sight, cut: Ts) -> Ts:
        """The first DDL after the stream was opened that it must not cross; raises SchemaChanged once it is there."""
        for version in sight.versions:
            if version.ts > (self._opened_at or 0) and (why := self._ends(version)):
                if version.ts <= cut:
                    raise self._changed(version, why, sight.versions[-1])
                return version.ts
        return MAX_TS

    def _ends(self, version: Version) -> str:
        if version.rewrites:
            return "begins with a statement that changed rows without a change of each"
        return misfit(self._schema, version.table, self._options)

    def _changed(self, version: Version, why: str, newest: Version) -> SchemaChanged:
        """The stream read everything before `version`, whose rows come next."""
        how = "start the query again to go on with the columns of that version"
        if newest.ts > version.ts:
            how = f"start the query again with schemaAt={version.ts} to go on (the newest version is {newest.ts})"
        said = f" ({version.query})" if version.query else ""
        return SchemaChanged(
            f"the table's version {version.ts} {why}{said}; {how}",
            table=version.table.full_name,
            position=f"version {version.ts}",
        )
