"""Real components for tests, on loopback: started by `scripts/services`, found by `connection`."""

from tailrace.testing.services.found import connection, is_up
from tailrace.testing.services.s3 import S3Connection
from tailrace.testing.services.spark import SparkConnection

__all__ = ["S3Connection", "SparkConnection", "connection", "is_up"]
