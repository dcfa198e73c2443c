"""The view: a table's changes as a typed DataFrame, `spark.read` and `spark.readStream.format("tailrace")`."""

from tailrace.pipeline.view.failure import failure_of
from tailrace.pipeline.view.source import TailraceSource, register

__all__ = ["TailraceSource", "failure_of", "register"]
