"""One row read alone, by Python's own JSON parser: the row that no other room of this package understood.

It either says what is wrong with the row or writes it anew as the encoder would have, so that there is one way from
text to values. Rows of other writers (another order of keys, blanks between them) get in this way, slowly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from tailrace.change.go_json import quote
from tailrace.change.schema import TableSchema
from tailrace.codec.canal_json.shape import opening
from tailrace.codec.columns import visible

_TYPES = ("INSERT", "UPDATE", "DELETE")
Image = Mapping[str, str | None]


class BadRow(Exception):
    """What is wrong with a row; whoever reads it adds which row it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a row says. `commit_ts` is None without the extension; `old` is None but for updates."""

    type: str
    es: int
    commit_ts: int | None
    data: Image
    old: Image | None


def parsed(text: bytes) -> dict[str, Any]:
    """The object of a row; each key once, nothing that is no JSON."""
    try:
        said = json.loads(text.decode(), object_pairs_hook=_each_once, parse_constant=_no_constant)
    except UnicodeDecodeError as wrong:
        raise BadRow(f"byte {wrong.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as wrong:
        raise BadRow(f"it is no JSON: {wrong.msg} at character {wrong.pos + 1}") from None
    except RecursionError:
        raise BadRow("it is no row: objects are nested too deep") from None
    if not isinstance(said, dict):
        raise BadRow(f"it is no JSON object but {type(said).__name__}")
    return said


def understood(text: bytes, table: TableSchema, stamped: bool) -> Row:
    """What the row says of this table; raises BadRow. `stamped`: it must have a commit ts."""
    said = parsed(text)
    for key, name in (("database", table.schema), ("table", table.name)):
        if not isinstance(said.get(key), str) or said[key].casefold() != name.casefold():
            raise BadRow(f"{key} is {said.get(key)!r}, and the file is of {name!r}")
    if said.get("isDdl") is not False or said.get("type") not in _TYPES:
        raise BadRow(f"type is {said.get('type')!r} (isDdl {said.get('isDdl')!r}); it must be one of {_TYPES}")
    extension = said.get("_tidb")
    commit_ts = None
    if extension is not None:
        if not isinstance(extension, dict):
            raise BadRow("_tidb is no object")
        deleted = said["type"] == "DELETE"
        if (extension.get("onlyHandleKey", False) and not deleted) or "claimCheckLocation" in extension:
            raise BadRow("the message holds only the handle key; the row itself is elsewhere")
        commit_ts = _number(extension, "commitTs")
    elif stamped:
        raise BadRow("_tidb.commitTs is missing, though enable-tidb-extension is true")
    data = _image(said, "data", table)
    old = _image(said, "old", table) if said["type"] == "UPDATE" else None
    _check_complete(data, said["type"], table)
    if old is None and said.get("old") is not None:
        raise BadRow(f"old must be null in a row of type {said['type']}")
    return Row(said["type"], _number(said, "es"), commit_ts, data, old)


def canonical(row: Row, table: TableSchema) -> bytes:
    """The row as the columnar reader knows it; type maps are empty, because values do not depend on them."""
    images = f'"old":{_images(row.old, table)},"data":{_images(row.data, table)}'
    if row.old is None:
        images = f'"old":null,"data":{_images(row.data, table)}'
    head = f'{opening(table)}{row.type}","es":{row.es},"ts":0,"sql":"","sqlType":null,"mysqlType":null,'
    extension = "" if row.commit_ts is None else f',"_tidb":{{"commitTs":{row.commit_ts}}}'
    return f"{head}{images}{extension}}}".encode("utf-8", "surrogatepass")


def _images(image: Image | None, table: TableSchema) -> str:
    image = image or {}
    names = [column.name for column in visible(table) if column.name in image]
    cells = (f"{quote(name)}:{'null' if image[name] is None else quote(image[name] or '')}" for name in names)
    return "[{" + ",".join(cells) + "}]"


def _image(said: dict[str, Any], key: str, table: TableSchema) -> Image:
    held = said.get(key)
    if not isinstance(held, list) or len(held) != 1 or not isinstance(held[0], dict):
        raise BadRow(f"{key} must be a list of one object")
    image = held[0]
    known = {column.name for column in visible(table)}
    for name, value in image.items():
        if name not in known:
            raise BadRow(f"{key} holds a column {name!r}, which the table does not have")
        if value is not None and not isinstance(value, str):
            raise BadRow(f"{key} holds {value!r} in column {name}; a value must be a string or null")
        if value is not None and any("\ud800" <= char <= "\udfff" for char in value):
            raise BadRow(f"{key} holds half of a surrogate pair in column {name}")
    return image


def _check_complete(data: Image, kind: str, table: TableSchema) -> None:
    """A DELETE may hold the handle key alone; any other row has all columns."""
    absent = [column.name for column in visible(table) if column.name not in data]
    if absent and not (kind == "DELETE" and data and set(data) == set(table.handle_key)):
        raise BadRow(
            f"data has no column {absent[0]!r}; a virtual column must not be in the schema that rows are read by"
        )


def type_map(said: Mapping[str, Any]) -> dict[str, str]:
    """`mysqlType`: each column's type as text."""
    types = said.get("mysqlType")
    if not isinstance(types, dict) or not all(isinstance(text, str) for text in types.values()):
        raise BadRow("mysqlType must be an object of types as text")
    return types


def _number(said: dict[str, Any], key: str) -> int:
    value = said.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise BadRow(f"{key} is {value!r}; it must be a whole number")
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise BadRow(f"the key {twice!r} is there twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise BadRow(f"it is no JSON: {name}")
