"""What a changefeed says of open-protocol, under TiCDC's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LargeMessages = Literal["none", "handle-key-only", "claim-check"]


@dataclass(frozen=True, slots=True)
class OpenProtocolOptions:
    """A message holds up to `max_batch_size` changes and is no larger than `max_message_bytes`, counting what a record
    costs beside its key and value."""

    max_batch_size: int = 16
    max_message_bytes: int = 10 << 20
    output_old_value: bool = True
    only_output_updated_columns: bool = False
    delete_only_output_handle_key_columns: bool = False
    large_message_handle_option: LargeMessages = "none"
    claim_check_storage_uri: str = ""
