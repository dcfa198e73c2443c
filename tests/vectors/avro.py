"""Golden outputs of flat-avro: schemas as they are registered, and the bytes of keys and values."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import fields

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.base import Message
from tailrace.codec.flat_avro import FlatAvroMessageEncoder, FlatAvroOptions, MemoryRegistry
from tailrace.errors import EncodeError, MessageTooLarge
from tests.vectors.tables import Document, change_batch, table_schema

_FIELDS = frozenset(field.name for field in fields(FlatAvroOptions))


def flat_avro_options(config: Document, time_zone: str = "UTC") -> FlatAvroOptions:
    """The options that a golden output's configuration asks for."""
    options = {key.replace("-", "_"): value for key, value in config.items() if key not in ("id", "protocol")}
    return FlatAvroOptions(**{name: value for name, value in options.items() if name in _FIELDS}, time_zone=time_zone)


def flat_avro_events(config: Document) -> FlatAvroMessageEncoder:
    """An encoder for DDLs and watermarks, which no schema is registered for."""
    return FlatAvroMessageEncoder(flat_avro_options(config), MemoryRegistry(), lambda table: table.name)


def flat_avro_message(message: Document) -> Message:
    """A document's message."""
    parts = [message.get("key_base64"), message.get("value_base64")]
    return Message(*(None if part is None else base64.b64decode(part) for part in parts))


def checked(document: Document, output: Document) -> str:
    """What is wrong with a case's output: each event by itself, then all that can be encoded at once, then schemas."""
    table = table_schema(document["table"])
    options = flat_avro_options(output["config"], document["time_zone"])
    registry = MemoryRegistry()
    encoder = FlatAvroMessageEncoder(options, registry, lambda table: str(output["topic"]))
    events = document["events"]
    for message in output["messages"]:
        wrong = _one(encoder, change_batch(table, [events[message["event"]]]), message)
        if wrong:
            return f"event {message['event']}: {wrong}"
    good = [message for message in output["messages"] if "error" not in message]
    found = _encoded(encoder, change_batch(table, [events[message["event"]] for message in good]))
    for got, message in zip(found, good, strict=True):
        if got != flat_avro_message(message):
            return f"event {message['event']} among all: got {got!r}, not {flat_avro_message(message)!r}"
    return _schemas(table, registry, output)


def _schemas(table: TableSchema, registry: MemoryRegistry, output: Document) -> str:
    wanted = {each["id"]: (each["subject"], each["schema_text"]) for each in output.get("schemas", ())}
    found = registry.registered
    return "" if found == wanted else f"{table.full_name}: registered {found!r}, not {wanted!r}"


def _one(encoder: FlatAvroMessageEncoder, batch: ChangeBatch, message: Document) -> str:
    if "error" not in message:
        got = _encoded(encoder, batch)
        return "" if got == [flat_avro_message(message)] else f"got {got!r}, not {flat_avro_message(message)!r}"
    if message["error"].startswith("PANIC"):
        return ""
    try:
        encoder.encode(batch)
    except (EncodeError, MessageTooLarge):
        return ""
    return "it was encoded, and should have been refused"


def _encoded(encoder: FlatAvroMessageEncoder, batch: ChangeBatch) -> Sequence[Message]:
    made = encoder.encode(batch)
    return [Message(key, value) for key, value in zip(made.keys.to_pylist(), made.values.to_pylist(), strict=True)]
