"""Options of messages: how rows become messages of a queue, and what of that also holds for lines of a file.

They come from the URI, from `[sink]` and from `[sink.kafka-config.codec-config]`, which TiCDC reads for every sink;
the URI wins. Combinations that a protocol cannot carry are refused.
"""

from __future__ import annotations

from typing import Literal, cast

from tailrace.config.secret import Secret
from tailrace.config.table import Table, choice_of
from tailrace.config.uri import SinkUri
from tailrace.config.values import MessageConfig
from tailrace.errors import ConfigError

PARAMETERS = (
    "enable-tidb-extension",
    "max-batch-size",
    "max-message-bytes",
    "avro-decimal-handling-mode",
    "avro-bigint-unsigned-handling-mode",
    "avro-enable-watermark",
    "schema-registry",
    "only-output-updated-columns",
    "content-compatible",
    "debezium-disable-schema",
    "encoding-format",
)
_LARGE = ("none", "claim-check", "handle-key-only")
_SQUEEZED = ("none", "snappy", "lz4")


def read_messages(uri: SinkUri, root: Table, protocol: str) -> MessageConfig:
    """The options for `protocol`; those of other protocols are checked no further than their kind."""
    sink = root.table("sink")
    kafka = sink.table("kafka-config")
    codec, large = kafka.table("codec-config"), kafka.table("large-message-handle")
    extension = uri.flag("enable-tidb-extension", codec.flag("enable-tidb-extension"))
    content = protocol == "canal-json" and uri.flag("content-compatible", sink.flag("content-compatible"))
    updated = uri.flag("only-output-updated-columns", sink.flag("only-output-updated-columns"))
    config = MessageConfig(
        enable_tidb_extension=extension,
        max_batch_size=_positive(uri, codec, "max-batch-size", 16),
        max_message_bytes=_positive(uri, kafka, "max-message-bytes", 10 << 20),
        avro_decimal_handling_mode=_text(uri, codec, "avro-decimal-handling-mode", "precise"),
        avro_bigint_unsigned_handling_mode=_text(uri, codec, "avro-bigint-unsigned-handling-mode", "long"),
        avro_enable_watermark=protocol == "avro"
        and extension
        and uri.flag("avro-enable-watermark", codec.flag("avro-enable-watermark")),
        schema_registry=Secret(_text(uri, sink, "schema-registry", "")),
        only_output_updated_columns=updated or content,
        content_compatible=content,
        debezium_disable_schema=uri.flag("debezium-disable-schema", sink.flag("debezium-disable-schema")),
        encoding_format=cast(Literal["json", "avro"], _text(uri, codec, "encoding-format", "json")),
        large_message_handle_option=large.text("large-message-handle-option") or "none",
        large_message_handle_compression=large.text("large-message-handle-compression") or "none",
        claim_check_storage_uri=Secret(large.text("claim-check-storage-uri")),
        claim_check_raw_value=large.flag("claim-check-raw-value"),
        open_output_old_value=sink.table("open").flag("output-old-value", True),
        debezium_output_old_value=sink.table("debezium").flag("output-old-value", True),
    )
    _check_registry(config, sink)
    _check_large(config, large, uri, root, protocol)
    if protocol == "simple":
        choice_of(config.encoding_format, "encoding-format", ("json", "avro"))
    if protocol == "avro":
        _check_avro(config, root)
    return config


def _text(uri: SinkUri, table: Table, name: str, default: str) -> str:
    return uri.text(name) or table.text(name) or default


def _positive(uri: SinkUri, table: Table, name: str, default: int) -> int:
    number = uri.number(name, table.number(name, default))
    if number <= 0:
        raise ConfigError(f"{name} is {number}; it may be 1 or more")
    return number


def _check_registry(config: MessageConfig, sink: Table) -> None:
    kafka = sink.table("kafka-config")
    if not kafka.has("glue-schema-registry-config"):
        return
    glue = kafka.table("glue-schema-registry-config")
    if config.schema_registry:
        raise ConfigError(f"schema-registry and {glue.path} are both given; they exclude each other")
    for name in ("registry-name", "region"):
        if not glue.text(name):
            raise ConfigError(f"{glue.key(name)} is missing; it names the schema registry")
    if glue.text("access-key") and not glue.text("secret-access-key"):
        raise ConfigError(f"{glue.key('access-key')} is given without secret-access-key; they go together")


def _check_large(config: MessageConfig, large: Table, uri: SinkUri, root: Table, protocol: str) -> None:
    choice_of(config.large_message_handle_compression, large.key("large-message-handle-compression"), _SQUEEZED)
    key, option = large.key("large-message-handle-option"), config.large_message_handle_option
    choice_of(option, key, _LARGE)
    if option == "none":
        return
    if protocol not in ("open-protocol", "canal-json", "simple"):
        raise ConfigError(f"{key} is {option!r}; for the protocol {protocol} it may be none")
    # TiCDC asks the URI here, and only the URI.
    if protocol == "canal-json" and not uri.flag("enable-tidb-extension", False):
        raise ConfigError(f"{key} is {option!r}; with canal-json the sink URI has to say enable-tidb-extension=true")
    if option == "claim-check" and not config.claim_check_storage_uri:
        raise ConfigError(f"{large.key('claim-check-storage-uri')} is missing; claim-check needs a place")
    if protocol == "open-protocol" and config.claim_check_raw_value:
        raise ConfigError(f"{large.key('claim-check-raw-value')} is true; with open-protocol it may be false")
    if root.flag("force-replicate"):
        raise ConfigError(f"{key} and force-replicate exclude each other: a table without a key has no handle")


def _check_avro(config: MessageConfig, root: Table) -> None:
    glue = root.table("sink").table("kafka-config").has("glue-schema-registry-config")
    if not config.schema_registry and not glue:
        raise ConfigError("schema-registry is missing (in the URI, or sink.schema-registry); avro needs one")
    decimal, bigint = config.avro_decimal_handling_mode, config.avro_bigint_unsigned_handling_mode
    choice_of(decimal, "avro-decimal-handling-mode", ("precise", "string"))
    choice_of(bigint, "avro-bigint-unsigned-handling-mode", ("long", "string"))
    if root.flag("force-replicate"):
        raise ConfigError("force-replicate and the avro protocol exclude each other: avro needs a handle key")
    checksums = root.table("integrity").text("integrity-check-level", "none") != "none"
    if checksums and not (config.enable_tidb_extension and decimal == bigint == "string"):
        raise ConfigError(
            "integrity.integrity-check-level with avro needs enable-tidb-extension=true, "
            "avro-decimal-handling-mode=string and avro-bigint-unsigned-handling-mode=string"
        )
