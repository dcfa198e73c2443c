"""Tasks of a view: what Spark hands to a worker, and how the worker reads it.

Arrow batches come out, never rows. A task needs nothing of the driver but itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tailrace.pipeline.view.frame import Frame
from tailrace.pipeline.view.options import ViewOptions
from tailrace.pipeline.view.origin import Portion, Sight, Span, Traits
from tailrace.pipeline.view.shape import check_fits


class Task(InputPartition):
    """One portion, and what its changes carry."""

    def __init__(self, portion: Portion, traits: Traits) -> None:
        super().__init__(portion)
        self.portion = portion
        self.traits = traits


def tasks(sight: Sight, span: Span, needed: Span, schema: StructType, options: ViewOptions) -> list[InputPartition]:
    """The tasks of a span; raises SchemaChanged where some of its rows are of a version that does not fit."""
    if span.is_empty:
        return []
    portions = sight.portions(span, needed)
    for table in dict.fromkeys(table for portion in portions for table in portion.tables):
        check_fits(schema, table, options, _hint(sight, table.version))
    return [Task(portion, sight.traits) for portion in portions]


def read(partition: InputPartition, schema: StructType, zone: str) -> Iterator[pa.RecordBatch]:
    """The rows of a task; none of the empty task that Spark makes where there is none."""
    if not isinstance(partition, Task):
        return
    frame = Frame(to_arrow_schema(schema, timezone="UTC"), partition.traits, zone)
    for batch in partition.portion.read(frame.wanted):
        yield frame.of(batch, partition.portion.snapshot)


def _hint(sight: Sight, version: int) -> str:
    later = next((each.ts for each in sight.versions if each.ts > version), 0)
    upto = f" and endTs={later}" if later else ""
    return f"set mergeSchema, choose columns that all versions have, or read its rows by schemaAt={version}{upto}"
