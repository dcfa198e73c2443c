"""The table that a schema is of, as far as schemas tell it.

Names are the legal ones, which may not be the table's own. TINYINT to INT are one type there, texts have no lengths,
and a decimal that is sent as text has no scale; which index is the key is not said, so its columns are a primary key.
The version of such a table is the number of its value's schema.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tailrace.change.schema import Column, Default, TableSchema
from tailrace.change.types import ColumnType

Said = Mapping[str, Any]
EXTENSION = {
    "_tidb_op": "string",
    "_tidb_commit_ts": "long",
    "_tidb_commit_physical_time": "long",
    "_tidb_row_level_checksum": "string",
    "_tidb_corrupted": "boolean",
    "_tidb_checksum_version": "int",
}
_STAMPS = 3
_TYPES = {
    ("INT", "int"): ColumnType("int"),
    ("INT UNSIGNED", "int"): ColumnType("mediumint", unsigned=True),
    ("INT UNSIGNED", "long"): ColumnType("int", unsigned=True),
    ("BIGINT", "long"): ColumnType("bigint"),
    ("BIGINT UNSIGNED", "long"): ColumnType("bigint", unsigned=True),
    ("BIGINT UNSIGNED", "string"): ColumnType("bigint", unsigned=True),
    ("FLOAT", "float"): ColumnType("float"),
    ("FLOAT", "double"): ColumnType("double"),
    ("DOUBLE", "double"): ColumnType("double"),
    ("DECIMAL", "string"): ColumnType("decimal"),
    ("TEXT", "string"): ColumnType("longtext", charset="utf8mb4", collation="utf8mb4_bin"),
    ("BLOB", "bytes"): ColumnType("longblob", charset="binary", collation="binary"),
    ("JSON", "string"): ColumnType("json"),
    ("DATE", "string"): ColumnType("date"),
    ("DATETIME", "string"): ColumnType("datetime"),
    ("TIMESTAMP", "string"): ColumnType("timestamp"),
    ("TIME", "string"): ColumnType("time"),
    ("YEAR", "int"): ColumnType("year"),
    ("TiDBVECTORFloat32", "string"): ColumnType("vector"),
}
_BETWEEN = re.compile(r"(?<!\\),")


class BadSchema(Exception):
    """What is wrong with a schema."""


@dataclass(frozen=True, slots=True)
class Known:
    """A field whose values can be read: `type` is Avro's, `null_branch` as in `Field`."""

    column: Column
    type: str
    null_branch: int


@dataclass(frozen=True, slots=True)
class Record:
    """A schema: its names, its columns' fields, and how many fields of the extension follow them."""

    schema: str
    table: str
    fields: tuple[Known, ...]
    extension: int

    def as_table(self, key: Record, number: int) -> TableSchema:
        """The table whose rows these are; the key's columns identify them."""
        held = {field.column.name for field in key.fields}
        missing = sorted(held - {field.column.name for field in self.fields})
        if missing or not held:
            raise BadSchema(f"the key is of {', '.join(sorted(held)) or 'nothing'}; the value lacks {missing}")
        columns = tuple(replace(field.column, pk=field.column.name in held) for field in self.fields)
        return TableSchema(self.schema, self.table, 0, number, columns)


def record_of(text: str) -> Record:
    """What a registered schema says; raises BadSchema."""
    try:
        said = json.loads(text)
        fields, name, space = said["fields"], said["name"], said.get("namespace", "")
        names = [field["name"] for field in fields]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadSchema("the schema must be JSON of a record with name, namespace and fields") from None
    if said.get("type") != "record" or not all(isinstance(each, str) for each in (name, space, *names)):
        raise BadSchema("the schema must be of a record, and its names must be text")
    if len(set(names)) != len(names):
        raise BadSchema("two fields have one name")
    extension = _extension(fields)
    columns = fields[: len(fields) - extension]
    return Record(
        space.rpartition(".")[2], name, tuple(_known(each, at) for at, each in enumerate(columns, 1)), extension
    )


def _extension(fields: Sequence[Said]) -> int:
    """How many fields at the end are the extension's: none, the first three, or all."""
    expected = list(EXTENSION.items())
    for count in (len(expected), _STAMPS):
        if [(field["name"], field.get("type")) for field in fields[-count:]] == expected[:count]:
            return count
    return 0


def _known(said: Said, number: int) -> Known:
    kind, branch = said.get("type"), -1
    if isinstance(kind, list):
        if len(kind) != 2 or "null" not in kind:
            raise BadSchema(f"field {said['name']} is a union of {len(kind)}; it must be one of null and a type")
        branch = kind.index("null")
        kind = kind[1 - branch]
    parameters = kind.get("connect.parameters") if isinstance(kind, Mapping) else None
    if not isinstance(kind, Mapping) or not isinstance(parameters, Mapping):
        raise BadSchema(f"field {said['name']} has no connect.parameters, which tell its type in TiDB")
    avro, tidb = kind.get("type"), parameters.get("tidb_type")
    found = _type(str(avro), str(tidb), kind, parameters)
    if found is None:
        raise BadSchema(f"field {said['name']} is a {avro} for {tidb}, which no column is")
    default = _default(said.get("default"), found, str(avro), said["name"])
    return Known(Column(number, said["name"], found, branch >= 0, default=default), str(avro), branch)


def _type(avro: str, tidb: str, kind: Said, parameters: Said) -> ColumnType | None:
    if (tidb, avro) == ("BIT", "bytes"):
        length = parameters.get("length")
        usable = isinstance(length, str) and length.isascii() and length.isdigit() and 1 <= int(length) <= 64
        return ColumnType("bit", int(str(length))) if usable else None
    if tidb in ("ENUM", "SET") and avro == "string":
        allowed = parameters.get("allowed")
        return ColumnType(tidb.lower(), elems=members_of(allowed)) if isinstance(allowed, str) else None
    if (tidb, avro, kind.get("logicalType")) == ("DECIMAL", "bytes", "decimal"):
        precision, scale = kind.get("precision"), kind.get("scale")
        usable = type(precision) is int and type(scale) is int and 1 <= precision <= 65 and 0 <= scale <= precision
        return ColumnType("decimal", precision, scale) if usable else None  # type: ignore[arg-type]
    return _TYPES.get((tidb, avro))


def members_of(allowed: str) -> tuple[str, ...]:
    """The members that a list of all of them names; commas inside of members are escaped."""
    return tuple(part.replace("\\,", ",") for part in _BETWEEN.split(allowed))


def _default(said: Any, kind: ColumnType, avro: str, name: str) -> Default:
    """The stored text that a schema's default was made of."""
    if said is None:
        return None
    number = isinstance(said, int | float) and not isinstance(said, bool)
    try:
        if avro == "bytes" and isinstance(said, str):
            return base64.b64decode(said, validate=True)
        if avro == "string" and isinstance(said, str):
            return said
        if avro in ("int", "long") and number and int(said) == said:
            wraps = kind.name == "bigint" and kind.unsigned and said < 0
            return str(int(said) + (1 << 64) if wraps else int(said))
        if avro in ("float", "double") and number:
            return repr(float(said))
    except (binascii.Error, ValueError, OverflowError):
        pass
    raise BadSchema(f"field {name} has the default {said!r}, which is no {avro}")
