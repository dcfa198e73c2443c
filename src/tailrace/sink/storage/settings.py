"""What the storage sink takes from a changefeed's URI and TOML, checked, as one value."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.codec.base import FileEncoder
from tailrace.config import ObjectStore
from tailrace.config.values import SchemaDialect
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
