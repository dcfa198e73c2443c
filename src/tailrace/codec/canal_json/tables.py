"""The table that a message is of, as far as messages tell it: names, types and the primary key.

A message has no schema file beside it. Without `content-compatible` its types have no lengths, so texts of any scale
are taken; which columns may be NULL and which indexes there are, it never says. The version of such a table is the
commit ts of the first message that showed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.change.types import BLOB_NAMES, TEXT_NAMES, TYPE_NAMES, ColumnType
from tailrace.codec.canal_json.strict import BadRow, type_map
from tailrace.errors import DecodeError

_FLAGS = {"unsigned", "zerofill"}


def table_of(said: Mapping[str, Any], version: Ts) -> TableSchema:
    """The table of a row's object; raises BadRow."""
    types, keys = type_map(said), said.get("pkNames")
    if not isinstance(said.get("database"), str) or not isinstance(said.get("table"), str):
        raise BadRow(f"database is {said.get('database')!r} and table {said.get('table')!r}; both must be names")
    if not isinstance(keys, list) or not set(map(str, keys)) <= set(types):
        raise BadRow(f"pkNames is {keys!r}; it must be a list of columns of mysqlType")
    ordered = [name for name in _first_image(said) if name in types]
    ordered += [name for name in types if name not in ordered]
    columns = [
        Column(at, name, column_type(types[name]), nullable=name not in keys, pk=name in keys)
        for at, name in enumerate(ordered, 1)
    ]
    return TableSchema(said["database"], said["table"], 0, version, tuple(columns))


def column_type(text: str) -> ColumnType:
    """The type that a text of `mysqlType` means."""
    if "(" in text:
        try:
            return parse_type(text, error=DecodeError)
        except DecodeError as wrong:
            raise BadRow(wrong.message) from None
    name, *flags = text.lower().split() or [""]
    if name not in TYPE_NAMES or not _FLAGS.issuperset(flags):
        raise BadRow(f"mysqlType holds {text!r}, which is no type")
    charset = "binary" if name in BLOB_NAMES else "utf8mb4" if name in TEXT_NAMES else ""
    length = 64 if name == "bit" else -1
    return ColumnType(name, length, -1, "unsigned" in flags, "zerofill" in flags, charset)


def _first_image(said: Mapping[str, Any]) -> Mapping[str, Any]:
    images = said.get("data")
    if not isinstance(images, list) or len(images) != 1 or not isinstance(images[0], dict):
        raise BadRow("data must be a list of one object")
    return images[0]
