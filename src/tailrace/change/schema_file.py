"""Schema files: a table's or database's shape at one version as TiCDC's storage sink writes it, and back.

What is written has TiCDC's layout and checksum to the byte, in one of two dialects: `classic` (TiCDC before its new
architecture: no members of ENUM and SET; a column without a default shows its origin default) and `new`
(`ColumnElems`, in the checksum too). What is read is both, and the form of the design documents (`ColumnLength`, a
total as text, `ColumnNullable` "true"). The checksum covers names and columns, never version or query.

A file does not say which columns are generated or which indexes there are; nothing here invents them. Where the path
and the file disagree on names, the path is right, so the reader takes the names from there.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tailrace.change.ddl import DdlEvent
from tailrace.change.go_json import Json, render
from tailrace.change.schema import Column, TableSchema
from tailrace.change.schema_column import COLUMN_KEYS, column_fields, column_of
from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import DecodeError

Dialect = Literal["classic", "new"]
Fields = dict[str, Json]

_FORMAT_VERSION = 1


def table_file(
    table: TableSchema, event: DdlEvent | None = None, dialect: Dialect = "classic", with_ids: bool = False
) -> tuple[str, int]:
    """Text and checksum of a table's file: with the query of `event` at its commit ts, else of the table's version."""
    version = event.commit_ts if event else table.version
    columns = [column_fields(column, dialect, with_ids) for column in table.columns]
    return _file(table.name, table.schema, version, event, columns)


def database_file(event: DdlEvent) -> tuple[str, int]:
    """Text and checksum of a database's file."""
    return _file("", event.schema_name, event.commit_ts, event, [])


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """What a schema file says. `name` is empty for a database; `columns` are in table order."""

    schema: str
    name: str
    version: Ts
    query: str
    type: int
    columns: tuple[Column, ...]
    checksums: frozenset[int]

    def table(self, schema: str, name: str, table_id: int = 0) -> TableSchema:
        """The table's schema under the names of the path that the file was found by."""
        keys = [column for column in self.columns if column.pk]
        return TableSchema(
            schema=schema,
            name=name,
            table_id=table_id,
            version=self.version,
            columns=self.columns,
            pk_is_handle=len(keys) == 1 and keys[0].type.is_integer,
        )

    def check(self, checksum: int, place: str) -> None:
        """Raises DecodeError when the checksum in the file's name is that of no dialect."""
        if checksum not in self.checksums:
            known = " or ".join(str(known) for known in sorted(self.checksums))
            raise DecodeError(f"the schema file's checksum is {known}, its name says {checksum}", position=place)


def parse(text: str | bytes, place: str) -> SchemaFile:
    """The schema file in `text`; `place` is its path, for errors."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as broken:
        raise DecodeError(f"a schema file that is not JSON: {broken}", position=place) from broken
    if not isinstance(said, dict):
        raise DecodeError(f"a schema file holds an object, not {type(said).__name__}", position=place)
    columns = said.get("TableColumns")
    columns = [] if columns is None else columns
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise DecodeError("TableColumns of a schema file is an array of objects or null", position=place)
    total = _integer(said, "TableColumnsTotal", place, default=len(columns))
    if total != len(columns):
        raise DecodeError(f"TableColumnsTotal is {total}, but there are {len(columns)} columns", position=place)
    schema, name = _text(said, "Schema", place), _text(said, "Table", place)
    shape = tuple(column_of(column, number, place) for number, column in enumerate(columns))
    twice = sorted(known for known, times in Counter(column.name for column in shape).items() if times > 1)
    if twice:
        raise DecodeError(f"a schema file has the column {twice[0]} more than once", position=place)
    return SchemaFile(
        schema=schema,
        name=name,
        version=_integer(said, "TableVersion", place),
        query=_text(said, "Query", place),
        type=_integer(said, "Type", place, default=0),
        columns=shape,
        checksums=_checksums(name, schema, columns),
    )


def _file(name: str, schema: str, version: Ts, event: DdlEvent | None, columns: list[Fields]) -> tuple[str, int]:
    body: Fields = {
        "Table": name,
        "Schema": schema,
        "Version": _FORMAT_VERSION,
        "TableVersion": version,
        "Query": event.query if event else "",
        "Type": event.type if event else 0,
        "TableColumns": columns or None,
        "TableColumnsTotal": len(columns),
    }
    return render(body), checksum_of(name, schema, columns)


def checksum_of(name: str, schema: str, columns: list[Fields]) -> int:
    """CRC-32 of the names and the columns sorted by name, in the layout of a file whose format version is 0."""
    ordered = sorted(columns, key=lambda column: str(column["ColumnName"]).encode("utf-8", "surrogatepass"))
    body: Fields = {
        "Table": name,
        "Schema": schema,
        "Version": 0,
        "TableColumns": ordered,
        "TableColumnsTotal": len(columns),
    }
    return zlib.crc32(render(body).encode())


def _checksums(name: str, schema: str, columns: list[Mapping[str, Json]]) -> frozenset[int]:
    """The checksums that a writer of either dialect could have given: U+FFFD stands for itself or a broken byte."""
    known: list[Fields] = [{key: column[key] for key in COLUMN_KEYS if key in column} for column in columns]
    plain: list[Fields] = [{key: item for key, item in column.items() if key != "ColumnElems"} for column in known]
    broken = [[_with_broken_bytes(column) for column in form] for form in (known, plain)]
    return frozenset(checksum_of(name, schema, form) for form in (known, plain, *broken))


def _with_broken_bytes(column: Fields) -> Fields:
    default = column.get("ColumnDefault")
    return column | {"ColumnDefault": default.replace("\ufffd", "\udcff")} if isinstance(default, str) else column


def _text(said: Mapping[str, Json], key: str, place: str) -> str:
    value = said.get(key, "")
    if not isinstance(value, str):
        raise DecodeError(f"{key} of a schema file is a text, not {value!r}", position=place)
    return value


def _integer(said: Mapping[str, Json], key: str, place: str, default: int | None = None) -> int:
    value = said.get(key, default)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_TS:
        raise DecodeError(f"{key} of a schema file is a number from 0 to 2^63-1, not {value!r}", position=place)
    return value
