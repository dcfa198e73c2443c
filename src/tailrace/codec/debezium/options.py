"""What a changefeed says of debezium, under TiCDC's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DebeziumOptions:
    """`cluster_id` names the source; `time_zone` is the one that the text of a TIMESTAMP is in."""

    cluster_id: str = "default"
    debezium_disable_schema: bool = False
    output_old_value: bool = True
    time_zone: str = "UTC"
