"""What the storage sink takes from a changefeed's URI and TOML, checked, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from zoneinfo import ZoneInfo

from tailrace.codec.base import FileEncoder
<<<<<<< HEAD
from tailrace.config import ObjectStore
from tailrace.config.values import SchemaDialect
=======
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.config import ObjectStore, SinkConfig, load_changefeed
from tailrace.errors import ConfigError
>>>>>>> storage
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
<<<<<<< HEAD
    import tomllib
    from urllib.parse import parse_qs, urlsplit
    from zoneinfo import ZoneInfo

    from tailrace.codec.csv import CsvEncoder, CsvOptions
    from tailrace.config.secret import Secret

    u = urlsplit(spec.uri)
    q = {k: v[0] for k, v in parse_qs(u.query).items()}
    t = tomllib.loads(spec.config)["sink"]
    csv = {k.replace("-", "_"): v for k, v in t.get("csv", {}).items()}
    return Settings(
        ObjectStore(
            u.scheme, u.netloc, u.path, tuple(q.items()), tuple((k, Secret(v)) for k, v in q.items() if "secret" in k)
        ),
        Layout(
            ".csv",
            t.get("date-separator", "day"),
            t.get("enable-partition-separator", True),
            t.get("file-index-digit", 20),
            ZoneInfo(spec.time_zone),
        ),
        CsvEncoder(CsvOptions(**csv)),
        2.0,
        int(q.get("file-size", 64 << 20)),
        q.get("transaction-atomicity", "none") == "table",
        False,
        False,
        "classic",
        t.get("cloud-storage-config", {}).get("file-expiration-days", 0),
        Schedule.parse(t.get("cloud-storage-config", {}).get("file-cleanup-cron-spec", "0 0 2 * * *")),
    )
=======
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
    if sink.protocol != "csv":
        raise ConfigError(f"the storage sink cannot write the protocol {sink.protocol}; it may be csv")
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


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError) as error:
        raise ConfigError(f"time-zone is {name!r}; it must be a name such as Asia/Shanghai or UTC") from error
>>>>>>> storage
