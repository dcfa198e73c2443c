"""What a changefeed says of simple, under TiCDC's names and with its defaults. The form is JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LargeMessages = Literal["none", "handle-key-only", "claim-check"]


@dataclass(frozen=True, slots=True)
class SimpleOptions:
    """`time_zone` is the one that the text of a TIMESTAMP is in. A message is no larger than `max_message_bytes`,
    counting what a record costs beside its value."""

    time_zone: str = "UTC"
    max_message_bytes: int = 10 << 20
    large_message_handle_option: LargeMessages = "none"
    claim_check_storage_uri: str = ""
    claim_check_raw_value: bool = False
