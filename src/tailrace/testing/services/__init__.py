"""Real components for tests, on loopback: started by `scripts/services`, found by `connection`."""

from tailrace.testing.services.found import connection, is_up, program
from tailrace.testing.services.gcs import GcsConnection
from tailrace.testing.services.s3 import S3Connection

__all__ = ["GcsConnection", "S3Connection", "connection", "is_up", "program"]
