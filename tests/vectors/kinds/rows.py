"""Row cases of the golden vectors: what every codec makes of one table's events."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonEncoder, CanalJsonMessageEncoder, CanalJsonOptions
from tailrace.codec.csv import CsvEncoder, CsvOptions
from tailrace.errors import EncodeError, MessageTooLarge
from tests.vectors import avro
from tests.vectors.kinds import message_rows
from tests.vectors.tables import Document, change_batch, table_schema, with_row_id

KIND = "rows"
_CANAL_JSON_FIELDS = frozenset(field.name for field in fields(CanalJsonOptions))


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


def canal_json_options(config: Document) -> CanalJsonOptions:
    """The options that a golden output's configuration asks for."""
    options = {key.replace("-", "_"): value for key, value in config.items() if key not in ("id", "protocol")}
    return CanalJsonOptions(**{name: value for name, value in options.items() if name in _CANAL_JSON_FIELDS})


def no_time() -> int:
    """The vectors hold 0 where TiCDC writes the time."""
    return 0


def _csv(document: Document, output: Document) -> str:
    options = csv_options(output["config"])
    table = table_schema(document["table"])
    table = with_row_id(table) if options.output_handle_key else table
    encoder = CsvEncoder(options)
    return _compared(document, output, table, lambda batch: encoder.encode(batch).to_pybytes())


def _canal_json(document: Document, output: Document) -> str:
    options, table = canal_json_options(output["config"]), table_schema(document["table"])
    files, messages = CanalJsonEncoder(options, no_time), CanalJsonMessageEncoder(options, clock=no_time)
    if output["mode"] == "storage-txn":
        wrong = _compared(document, output, table, lambda batch: files.encode(batch).to_pybytes())
        return wrong or _read_back(document, output, table, options)
    return _compared(document, output, table, lambda batch: b"".join(messages.encode(batch).values.to_pylist()))


def _read_back(document: Document, output: Document, table: TableSchema, options: CanalJsonOptions) -> str:
    """Whether a file of all messages holds the events that they were made of."""
    text = b"".join(map(message_bytes, output["messages"]))
    batches = list(CanalJsonDecoder(options).decode(pa.py_buffer(text), table, document["name"]))
    got = pa.Table.from_batches([batch.data for batch in batches]).to_pylist()
    want = change_batch(table, [document["events"][message["event"]] for message in output["messages"]]).data
    for row, (found, event) in enumerate(zip(got, want.to_pylist(), strict=True)):
        carried = ("op", "after", "before", *(("commit_ts",) if options.enable_tidb_extension else ()))
        if any(found[name] != event[name] for name in carried):
            return f"row {row} reads back as {found}, not {event}"
    return ""


def _compared(document: Document, output: Document, table: TableSchema, encode: Callable[[ChangeBatch], bytes]) -> str:
    """Each event by itself, and then all of those at once that can be encoded."""
    for message in output["messages"]:
        batch = change_batch(table, [document["events"][message["event"]]])
        if "error" in message:
            wrong = "" if message["error"].startswith("PANIC") else _refusal(encode, batch)
        else:
            wrong = _difference(encode(batch), message_bytes(message))
        if wrong:
            return f"event {message['event']}: {wrong}"
    good = [message for message in output["messages"] if "error" not in message]
    batch = change_batch(table, [document["events"][message["event"]] for message in good])
    wrong = _difference(encode(batch), b"".join(map(message_bytes, good)))
    return f"all events at once: {wrong}" if wrong else ""


def _refusal(encode: Callable[[ChangeBatch], bytes], batch: ChangeBatch) -> str:
    try:
        encode(batch)
    except (EncodeError, MessageTooLarge):
        return ""
    return "it was encoded, and should have been refused"


def _difference(got: bytes, want: bytes) -> str:
    return "" if got == want else f"got {got!r}, not {want!r}"


_CHECKERS: dict[str, Callable[[Document, Document], str]] = {
    "csv": _csv,
    "canal-json": _canal_json,
    "open-protocol": message_rows.open_protocol,
    "simple": message_rows.simple,
    "debezium": message_rows.debezium,
    "avro": avro.checked,
}
