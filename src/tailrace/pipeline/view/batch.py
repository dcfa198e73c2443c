"""Batch reads: `spark.read.format("tailrace")`.

A read sees the changes up to what is resolved when it is planned, whole transactions only. Each action plans anew; with
`endTs` every one of them gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from tailrace.errors import ConfigError
from tailrace.pipeline.view.filters import span_of
from tailrace.pipeline.view.opening import open_origin
from tailrace.pipeline.view.options import LATEST, ViewOptions
from tailrace.pipeline.view.origin import Span
from tailrace.pipeline.view.shape import check_asked
from tailrace.pipeline.view.task import read, tasks


class BatchReader(DataSourceReader):
    def __init__(self, options: ViewOptions, schema: StructType) -> None:
        if options.start_ts == LATEST:
            raise ConfigError("the option startTs is latest, which is for streams; it must be a TSO or a moment")
        self._options = options
        self._schema = schema
        self._needed = Span()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """All filters are left to Spark as well; here they only say what need not be read."""
        self._needed = span_of(filters)
        return filters

    def partitions(self) -> list[InputPartition]:
        options = self._options
        origin = open_origin(options)
        try:
            sight = origin.look()
            check_asked(self._schema, sight.versions, options)
            sight.check_kept(options.start_ts or 0)
            span = Span(options.start_ts or 0, min(options.end_ts, sight.resolved))
            return tasks(sight, span, self._needed, self._schema, options)
        finally:
            origin.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read(partition, self._schema, self._options.time_zone)
