"""Row cases of the message codecs: what each makes of one table's events, and what it reads back."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.codec.base import Message, MessageEncoder, Messages
from tailrace.codec.debezium import DebeziumEncoder, DebeziumOptions
from tailrace.codec.open_protocol import OpenProtocolDecoder, OpenProtocolEncoder, OpenProtocolOptions
from tailrace.codec.simple import SimpleEncoder, SimpleOptions
from tailrace.errors import EncodeError, MessageTooLarge
from tests.vectors.tables import Document, change_batch, table_schema, with_row_id


def options_of(kind: type[Any], config: Document) -> Any:
    """The options that a golden output's configuration asks for."""
    known = {field.name for field in fields(kind)}
    options = {key.replace("-", "_"): value for key, value in config.items()}
    return kind(**{name: value for name, value in options.items() if name in known})


def open_protocol_encoder(config: Document) -> OpenProtocolEncoder:
    return OpenProtocolEncoder(options_of(OpenProtocolOptions, config))


def framed(frames: Sequence[str]) -> bytes:
    held = [frame.encode() for frame in frames]
    return b"".join(len(each).to_bytes(8, "big") + each for each in held)


def open_protocol_message(document: Document) -> Message:
    """The message of a document, from its frames and, where it is given, byte by byte."""
    key = (1).to_bytes(8, "big") + framed(document["key_frames"])
    value = framed(document["value_frames"])
    for name, built in (("key_base64", key), ("value_base64", value)):
        if name in document and base64.b64decode(document[name]) != built:
            raise AssertionError(f"{name} is not what its frames make")
    return Message(key, value)


def open_protocol(document: Document, output: Document) -> str:
    """What is wrong with an output of a row case."""
    encoder = open_protocol_encoder(output["config"])
    if output["mode"] == "mq-batch":
        refused = {each["event"] for each in output.get("append_errors", ())}
        good = [at for at in range(len(document["events"])) if at not in refused]
        wrong = "".join(_refused(encoder, _batch(document, [at])) for at in refused)
        return wrong or _together(encoder, document, good, output["messages"]) or _read_back(document, output)
    for message in output["messages"]:
        batch = _batch(document, [message["event"]])
        if "error" in message:
            wrong = "" if message["error"].startswith("PANIC") else _refused(encoder, batch)
        else:
            wrong = _difference(messages_of(encoder.encode(batch)), [open_protocol_message(message)])
        if wrong:
            return f"event {message['event']}: {wrong}"
    return _read_back(document, output) if output["config"]["id"] == "open" else ""


def simple_encoder(config: Document) -> SimpleEncoder:
    return SimpleEncoder(options_of(SimpleOptions, config), clock=lambda: 0)


def one_value(document: Document) -> Message:
    """The message of a document that has no key."""
    text: str | None = document.get("value_text")
    return Message(None, base64.b64decode(document["value_base64"]) if text is None else text.encode())


def simple(document: Document, output: Document) -> str:
    """What is wrong with an output of a row case."""
    if output["config"].get("enable-row-checksum"):
        return "skip: simple does not write row checksums yet"
    return _one_by_one(simple_encoder(output["config"]), document, output)


def debezium_encoder(config: Document) -> DebeziumEncoder:
    return DebeziumEncoder(options_of(DebeziumOptions, config), clock=lambda: 0)


def debezium(document: Document, output: Document) -> str:
    """What is wrong with an output of a row case."""
    return _one_by_one(debezium_encoder(output["config"]), document, output)


def _one_by_one(encoder: MessageEncoder, document: Document, output: Document) -> str:
    """Each event by itself, and then all of those at once that can be encoded."""
    table = table_schema(document["table"])
    for message in output["messages"]:
        batch = change_batch(table, [document["events"][message["event"]]])
        if "error" in message:
            wrong = "" if message["error"].startswith("PANIC") else _refused(encoder, batch)
        else:
            wrong = _difference(messages_of(encoder.encode(batch)), [one_value(message)])
        if wrong:
            return f"event {message['event']}: {wrong}"
    good = [message for message in output["messages"] if "error" not in message]
    batch = change_batch(table, [document["events"][message["event"]] for message in good])
    wrong = _difference(messages_of(encoder.encode(batch)), [one_value(message) for message in good])
    return f"all events at once: {wrong}" if wrong else ""


def _together(encoder: MessageEncoder, document: Document, events: Sequence[int], messages: Sequence[Document]) -> str:
    """All events in one batch; of several partitions of a table, only the frames are compared."""
    if len({document["events"][at]["physical_table_id"] for at in events}) > 1:
        alone = [messages_of(encoder.encode(_batch(document, [at])))[0] for at in events]
        want = [open_protocol_message(message) for message in messages]
        keys = b"".join((each.key or b"")[8:] for each in alone) == b"".join((each.key or b"")[8:] for each in want)
        same = b"".join(each.value or b"" for each in alone) == b"".join(each.value or b"" for each in want)
        return "" if keys and same else "the frames differ"
    batch = _batch(document, events)
    made = encoder.encode(batch)
    if made.rows.to_pylist() != [message["rows"] for message in messages]:
        return f"messages hold {made.rows.to_pylist()} changes"
    return _difference(messages_of(made), [open_protocol_message(message) for message in messages])


def _read_back(document: Document, output: Document) -> str:
    """Whether the messages, all read together, hold the events that they were made of, as far as messages tell."""
    held = [open_protocol_message(message) for message in output["messages"]]
    numbers = [at for message in output["messages"] for at in message.get("events", [message.get("event")])]
    decoder = OpenProtocolDecoder(OpenProtocolOptions())
    keys, values = ([getattr(each, name) for each in held] for name in ("key", "value"))
    found = list(decoder.decode(pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary()), _Numbers()))
    rows = [row for batch in found if isinstance(batch, ChangeBatch) for row in batch.data.to_pylist()]
    wanted = change_batch(table_schema(document["table"]), [document["events"][at] for at in numbers]).data.to_pylist()
    if len(rows) != len(wanted):
        return f"{len(rows)} rows are read back, not {len(wanted)}"
    for at, row, want in zip(numbers, rows, wanted, strict=True):
        if any(row[name] != want[name] for name in ("op", "commit_ts", "after", "before")):
            return f"event {at} reads back as {row}, not {want}"
    return ""


class _Numbers:
    """Places by number alone."""

    def of(self, message: int) -> str:
        return f"message {message}"


def _batch(document: Document, events: Sequence[int]) -> ChangeBatch:
    chosen = [document["events"][at] for at in events]
    table = with_row_id(table_schema(document["table"]))
    if table.partitions:
        table = replace(table, table_id=chosen[0]["physical_table_id"])
    return change_batch(table, chosen)


def messages_of(made: Messages) -> list[Message]:
    return [Message(key, value) for key, value in zip(made.keys.to_pylist(), made.values.to_pylist(), strict=True)]


def _refused(encoder: MessageEncoder, batch: ChangeBatch) -> str:
    try:
        encoder.encode(batch)
    except (EncodeError, MessageTooLarge):
        return ""
    return "it was encoded, and should have been refused"


def _difference(got: list[Message], want: list[Message]) -> str:
    return "" if got == want else f"got {got!r}, not {want!r}"
