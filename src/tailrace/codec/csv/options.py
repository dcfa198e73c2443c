"""The options of the CSV protocol, as a changefeed's `[sink.csv]` gives them.

A `CsvOptions` that exists is valid: everything else was refused with a ConfigError that names the key and what it may
be. It says nothing about values; what a form cannot carry is the encoder's matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tailrace.config import SinkConfig
from tailrace.errors import ConfigError

LONGEST_DELIMITER = 3


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """TiCDC's names with underscores, and its defaults. `terminator` is `[sink] terminator`.

    An empty `quote` is escape mode: the delimiter, line ends and backslashes inside a value get a backslash.
    """

    delimiter: str = ","
    quote: str = '"'
    null: str = "\\N"
    terminator: str = "\r\n"
    include_commit_ts: bool = False
    binary_encoding_method: Literal["base64", "hex"] = "base64"
    output_old_value: bool = False
    output_handle_key: bool = False
    output_field_header: bool = False

    @classmethod
    def of(cls, sink: SinkConfig) -> CsvOptions:
        csv = sink.csv
        return cls(
            delimiter=csv.delimiter,
            quote=csv.quote,
            null=csv.null,
            terminator=sink.terminator,
            include_commit_ts=csv.include_commit_ts,
            binary_encoding_method=csv.binary_encoding_method,
            output_old_value=csv.output_old_value,
            output_handle_key=csv.output_handle_key,
            output_field_header=csv.output_field_header,
        )

    def __post_init__(self) -> None:
        if len(self.quote.encode()) > 1 or self.quote in ("\r", "\n"):
            raise _wrong("quote", self.quote, "one byte that is no line break, or empty")
        if not 0 < len(self.delimiter.encode()) <= LONGEST_DELIMITER:
            raise _wrong("delimiter", self.delimiter, f"1 to {LONGEST_DELIMITER} bytes")
        if "\r" in self.delimiter or "\n" in self.delimiter:
            raise _wrong("delimiter", self.delimiter, "free of line breaks")
        if self.quote and self.quote in self.delimiter:
            raise _wrong("quote", self.quote, f"no part of the delimiter {self.delimiter!r}")
        if self.binary_encoding_method not in ("base64", "hex"):
            raise _wrong("binary-encoding-method", self.binary_encoding_method, "base64 or hex")


def _wrong(key: str, value: str, rule: str) -> ConfigError:
    return ConfigError(f"sink.csv.{key} is {value!r}; it must be {rule}")
