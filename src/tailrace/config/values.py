"""Configuration values: what a changefeed's TOML and sink URI say, once they have been checked.

Frozen, comparable, without a default that could hide a missing key: `load` fills every field. Names are TiCDC's key
names with `_` for `-`. Nothing here reads text, and no value shows a secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.config.secret import Secret

DateSeparator = Literal["none", "year", "month", "day"]
Atomicity = Literal["none", "table"]
SchemaDialect = Literal["classic", "new"]
DispatchDialect = Literal["tailrace", "ticdc"]


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

    `options` are the plain parameters of the scheme (endpoint, region, force-path-style, ...) and `secrets` those
    that must not be shown, both under their names in the URI, only those that were given.
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
