"""DDL events, watermarks and bootstraps as simple messages, each with the schema that it speaks of.

These are one message each, so they are built one by one, with the fields in the order of Go's encoder.
"""

from __future__ import annotations

import base64
import json

from tailrace.change.ddl import DdlEvent
from tailrace.change.go_json import quote
from tailrace.change.schema import Column, TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.simple.shape import schema_version

_WORDS = {
    "CREATE": (3,),
    "RENAME": (14, 47),
    "CINDEX": (7, 9, 32),
    "DINDEX": (8, 10, 33),
    "ALTER": (5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38, 41, 61, 64, 71, 72),
    "ERASE": (4,),
    "TRUNCATE": (11,),
}
_WORD_OF = {code: word for word, codes in _WORDS.items() for code in codes}


def ddl_message(event: DdlEvent, ts: int) -> bytes:
    text = f'{{"version":1,"type":"{_WORD_OF.get(event.type, "QUERY")}","sql":{quote(event.query)}'
    text += f',"commitTs":{event.commit_ts},"buildTs":{ts}'
    for label, table in (("tableSchema", event.table), ("preTableSchema", event.before)):
        if table is not None and table.name:
            text += f',"{label}":{_schema(table)}'
    return (text + "}").encode()


def watermark_message(upto: Ts, ts: int) -> bytes:
    return f'{{"version":1,"type":"WATERMARK","commitTs":{upto},"buildTs":{ts}}}'.encode()


def bootstrap_message(table: TableSchema, ts: int) -> bytes:
    return f'{{"version":1,"type":"BOOTSTRAP","commitTs":0,"buildTs":{ts},"tableSchema":{_schema(table)}}}'.encode()


def _schema(table: TableSchema) -> str:
    columns = ",".join(
        _column(column) for column in sorted(table.columns, key=lambda column: column.id) if not column.hidden
    )
    indexes = ",".join(_indexes(table))
    names = f'"schema":{quote(table.schema)},"table":{quote(table.name)},"tableID":{table.table_id}'
    return f'{{{names},"version":{schema_version(table)},"columns":[{columns}],"indexes":[{indexes}]}}'


def _column(column: Column) -> str:
    kind = column.type
    charset = kind.charset or "binary"
    said = f'"mysqlType":{quote(kind.name)},"charset":{quote(charset)},"collate":{quote(kind.collation or charset)}'
    said += f',"length":{kind.length}' if kind.length else ""
    said += f',"decimal":{kind.scale}' if kind.scale > 0 else ""
    said += ',"elements":[' + ",".join(map(quote, kind.elems)) + "]" if kind.elems else ""
    said += ',"unsigned":true' if kind.unsigned else ""
    said += ',"zerofill":true' if kind.zerofill else ""
    nullable = "true" if column.nullable else "false"
    return f'{{"name":{quote(column.name)},"dataType":{{{said}}},"nullable":{nullable},"default":{_default(column)}}}'


def _default(column: Column) -> str:
    value = column.default
    if value is None:
        return "null"
    if column.type.name == "bit":
        return str(int.from_bytes(value if isinstance(value, bytes) else str(value).encode(), "big"))
    if isinstance(value, bytes):
        return quote(base64.b64encode(value).decode()) if column.type.is_binary else quote(value)
    return quote(value) if isinstance(value, str) else json.dumps(value)


def _indexes(table: TableSchema) -> list[str]:
    solid = {column.name for column in table.columns if not column.nullable}
    found = []
    for index in table.indexes:
        name = "primary" if index.primary else index.name
        found.append(_index(name, index.unique, index.primary, not solid.issuperset(index.columns), index.columns))
    if table.pk_is_handle:
        found.append(_index("primary", True, True, False, table.handle_key))
    return found


def _index(name: str, unique: bool, primary: bool, nullable: bool, columns: tuple[str, ...]) -> str:
    flags = ",".join(
        f'"{label}":{"true" if flag else "false"}'
        for label, flag in (("unique", unique), ("primary", primary), ("nullable", nullable))
    )
    return f'{{"name":{quote(name)},{flags},"columns":[{",".join(map(quote, columns))}]}}'
