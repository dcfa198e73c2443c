"""TiCDC's changefeed TOML and sink URIs -> frozen values."""

from tailrace.config.secret import Secret, masked_uri
from tailrace.config.values import CsvConfig, ObjectStore, StorageConfig

__all__ = ["CsvConfig", "ObjectStore", "Secret", "StorageConfig", "masked_uri"]
