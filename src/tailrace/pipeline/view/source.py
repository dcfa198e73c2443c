"""The data source `tailrace`: what Spark asks for a schema, a reader and a stream.

Registering is one call for a session. Spark runs every method here in Python processes of its own, so an object
holds options and nothing else.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from tailrace.pipeline.view.batch import BatchReader
from tailrace.pipeline.view.opening import open_origin
from tailrace.pipeline.view.options import read_options
from tailrace.pipeline.view.shape import schema_of
from tailrace.pipeline.view.stream import StreamReader

# Spark leaves filters where they are unless it is told that Python sources may have them.
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class TailraceSource(DataSource):
    """A table's changes; `docs/view.md` has the options."""

    @classmethod
    def name(cls) -> str:
        return "tailrace"

    def schema(self) -> StructType:
        options = read_options(self.options)
        origin = open_origin(options)
        try:
            return schema_of(origin.look().versions, options)
        finally:
            origin.close()

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return StreamReader(read_options(self.options), schema)


def register(spark: SparkSession) -> None:
    """Make `spark.read` and `spark.readStream.format("tailrace")` known in a session."""
    spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(TailraceSource)
