"""What a changefeed says of canal-json, under TiCDC's names and with its defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.config import SinkConfig

LargeMessages = Literal["none", "handle-key-only", "claim-check"]


@dataclass(frozen=True, slots=True)
class CanalJsonOptions:
    """`terminator` ends each row of a file. The last four are of messages only; a message is no larger than
    `max_message_bytes`, counting what a record costs beside its key and value."""

    enable_tidb_extension: bool = False
    content_compatible: bool = False
    only_output_updated_columns: bool = False
    delete_only_output_handle_key_columns: bool = False
    terminator: str = "\r\n"
    max_message_bytes: int = 10 << 20
    large_message_handle_option: LargeMessages = "none"
    claim_check_storage_uri: str = ""
    claim_check_raw_value: bool = False

    @classmethod
    def of_files(cls, sink: SinkConfig) -> CanalJsonOptions:
        """Files know no limit of size, so what is said of large messages means nothing to them."""
        said = sink.messages
        return cls(
            enable_tidb_extension=said.enable_tidb_extension,
            content_compatible=said.content_compatible,
            only_output_updated_columns=said.only_output_updated_columns,
            delete_only_output_handle_key_columns=sink.delete_only_output_handle_key_columns,
            terminator=sink.terminator,
        )

    @property
    def old_is_partial(self) -> bool:
        """Whether `old` holds only what an update changed; `content-compatible` implies it."""
        return self.only_output_updated_columns or self.content_compatible
