"""`[sink.csv]`: the options of CSV files, with TiCDC's defaults and limits.

Lengths are counted in bytes, as TiCDC counts them. The options are checked for every storage sink, also where its
protocol is another one.
"""

from __future__ import annotations

from typing import Literal, cast

from tailrace.config.table import Table
from tailrace.config.values import CsvConfig
from tailrace.errors import ConfigError


def read_csv(table: Table) -> CsvConfig:
    """The options as they were given; what may not be is for `check_csv`."""
    return CsvConfig(
        delimiter=table.text("delimiter", ","),
        quote=table.text("quote", '"'),
        null=table.text("null", "\\N"),
        include_commit_ts=table.flag("include-commit-ts"),
        binary_encoding_method=cast(Literal["base64", "hex"], table.text("binary-encoding-method", "base64")),
        output_old_value=table.flag("output-old-value"),
        output_handle_key=table.flag("output-handle-key"),
        output_field_header=table.flag("output-field-header"),
    )


def check_csv(config: CsvConfig, table: Table) -> None:
    delimiter, quote = config.delimiter, config.quote
    if len(quote.encode()) > 1:
        raise ConfigError(f"{table.key('quote')} is {quote!r}; it may be one ASCII character or empty")
    if quote in ("\r", "\n"):
        raise ConfigError(f"{table.key('quote')} is a line break; it may be another ASCII character or empty")
    if not delimiter:
        raise ConfigError(f"{table.key('delimiter')} is empty; it may be 1 to 3 bytes")
    if "\r" in delimiter or "\n" in delimiter:
        raise ConfigError(f"{table.key('delimiter')} is {delimiter!r}; it may not hold line breaks")
    if len(delimiter.encode()) > 3:
        raise ConfigError(
            f"{table.key('delimiter')} is {delimiter!r}; it may be 1 to 3 bytes (escapes need double quotes in TOML)"
        )
    if quote and quote in delimiter:
        raise ConfigError(f"{table.key('delimiter')} {delimiter!r} may not hold {table.key('quote')} {quote!r}")
    table.choice("binary-encoding-method", "base64", ("base64", "hex"))
