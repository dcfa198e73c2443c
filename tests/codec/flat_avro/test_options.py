"""Combinations of options that cannot be are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.codec.flat_avro import FlatAvroOptions
from tailrace.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"avro_decimal_handling_mode": "exact"}, "avro-decimal-handling-mode"),
        ({"avro_bigint_unsigned_handling_mode": "number"}, "avro-bigint-unsigned-handling-mode"),
        ({"max_message_bytes": 0}, "max-message-bytes"),
        ({"enable_row_checksum": True}, "enable-tidb-extension"),
        ({"enable_row_checksum": True, "enable_tidb_extension": True}, "avro-decimal-handling-mode"),
        (
            {"enable_row_checksum": True, "enable_tidb_extension": True, "avro_decimal_handling_mode": "string"},
            "avro-bigint-unsigned-handling-mode",
        ),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        FlatAvroOptions(**given)


def test_watermarks_without_the_extension_mean_nothing() -> None:
    assert not FlatAvroOptions(avro_enable_watermark=True).has_events
    assert FlatAvroOptions(avro_enable_watermark=True, enable_tidb_extension=True).has_events
