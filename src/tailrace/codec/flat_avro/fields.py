"""The field of one column in a schema: its Avro type, whether it may be null, its default.

The text is what TiCDC registers, keys in its order and with Go's escapes, because a registry may compare bytes. A
default that TiCDC writes as base64, though Avro has it otherwise, is base64 here too.
"""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass

from tailrace.change.go_json import quote, render
from tailrace.change.schema import Column
from tailrace.change.types import TEMPORAL_NAMES, ColumnType
from tailrace.codec.flat_avro.options import FlatAvroOptions
from tailrace.errors import EncodeError

_KEPT = {"year": ("int", "YEAR"), "float": ("float", "FLOAT"), "double": ("double", "DOUBLE"), "bit": ("bytes", "BIT")}
_KEPT |= {"bigint": ("long", "BIGINT"), "vector": ("string", "TiDBVECTORFloat32")}
_PRECISION = 10  # of a decimal that has none


def legal(name: str) -> str:
    """A name that Avro allows: letters, digits and `_`, and no digit first."""
    text = "".join(char if char.isascii() and (char.isalnum() or char == "_") else "_" for char in name)
    return f"_{text}" if text[:1].isdigit() else text


@dataclass(frozen=True, slots=True)
class Field:
    """A column as an Avro field: `type` is the Avro type of its values, `text` the field as JSON.

    `null_branch` is which branch of the union is null; -1: the field is no union.
    """

    column: Column
    name: str
    type: str
    null_branch: int
    text: str

    @classmethod
    def of(cls, column: Column, options: FlatAvroOptions) -> Field:
        avro, tidb = _types(column.type, options)
        default = _default(column, avro)
        kind = _type_text(column.type, avro, tidb)
        branch = -1 if not column.nullable else 0 if default is None else 1
        if branch == 0:
            default, kind = "null", f'["null",{kind}]'
        elif branch == 1:
            kind = f'[{kind},"null"]'
        said = "" if default is None else f'"default":{default},'
        name = legal(column.name)
        return cls(column, name, avro, branch, f'{{{said}"name":"{name}","type":{kind}}}')

    @property
    def branch(self) -> int:
        """The byte before a value that is not NULL; -1: none is there."""
        return -1 if self.null_branch < 0 else 0 if self.null_branch else 2

    @property
    def is_decimal(self) -> bool:
        """A number of bytes with a scale, rather than its text."""
        return self.column.type.name == "decimal" and self.type == "bytes"


def _types(kind: ColumnType, options: FlatAvroOptions) -> tuple[str, str]:
    """Avro's name of the type and TiDB's."""
    if kind.name == "bigint" and kind.unsigned:
        return options.avro_bigint_unsigned_handling_mode, "BIGINT UNSIGNED"
    if kind.name == "decimal":
        return ("bytes" if options.avro_decimal_handling_mode == "precise" else "string"), "DECIMAL"
    if kind.name in _KEPT:
        return _KEPT[kind.name]
    if kind.is_integer:
        return ("long" if kind.unsigned and kind.name == "int" else "int"), f"INT{' UNSIGNED' * kind.unsigned}"
    if kind.is_binary:
        return "bytes", "BLOB"
    if kind.name in TEMPORAL_NAMES | {"enum", "set", "json"}:
        return "string", kind.name.upper()
    return "string", "TEXT"


def _type_text(kind: ColumnType, avro: str, tidb: str) -> str:
    extra = logical = ""
    if kind.name == "bit":
        extra = f'"length":"{kind.length if kind.length > 0 else 1}",'
    elif kind.name in ("enum", "set"):
        extra = f'"allowed":{quote(",".join(map(escaped_member, kind.elems)))},'
    elif kind.name == "decimal" and avro == "bytes":
        precision = kind.length if kind.length >= 0 else _PRECISION
        logical = f',"logicalType":"decimal","precision":{precision},"scale":{kind.fraction}'
    return f'{{"type":"{avro}","connect.parameters":{{{extra}"tidb_type":"{tidb}"}}{logical}}}'


def _default(column: Column, avro: str) -> str | None:
    """The default as JSON; None: there is none, or none that a schema can say."""
    value = column.origin_default if column.default is None else column.default
    if value is None or (column.type.name == "decimal" and avro == "bytes"):
        return None
    if column.type.name == "vector":
        raise EncodeError(f"column {column.name} is a vector with a default, which avro has no form for")
    try:
        return _default_text(value, avro)
    except (ValueError, OverflowError, struct.error):
        raise EncodeError(f"column {column.name} has the default {value!r}, which is no {avro}") from None


def _default_text(value: str | bytes | int | float, avro: str) -> str:
    if avro == "bytes":
        raw = value if isinstance(value, bytes) else str(value).encode()
        return f'"{base64.b64encode(raw).decode()}"'
    text = value.decode() if isinstance(value, bytes) else str(value)
    if avro in ("int", "long"):
        number = int(text)
        return str(number - (1 << 64) if number >= 1 << 63 else number)
    if avro in ("float", "double"):
        real = float(text)
        return render(struct.unpack("<f", struct.pack("<f", real))[0] if avro == "float" else real)
    return quote(text)


def escaped_member(member: str) -> str:
    """A member of an ENUM or SET inside the list of all of them."""
    return member.replace(",", "\\,").replace("\\'", "'").replace("''", "'")
