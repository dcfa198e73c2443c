"""One column in a schema file: TiCDC's names of types, what goes into precision and scale, and back.

TiDB gives a length to every type that has one, so a length that was not written in SQL shows as TiDB's default. BIT
and YEAR are unsigned there and say so; zerofill is not recorded; the columns of a view are UNSPECIFIED. A key that is
not there is not an error, a type that Tailrace does not know is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from tailrace.change.go_json import Json
from tailrace.change.schema import Column, Default
from tailrace.change.types import BLOB_NAMES, TEMPORAL_NAMES, TEXT_NAMES, TYPE_NAMES, ColumnType
from tailrace.errors import DecodeError

COLUMN_KEYS = (
    "ColumnId",
    "ColumnName",
    "ColumnType",
    "ColumnDefault",
    "ColumnPrecision",
    "ColumnScale",
    "ColumnNullable",
    "ColumnIsPk",
    "ColumnElems",
)

_LENGTHS = {
    "tinyint": 4,
    "smallint": 6,
    "mediumint": 9,
    "int": 11,
    "bigint": 20,
    "bit": 1,
    "float": 12,
    "double": 22,
    "decimal": 10,
    "year": 4,
    "char": 1,
    "binary": 1,
    "varchar": 5,
    "varbinary": 5,
    "var_string": 5,
    "tinytext": 255,
    "text": 65535,
    "mediumtext": 16777215,
    "longtext": 4294967295,
    "tinyblob": 255,
    "blob": 65535,
    "mediumblob": 16777215,
    "longblob": 4294967295,
}
_UNSIGNED_LENGTHS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}
_ALWAYS_UNSIGNED = frozenset({"bit", "year"})
_ALIASES = {"numeric": "decimal", "integer": "int", "real": "double", "bool": "tinyint", "boolean": "tinyint"}
_OF_A_VIEW = "unspecified"
_FIRST_ID = 100


def column_fields(column: Column, dialect: Literal["classic", "new"], with_id: bool) -> dict[str, Json]:
    """The keys of a column's object, in the file's order, those that say nothing left out."""
    kind = column.type
    default = column.default
    if default is None and dialect == "classic":
        default = column.origin_default
    unsigned = kind.unsigned or kind.zerofill or kind.name in _ALWAYS_UNSIGNED
    fields: dict[str, Json] = {
        "ColumnId": str(column.id) if with_id else None,
        "ColumnName": column.name,
        "ColumnType": kind.name.upper() + (" UNSIGNED" if unsigned else ""),
        "ColumnDefault": _stored(default, kind),
        "ColumnPrecision": _precision(kind, unsigned),
        "ColumnScale": _scale(kind),
        "ColumnNullable": None if column.nullable else "false",
        "ColumnIsPk": "true" if column.pk else None,
        "ColumnElems": list(kind.elems) if dialect == "new" and kind.elems else None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def column_of(said: Mapping[str, Json], number: int, place: str) -> Column:
    """The column that an object of a file describes; `number` is its place in the table, from 0."""
    reader = _Reader(said, number, place)
    name = reader.text("ColumnName")
    if not name:
        raise reader.error("ColumnName is missing or empty")
    kind = _type_of(reader)
    return Column(
        id=reader.number("ColumnId", _FIRST_ID + number),
        name=name,
        type=kind,
        nullable=reader.flag("ColumnNullable", True),
        pk=reader.flag("ColumnIsPk", False),
        default=reader.default(kind),
    )


def _stored(default: Default, kind: ColumnType) -> Default:
    """A default as TiDB stores it: a BIT's number is its shortest big-endian bytes."""
    if kind.name == "bit" and isinstance(default, int):
        return default.to_bytes(max(1, (default.bit_length() + 7) // 8), "big")
    return default


def _precision(kind: ColumnType, unsigned: bool) -> str | None:
    if kind.name not in _LENGTHS:
        return None
    usual = _UNSIGNED_LENGTHS.get(kind.name) if unsigned else None
    return str(kind.length if kind.length >= 0 else usual or _LENGTHS[kind.name])


def _scale(kind: ColumnType) -> str | None:
    if kind.name == "decimal":
        return str(kind.fraction)
    shown = kind.name in {"float", "double"} or (kind.name in TEMPORAL_NAMES and kind.name != "date")
    return str(kind.scale) if shown and kind.scale > 0 else None


def _type_of(reader: _Reader) -> ColumnType:
    said = reader.text("ColumnType")
    words = said.lower().split()
    name = _ALIASES.get(words[0], words[0]) if words else ""
    if name not in TYPE_NAMES | {_OF_A_VIEW} or not {"unsigned", "zerofill"}.issuperset(words[1:]):
        nearest = get_close_matches(name, sorted(TYPE_NAMES), n=1)
        hint = f"; the nearest known one is {nearest[0].upper()}" if nearest else ""
        raise reader.error(f"ColumnType {said!r} is no type that Tailrace knows{hint}")
    length = reader.number("ColumnPrecision", reader.number("ColumnLength", -1))
    characters = name in TEXT_NAMES or name in {"enum", "set"}
    return ColumnType(
        name=name,
        length=length,
        scale=reader.number("ColumnScale", -1),
        unsigned="unsigned" in words and name not in _ALWAYS_UNSIGNED,
        charset="utf8mb4" if characters else "binary" if name in BLOB_NAMES else "",
        elems=reader.elems(),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """The typed keys of one column's object; an error names the column and the file."""

    said: Mapping[str, Json]
    index: int
    place: str

    def error(self, message: str) -> DecodeError:
        name = self.said.get("ColumnName")
        called = f" ({name})" if isinstance(name, str) else ""
        return DecodeError(f"{message} in column {self.index + 1}{called} of a schema file", position=self.place)

    def text(self, key: str) -> str:
        value = self.said.get(key, "")
        if not isinstance(value, str):
            raise self.error(f"{key} is a text, not {value!r}")
        return value

    def number(self, key: str, default: int) -> int:
        value = self.said.get(key, default)
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
            return int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.error(f"{key} is a number as text, not {value!r}")

    def flag(self, key: str, default: bool) -> bool:
        value = self.said.get(key)
        if value is None:
            return default
        if value in ("true", "false") or isinstance(value, bool):
            return value in ("true", True)
        raise self.error(f'{key} is "true" or "false", not {value!r}')

    def elems(self) -> tuple[str, ...]:
        value = self.said.get("ColumnElems") or []
        if isinstance(value, list) and all(isinstance(elem, str) for elem in value):
            return tuple(str(elem) for elem in value)
        raise self.error(f"ColumnElems is an array of texts, not {value!r}")

    def default(self, kind: ColumnType) -> Default:
        value = self.said.get("ColumnDefault")
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass") if kind.is_binary or kind.name == "bit" else value
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            return value
        raise self.error(f"ColumnDefault is a text or a number, not {value!r}")
