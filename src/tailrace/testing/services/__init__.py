"""Real components for tests, on loopback: started by `scripts/services`, found by `connection`."""

from tailrace.testing.services.azure import AzureConnection
from tailrace.testing.services.found import Cloud, connection, is_up, program
from tailrace.testing.services.gcs import GcsConnection
from tailrace.testing.services.s3 import S3Connection
from tailrace.testing.services.spark import SparkConnection

__all__ = [
    "AzureConnection",
    "Cloud",
    "GcsConnection",
    "S3Connection",
    "SparkConnection",
    "connection",
    "is_up",
    "program",
]
