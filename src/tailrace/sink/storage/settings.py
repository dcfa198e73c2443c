"""What the storage sink takes from a changefeed's URI and TOML, checked, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from zoneinfo import ZoneInfo

from tailrace.codec.base import FileEncoder
from tailrace.codec.canal_json import CanalJsonEncoder, CanalJsonOptions
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.config import ObjectStore, SinkConfig, load_changefeed
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
        zone=_zone(spec.time_zone),
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
    made = {"csv": _csv, "canal-json": _canal_json}.get(sink.protocol)
    if made is None:
        raise ConfigError(f"the storage sink cannot write the protocol {sink.protocol}; it may be csv or canal-json")
    return made(sink)


def _csv(sink: SinkConfig) -> FileEncoder:
    csv = sink.csv
    return CsvEncoder(
        CsvOptions(
            delimiter=csv.delimiter,
            quote=csv.quote,
            null=csv.null,
            terminator=sink.terminator,
            include_commit_ts=csv.include_commit_ts,
            binary_encoding_method=csv.binary_encoding_method,
            output_old_value=csv.output_old_value,
            output_handle_key=csv.output_handle_key,
            output_field_header=csv.output_field_header,
        )
    )


def _canal_json(sink: SinkConfig) -> FileEncoder:
    """Files know no limit of size, so what is said of large messages means nothing here."""
    said = sink.messages
    return CanalJsonEncoder(
        CanalJsonOptions(
            enable_tidb_extension=said.enable_tidb_extension,
            content_compatible=said.content_compatible,
            only_output_updated_columns=said.only_output_updated_columns,
            delete_only_output_handle_key_columns=sink.delete_only_output_handle_key_columns,
            terminator=sink.terminator,
        )
    )


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError) as error:
        raise ConfigError(f"time-zone is {name!r}; it must be a name such as Asia/Shanghai or UTC") from error
