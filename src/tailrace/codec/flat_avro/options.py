"""What a changefeed says of flat-avro, under TiCDC's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tailrace.errors import ConfigError

_MODES = {
    "avro_decimal_handling_mode": ("precise", "string"),
    "avro_bigint_unsigned_handling_mode": ("long", "string"),
}


@dataclass(frozen=True, slots=True)
class FlatAvroOptions:
    """`namespace` is the changefeed's; `time_zone` is the one that TIMESTAMPs are shown in, which their checksum is
    not. `avro_enable_watermark` adds DDL messages too, and means nothing without the extension, as in TiCDC."""

    enable_tidb_extension: bool = False
    avro_decimal_handling_mode: Literal["precise", "string"] = "precise"
    avro_bigint_unsigned_handling_mode: Literal["long", "string"] = "long"
    avro_enable_watermark: bool = False
    enable_row_checksum: bool = False
    max_message_bytes: int = 10 << 20
    namespace: str = "default"
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        for name, allowed in _MODES.items():
            value: Any = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"{_spelled(name)} is {value!r}; it may be {' or '.join(allowed)}")
        if self.max_message_bytes <= 0:
            raise ConfigError(f"max-message-bytes is {self.max_message_bytes}; it may be 1 or more")
        if not self.enable_row_checksum:
            return
        if not self.enable_tidb_extension:
            raise ConfigError("row checksums with avro need enable-tidb-extension=true, which is false")
        for name in _MODES:
            if getattr(self, name) != "string":
                raise ConfigError(f"row checksums with avro need {_spelled(name)}=string, not {getattr(self, name)}")

    @property
    def has_events(self) -> bool:
        """Whether DDLs and watermarks are messages."""
        return self.enable_tidb_extension and self.avro_enable_watermark


def _spelled(name: str) -> str:
    return name.replace("_", "-")
