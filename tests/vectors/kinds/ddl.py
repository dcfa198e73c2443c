"""DDL cases of the golden vectors: what every codec makes of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tailrace.change.ddl import DdlEvent
from tailrace.codec.base import Message, MessageEncoder
from tailrace.codec.canal_json import CanalJsonMessageEncoder
from tests.vectors.avro import flat_avro_events, flat_avro_message
from tests.vectors.kinds.message_rows import (
    debezium_encoder,
    one_value,
    open_protocol_encoder,
    open_protocol_message,
    simple_encoder,
)
from tests.vectors.kinds.rows import canal_json_options, message_bytes, no_time
from tests.vectors.tables import Document, table_schema

KIND = "ddl"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, "" | "skip: why" | what is wrong) of each output of a case."""
    for protocol, outputs in document["outputs"].items():
        for output in outputs:
            name = f"{document['name']} {output['config']['id']}"
            if protocol not in ENCODERS:
                yield name, f"skip: codec {protocol} is not built yet"
                continue
            encoder = ENCODERS[protocol](output["config"])
            found = [encoder.ddl(_event(document["ddl_events"][each["event"]])) for each in output["messages"]]
            yield name, difference(found, output["messages"], MESSAGES[protocol])

    for output in document.get("bootstrap_outputs", {}).get("simple", ()):
        encoder = simple_encoder(output["config"])
        tables = [
            table_schema(document["bootstrap_events"][each["event"]]["table_info"]) for each in output["messages"]
        ]
        found = [encoder.bootstrap(table) for table in tables]
        yield f"{document['name']} {output['config']['id']} bootstrap", difference(found, output["messages"], one_value)


ENCODERS: dict[str, Callable[[Document], MessageEncoder]] = {
    "canal-json": lambda config: CanalJsonMessageEncoder(canal_json_options(config), clock=no_time),
    "open-protocol": open_protocol_encoder,
    "simple": simple_encoder,
    "debezium": debezium_encoder,
    "avro": flat_avro_events,
}
MESSAGES: dict[str, Callable[[Document], Message]] = {
    "canal-json": lambda document: Message(None, message_bytes(document)),
    "open-protocol": open_protocol_message,
    "simple": one_value,
    "debezium": one_value,
    "avro": flat_avro_message,
}


def difference(
    found: Sequence[Message | None], messages: list[Document], message_of: Callable[[Document], Message]
) -> str:
    """What is wrong with messages that were made one by one."""
    for got, want in zip(found, messages, strict=True):
        expected = None if want.get("no_message") else message_of(want)
        if got != expected:
            return f"event {want['event']}: got {got!r}, not {expected!r}"
    return ""


def _event(said: Document) -> DdlEvent:
    document = said["table_info"]
    table = None if not document or document.get("no_table_info") else table_schema(document)
    earlier = said.get("pre_table_info")
    before = None if not earlier or earlier.get("no_table_info") else table_schema(earlier)
    names = (said["schema"], said["table"])
    return DdlEvent(said["commit_ts"], said["start_ts"], 0, said["type"], said["query"], *names, table, before)
