"""Configuration values: what a changefeed's TOML and sink URI say, once they have been checked.

Frozen, comparable, without a default that could hide a missing key: the modules beside this one fill every field.
Names are TiCDC's key names with `_` for `-`. Nothing here reads text, and no value shows a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.config.secret import Secret

DateSeparator = Literal["none", "year", "month", "day"]
Atomicity = Literal["", "none", "table"]
SchemaDialect = Literal["classic", "new"]
DispatchDialect = Literal["tailrace", "ticdc"]
IntegrityLevel = Literal["none", "correctness"]


@dataclass(frozen=True, slots=True)
class CsvConfig:
    """`[sink.csv]`."""

    delimiter: str
    quote: str
    null: str
    include_commit_ts: bool
    binary_encoding_method: Literal["base64", "hex"]
    output_old_value: bool
    output_handle_key: bool
    output_field_header: bool


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Where a storage sink writes: `bucket` (empty for files) and `prefix`, and how to reach them.

    `prefix` is an absolute folder for files, else without a slash at either end. `options` are the plain parameters
    of the scheme (endpoint, region, force-path-style, ...) and `secrets` those that must not be shown, both under
    their names in the URI, only those that were given.
    """

    scheme: str
    bucket: str
    prefix: str
    options: tuple[tuple[str, str], ...]
    secrets: tuple[tuple[str, Secret], ...]

    def option(self, name: str, default: str = "") -> str:
        return dict(self.options).get(name, default)

    def flag(self, name: str, default: bool = False) -> bool:
        return {"true": True, "false": False}.get(self.option(name), default)

    def secret(self, name: str) -> Secret:
        return dict(self.secrets).get(name, Secret(""))


@dataclass(frozen=True, slots=True)
class StorageConfig:
    """A storage URI's parameters and `[sink.cloud-storage-config]`. `flush_interval` is in seconds."""

    store: ObjectStore
    worker_count: int
    flush_interval: float
    file_size: int
    flush_concurrency: int
    file_expiration_days: int
    file_cleanup_cron_spec: str
    output_column_id: bool
    output_raw_change_event: bool


@dataclass(frozen=True, slots=True)
class EventFilter:
    """One `[[filter.event-filters]]`; an expression that is empty leaves nothing out."""

    matcher: tuple[str, ...]
    ignore_event: tuple[str, ...] = ()
    ignore_sql: tuple[str, ...] = ()
    insert: str = ""
    update_old: str = ""
    update_new: str = ""
    delete: str = ""


@dataclass(frozen=True, slots=True)
class FilterConfig:
    """`[filter]`; the rules are compiled by `route`."""

    rules: tuple[str, ...]
    ignore_txn_start_ts: tuple[int, ...] = ()
    event_filters: tuple[EventFilter, ...] = ()


@dataclass(frozen=True, slots=True)
class DispatchRule:
    """One of `sink.dispatchers`; `partition` is what either of its two spellings said."""

    matcher: tuple[str, ...]
    partition: str
    index: str
    columns: tuple[str, ...]
    topic: str


@dataclass(frozen=True, slots=True)
class ColumnSelector:
    """One `[[sink.column-selectors]]`."""

    matcher: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessageConfig:
    """How rows become messages; sizes in bytes. URIs are secrets, because they may hold some."""

    enable_tidb_extension: bool
    max_batch_size: int
    max_message_bytes: int
    avro_decimal_handling_mode: str
    avro_bigint_unsigned_handling_mode: str
    avro_enable_watermark: bool
    schema_registry: Secret
    only_output_updated_columns: bool
    content_compatible: bool
    debezium_disable_schema: bool
    encoding_format: Literal["json", "avro"]
    large_message_handle_option: str
    large_message_handle_compression: str
    claim_check_storage_uri: Secret
    claim_check_raw_value: bool
    open_output_old_value: bool
    debezium_output_old_value: bool


@dataclass(frozen=True, slots=True)
class KafkaTls:
    """Paths of files are empty where the system's own certificates are meant."""

    enabled: bool
    ca: str
    cert: str
    key: str
    insecure_skip_verify: bool


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """A Kafka URI's parameters and `[sink.kafka-config]`. Timeouts in seconds; `partition_num` 0: as the topic has."""

    brokers: tuple[str, ...]
    topic: str
    partition_num: int
    replication_factor: int
    kafka_version: str
    compression: str
    client_id: str
    auto_create_topic: bool
    dial_timeout: float
    write_timeout: float
    read_timeout: float
    required_acks: int
    max_retry: int
    output_raw_change_event: bool
    tls: KafkaTls
    sasl_options: tuple[tuple[str, str], ...]
    sasl_secrets: tuple[tuple[str, Secret], ...]


@dataclass(frozen=True, slots=True)
class SinkConfig:
    """`[sink]` with what the URI says of the same. `storage` is None where the sink is no object store, and `kafka`
    where it is not Kafka."""

    protocol: str
    terminator: str
    transaction_atomicity: Atomicity
    date_separator: DateSeparator
    enable_partition_separator: bool
    file_index_width: int
    schema_dialect: SchemaDialect
    dispatch_dialect: DispatchDialect
    delete_only_output_handle_key_columns: bool
    dispatchers: tuple[DispatchRule, ...]
    column_selectors: tuple[ColumnSelector, ...]
    csv: CsvConfig
    messages: MessageConfig
    storage: StorageConfig | None
    kafka: KafkaConfig | None

    @property
    def whole_transactions(self) -> bool:
        """Whether a transaction of one table has to stay in one file or batch."""
        return self.transaction_atomicity == "table"


@dataclass(frozen=True, slots=True)
class ChangefeedConfig:
    """A changefeed. `uri` is the sink's, without its secrets; `warnings` are for whoever made the subscription."""

    scheme: str
    uri: str
    case_sensitive: bool
    force_replicate: bool
    ignore_ineligible_table: bool
    integrity_check_level: IntegrityLevel
    filter: FilterConfig
    sink: SinkConfig
    warnings: tuple[str, ...]
