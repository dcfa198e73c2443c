"""The parent of Spark's Python workers: PySpark's own daemon, with everything imported before it forks.

Workers then start with their imports done and share those pages of memory. Nothing here may start a thread or open a
connection: neither survives a fork.
"""

from __future__ import annotations

import importlib

from pyspark.daemon import manager

# What every piece needs, whichever ends it has.
AHEAD = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.fs",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "tailrace.pipeline.loads",
    "tailrace.sink.storage.sink",
    "tailrace.upstream.dataserver.client",
)

if __name__ == "__main__":
    for name in AHEAD:
        importlib.import_module(name)
    manager()
