"""Schema files: their text, their checksum, and that reading one and writing it again changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.schema_file import database_file, parse, table_file
from tests.vectors.tables import table_schema

KIND = "schema_files"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for entry in document["entries"]:
        for file in entry["files"]:
            name = f"{entry['group']} {entry['seq']} {file['kind']}{' with ids' * file['output_column_id']}"
            yield name, _verdict(entry["ddl_event"], file)


def _verdict(said: dict[str, Any], file: dict[str, Any]) -> str:
    table = _table(said, file)
    event = DdlEvent(said["commit_ts"], 0, 0, said["type"], said["query"], said["schema"], said["table"], table)
    written = _written(event, table, file)
    if written != (file["content_text"], file["checksum"]):
        return f"got {written!r}, not {(file['content_text'], file['checksum'])!r}"
    read = parse(file["content_text"], file["path"])
    read.check(file["checksum"], file["path"])
    if table is None:
        return ""
    again = DdlEvent(read.version, 0, 0, read.type, read.query, read.schema, read.name)
    return "" if _again(read.table(read.schema, read.name), again, file) == written else "reading it changed it"


def _table(said: dict[str, Any], file: dict[str, Any]) -> TableSchema | None:
    before = file["kind"] == "exchange-partition-source-table"
    document = said["pre_table_info"] if before else said["table_info"]
    return None if document.get("no_table_info") else table_schema(document)


def _written(event: DdlEvent, table: TableSchema | None, file: dict[str, Any]) -> tuple[str, int]:
    if table is None:
        return database_file(event)
    if file["kind"] == "ddl":
        return table_file(table, event, with_ids=file["output_column_id"])
    version = file.get("table_version", event.commit_ts)
    return table_file(table.at_version(version), with_ids=file["output_column_id"])


def _again(table: TableSchema, event: DdlEvent, file: dict[str, Any]) -> tuple[str, int]:
    return table_file(table, event, with_ids=file["output_column_id"])
