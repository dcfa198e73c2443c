"""What the storage sink takes from a changefeed's URI and TOML, checked, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.codec.base import FileEncoder
from tailrace.config import ObjectStore
from tailrace.config.values import SchemaDialect
from tailrace.errors import ConfigError
from tailrace.sink.base import SinkSpec
from tailrace.sink.storage.cron import Schedule
from tailrace.sink.storage.paths import Layout


@dataclass(frozen=True, slots=True)
class Settings:
    """`expiration_days` is 0 where nothing expires."""

    target: ObjectStore
    layout: Layout
    encoder: FileEncoder
    flush_seconds: float
    file_size: int
    whole_transactions: bool
    raw_change_event: bool
    output_column_id: bool
    schema_dialect: SchemaDialect
    expiration_days: int
    cleanup: Schedule


def load_settings(spec: SinkSpec) -> Settings:
    raise ConfigError("not yet")
