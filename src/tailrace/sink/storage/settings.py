"""What the storage sink takes from a changefeed's URI and TOML, checked, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.codec.base import FileEncoder
from tailrace.codec.canal_json import CanalJsonEncoder, CanalJsonOptions
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.config import ObjectStore, SinkConfig, load_changefeed, zone_named
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
    schema_dialect: Literal["classic", "new"]
    expiration_days: int
    cleanup: Schedule


def load_settings(spec: SinkSpec) -> Settings:
    """Raises ConfigError for everything that can be known to be wrong without asking the target."""
    changefeed = load_changefeed(spec.uri, spec.config)
    sink, storage = changefeed.sink, changefeed.sink.storage
    if storage is None:
        raise ConfigError(f"the sink URI's scheme is {changefeed.scheme}, which is no storage sink's")
    encoder = _encoder(sink)
    layout = Layout(
        extension=encoder.extension,
        date_separator=sink.date_separator,
        partition_separator=sink.enable_partition_separator,
        digits=sink.file_index_width,
        zone=zone_named(spec.time_zone),
    )
    return Settings(
        target=storage.store,
        layout=layout,
        encoder=encoder,
        flush_seconds=storage.flush_interval,
        file_size=storage.file_size,
        whole_transactions=sink.whole_transactions,
        raw_change_event=storage.output_raw_change_event,
        output_column_id=storage.output_column_id,
        schema_dialect=sink.schema_dialect,
        expiration_days=storage.file_expiration_days,
        cleanup=Schedule.parse(storage.file_cleanup_cron_spec),
    )


def _encoder(sink: SinkConfig) -> FileEncoder:
    if sink.protocol == "csv":
        return CsvEncoder(CsvOptions.of(sink))
    if sink.protocol == "canal-json":
        return CanalJsonEncoder(CanalJsonOptions.of_files(sink))
    raise ConfigError(f"the storage sink cannot write the protocol {sink.protocol}; it may be csv or canal-json")
