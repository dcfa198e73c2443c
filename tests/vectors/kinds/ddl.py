"""DDL cases of the golden vectors: what every codec makes of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tailrace.change.ddl import DdlEvent
from tailrace.codec.base import Message, MessageEncoder
from tailrace.codec.canal_json import CanalJsonMessageEncoder
from tests.vectors.avro import flat_avro_events, flat_avro_message
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


ENCODERS: dict[str, Callable[[Document], MessageEncoder]] = {
    "canal-json": lambda config: CanalJsonMessageEncoder(canal_json_options(config), clock=no_time),
    "avro": flat_avro_events,
}
MESSAGES: dict[str, Callable[[Document], Message]] = {
    "canal-json": lambda document: Message(None, message_bytes(document)),
    "avro": flat_avro_message,
}


def difference(found: list[Message | None], messages: list[Document], message_of: Callable[[Document], Message]) -> str:
    """What is wrong with messages that were made one by one."""
    for got, want in zip(found, messages, strict=True):
        expected = None if want.get("no_message") else message_of(want)
        if got != expected:
            return f"event {want['event']}: got {got!r}, not {expected!r}"
    return ""


def _event(said: Document) -> DdlEvent:
    document = said["table_info"]
    table = None if not document or document.get("no_table_info") else table_schema(document)
    return DdlEvent(
        said["commit_ts"], said["start_ts"], 0, said["type"], said["query"], said["schema"], said["table"], table
    )
