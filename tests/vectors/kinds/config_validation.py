"""Changefeed configurations: which are refused, and what the others come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.config import ChangefeedConfig, StorageConfig, load_changefeed
from tailrace.config.duration import parse_duration
from tailrace.config.storage import SCHEMES
from tailrace.errors import ConfigError
from tailrace.route.filter import TableFilter

KIND = "config_validation"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for case in document["cases"]:
        scheme = case["sink_uri"].partition("://")[0].lower()
        built = scheme in SCHEMES or scheme == "blackhole"
        yield case["name"], _verdict(case) if built else f"skip: no {scheme}:// sink is built yet"


def _verdict(case: dict[str, Any]) -> str:
    try:
        config = load_changefeed(case["sink_uri"], case["toml"])
        TableFilter(config.filter.rules, config.case_sensitive)
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
    storage = effective.get("storage", {})
    known = {key: value for key, value in effective.items() if key in _PLAIN}
    known |= {f"csv {key}": value for key, value in effective.get("csv", {}).items()}
    known |= {f"storage {key}": value for key, value in storage.items()}
    if "storage flush-interval" in known:
        known["storage flush-interval"] = parse_duration(known["storage flush-interval"])
    for key in ("date-separator", "storage date-separator"):
        # Another case passes TiCDC's check and then means no level when it writes.
        if key in known and known[key] not in ("year", "month", "day"):
            known[key] = "none"
    return known


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


def _effective(config: ChangefeedConfig) -> dict[str, Any]:
    sink, csv = config.sink, config.sink.csv
    plain = {
        "date-separator": sink.date_separator,
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
    return plain | (_storage(config, sink.storage) if sink.storage else {})


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
