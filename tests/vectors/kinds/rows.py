"""Row cases of the golden vectors: what every codec makes of one table's events."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from tailrace.change.batch import ChangeBatch
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.errors import EncodeError
from tests.vectors.tables import Document, change_batch, table_schema, with_row_id

KIND = "rows"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(name, "" | "skip: why" | what is wrong) of each output of a case."""
    for protocol, outputs in document["outputs"].items():
        for output in outputs:
            name = f"{document['name']} {output['config']['id']}"
            name += "" if output["mode"] in ("mq-row", "storage-txn") else f" {output['mode']}"
            checker = _CHECKERS.get(protocol)
            yield name, checker(document, output) if checker else f"skip: codec {protocol} is not built yet"


def csv_options(config: Document) -> CsvOptions:
    """The options that a golden output's configuration asks for."""
    return CsvOptions(
        **{key.replace("-", "_"): value for key, value in config.items() if key not in ("id", "protocol")}
    )


def message_bytes(message: Document) -> bytes:
    text: str | None = message.get("value_text")
    return base64.b64decode(message["value_base64"]) if text is None else text.encode()


def _csv(document: Document, output: Document) -> str:
    options = csv_options(output["config"])
    table = table_schema(document["table"])
    table = with_row_id(table) if options.output_handle_key else table
    encoder = CsvEncoder(options)
    whole = b""
    for message in output["messages"]:
        batch = change_batch(table, [document["events"][message["event"]]])
        if "error" in message:
            wrong = "" if message["error"].startswith("PANIC") else _refusal(encoder, batch)
        else:
            whole += message_bytes(message)
            wrong = _difference(encoder.encode(batch).to_pybytes(), message_bytes(message))
        if wrong:
            return f"event {message['event']}: {wrong}"
    good = [document["events"][message["event"]] for message in output["messages"] if "error" not in message]
    wrong = _difference(encoder.encode(change_batch(table, good)).to_pybytes(), whole)
    return f"all events at once: {wrong}" if wrong else ""


def _refusal(encoder: CsvEncoder, batch: ChangeBatch) -> str:
    try:
        encoder.encode(batch)
    except EncodeError:
        return ""
    return "it was encoded, and should have been refused"


def _difference(got: bytes, want: bytes) -> str:
    return "" if got == want else f"got {got!r}, not {want!r}"


_CHECKERS: dict[str, Callable[[Document, Document], str]] = {"csv": _csv}
