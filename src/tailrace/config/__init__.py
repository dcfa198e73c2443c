"""TiCDC's changefeed TOML and sink URIs -> frozen values."""

from tailrace.config.load import load_changefeed
from tailrace.config.secret import Secret, masked_uri
from tailrace.config.values import (
    ChangefeedConfig,
    ColumnSelector,
    CsvConfig,
    DispatchRule,
    FilterConfig,
    KafkaConfig,
    MessageConfig,
    ObjectStore,
    SinkConfig,
    StorageConfig,
)
from tailrace.config.zone import zone_named

__all__ = [
    "ChangefeedConfig",
    "ColumnSelector",
    "CsvConfig",
    "DispatchRule",
    "FilterConfig",
    "KafkaConfig",
    "MessageConfig",
    "ObjectStore",
    "Secret",
    "SinkConfig",
    "StorageConfig",
    "load_changefeed",
    "masked_uri",
    "zone_named",
]
