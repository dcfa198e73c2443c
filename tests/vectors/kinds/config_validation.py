"""Changefeed configurations: which are refused, and what the others come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.config import ChangefeedConfig, KafkaConfig, MessageConfig, StorageConfig, load_changefeed
from tailrace.config.duration import parse_duration
from tailrace.errors import ConfigError
from tailrace.route.dispatch import Dispatch
from tailrace.route.events import EventFilters
from tailrace.route.filter import TableFilter

KIND = "config_validation"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for case in document["cases"]:
        yield case["name"], _verdict(case)


def _verdict(case: dict[str, Any]) -> str:
    try:
        config = load_changefeed(case["sink_uri"], case["toml"])
        TableFilter(config.filter.rules, config.case_sensitive)
        EventFilters(config.filter.event_filters, config.filter.ignore_txn_start_ts)
        topic = config.sink.kafka.topic if config.sink.kafka else ""
        Dispatch(config.sink.dispatchers, config.case_sensitive, topic, config.sink.protocol, "ticdc")
    except ConfigError as error:
        return "" if not case["ok"] else f"it was refused: {error}"
    if not case["ok"]:
        return f"it was accepted, and should have been refused: {case.get('error')}"
    effective = case.get("effective") or {}
    got = _effective(config)
    wrong = [f"{key} is {got[key]!r}, not {want!r}" for key, want in _wanted(effective).items() if got[key] != want]
    return "; ".join(wrong)


def _wanted(effective: dict[str, Any]) -> dict[str, Any]:
    """The golden values of keys that have a counterpart, in our words."""
    groups = ("storage", "csv", "kafka", "codec")
    known = {key: value for key, value in effective.items() if key in _PLAIN}
    for group in groups:
        known |= {f"{group} {key}": value for key, value in effective.get(group, {}).items()}
    known["dispatchers"] = [(rule["matcher"], rule["partition"]) for rule in effective.get("dispatchers", ())]
    if "storage flush-interval" in known:
        known["storage flush-interval"] = parse_duration(known["storage flush-interval"])
    for key in ("date-separator", "storage date-separator"):
        # Another case passes TiCDC's check and then means no level when it writes.
        if key in known and known[key] not in ("year", "month", "day"):
            known[key] = "none"
    return known if "storage" in effective else {key: known[key] for key in known.keys() - _OF_FILES}


_PLAIN = frozenset(
    {
        "date-separator",
        "enable-partition-separator",
        "file-index-digit",
        "integrity-check-level",
        "protocol",
        "terminator",
        "transaction-atomicity",
    }
)
# What TiCDC shows for other sinks too, unchecked and unused.
_OF_FILES = frozenset({"date-separator", "file-index-digit"})


def _effective(config: ChangefeedConfig) -> dict[str, Any]:
    sink, csv = config.sink, config.sink.csv
    plain = {
        "date-separator": sink.date_separator,
        "dispatchers": [(list(rule.matcher), rule.partition) for rule in sink.dispatchers],
        "enable-partition-separator": sink.enable_partition_separator,
        "file-index-digit": sink.file_index_width,
        "integrity-check-level": config.integrity_check_level,
        "protocol": sink.protocol,
        "terminator": sink.terminator,
        "transaction-atomicity": sink.transaction_atomicity,
        "csv binary-encoding-method": csv.binary_encoding_method,
        "csv delimiter": csv.delimiter,
        "csv include-commit-ts": csv.include_commit_ts,
        "csv null": csv.null,
        "csv output-handle-key": csv.output_handle_key,
        "csv output-old-value": csv.output_old_value,
        "csv quote": csv.quote,
    }
    plain |= _codec(config, sink.messages)
    plain |= _kafka(sink.kafka, sink.messages) if sink.kafka else {}
    return plain | (_storage(config, sink.storage) if sink.storage else {})


def _codec(config: ChangefeedConfig, messages: MessageConfig) -> dict[str, Any]:
    return {
        "codec avro-bigint-unsigned-handling-mode": messages.avro_bigint_unsigned_handling_mode,
        "codec avro-decimal-handling-mode": messages.avro_decimal_handling_mode,
        "codec content-compatible": messages.content_compatible,
        "codec delete-only-output-handle-key-columns": config.sink.delete_only_output_handle_key_columns,
        "codec enable-row-checksum": config.integrity_check_level != "none",
        "codec enable-tidb-extension": messages.enable_tidb_extension,
        "codec encoding-format": messages.encoding_format,
        "codec large-message-handle-compression": messages.large_message_handle_compression,
        "codec large-message-handle-option": messages.large_message_handle_option,
        "codec max-batch-size": messages.max_batch_size,
        "codec max-message-bytes": messages.max_message_bytes,
        "codec only-output-updated-columns": messages.only_output_updated_columns,
    }


def _kafka(kafka: KafkaConfig, messages: MessageConfig) -> dict[str, Any]:
    return {
        "kafka auto-create-topic": kafka.auto_create_topic,
        "kafka compression": kafka.compression,
        "kafka max-message-bytes": messages.max_message_bytes,
        "kafka partition-num": kafka.partition_num,
        "kafka replication-factor": kafka.replication_factor,
        "kafka required-acks": kafka.required_acks,
    }


def _storage(config: ChangefeedConfig, storage: StorageConfig) -> dict[str, Any]:
    return {
        "storage date-separator": config.sink.date_separator,
        "storage enable-partition-separator": config.sink.enable_partition_separator,
        "storage file-cleanup-cron-spec": storage.file_cleanup_cron_spec,
        "storage file-expiration-days": storage.file_expiration_days,
        "storage file-index-width": config.sink.file_index_width,
        "storage file-size": storage.file_size,
        "storage flush-concurrency": storage.flush_concurrency,
        "storage flush-interval": storage.flush_interval,
        "storage output-column-id": storage.output_column_id,
        "storage worker-count": storage.worker_count,
    }
