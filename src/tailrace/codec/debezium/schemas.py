"""The schema that a message carries behind its payload: each column's type in the words of Kafka Connect."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType

_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_INTEGERS = {
    "tinyint": ("int16", "int16"),
    "smallint": ("int16", "int32"),
    "mediumint": ("int32", "int32"),
    "int": ("int32", "int64"),
    "bigint": ("int64", "int64"),
}
_NAMED = {
    "year": ("int32", "io.debezium.time.Year"),
    "date": ("int32", "io.debezium.time.Date"),
    "time": ("int64", "io.debezium.time.MicroTime"),
    "timestamp": ("string", "io.debezium.time.ZonedTimestamp"),
    "json": ("string", "io.debezium.data.Json"),
}
_FLOATS = {"float": "float", "double": "double", "decimal": "double"}


def quoted(text: str) -> str:
    """A string of JSON in which only quotes, backslashes and control characters are escaped."""
    return '"' + "".join(_SHORT.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text) + '"'


def envelope(table: TableSchema, columns: Sequence[Column], cluster: str) -> str:
    """The schema of a row's message."""
    name = f"{cluster}.{table.schema}.{table.name}"
    fields = ",".join(_field(column) for column in columns)
    images = [
        f'{{"type":"struct","optional":true,"name":{quoted(name + ".Value")},"field":"{image}","fields":[{fields}]}}'
        for image in ("before", "after")
    ]
    return (
        f'{{"type":"struct","optional":false,"name":{quoted(name + ".Envelope")},"version":1,"fields":['
        f"{','.join(images)},{_SOURCE},"
        '{"type":"string","optional":false,"field":"op"},{"type":"int64","optional":true,"field":"ts_ms"},'
        f"{_TRANSACTION}]}}"
    )


def _field(column: Column) -> str:
    kind, name, parameters = _words(column.type)
    optional = "true" if column.nullable else "false"
    said = f'"type":"{kind}","optional":{optional}'
    said += f',"name":"{name}","version":1' if name else ""
    said += f',"parameters":{{{parameters}}}' if parameters else ""
    return f'{{{said},"field":{quoted(column.name)}}}'


def _words(kind: ColumnType) -> tuple[str, str, str]:
    """The type, its name and its parameters."""
    if kind.is_integer:
        return _INTEGERS[kind.name][kind.unsigned], "", ""
    if kind.name in _FLOATS:
        return _FLOATS[kind.name], "", ""
    if kind.name == "bit":
        return (
            ("boolean", "", "") if kind.length == 1 else ("bytes", "io.debezium.data.Bits", f'"length":"{kind.length}"')
        )
    if kind.name == "datetime":
        return "int64", f"io.debezium.time.{'Timestamp' if kind.fraction <= 3 else 'MicroTimestamp'}", ""
    if kind.name in ("enum", "set"):
        name = "io.debezium.data.Enum" if kind.name == "enum" else "io.debezium.data.EnumSet"
        return "string", name, f'"allowed":{quoted(",".join(kind.elems))}'
    return (*_NAMED.get(kind.name, ("string", "")), "")


def _plain(kind: str, optional: bool, field: str) -> str:
    return f'{{"type":"{kind}","optional":{"true" if optional else "false"},"field":"{field}"}}'


_SNAPSHOT = (
    '{"type":"string","optional":true,"name":"io.debezium.data.Enum","version":1,'
    '"parameters":{"allowed":"true,last,false,incremental"},"default":"false","field":"snapshot"}'
)
_SOURCE = (
    '{"type":"struct","fields":['
    + ",".join(
        [
            *(_plain("string", False, name) for name in ("version", "connector", "name")),
            _plain("int64", False, "ts_ms"),
            _SNAPSHOT,
            _plain("string", False, "db"),
            *(_plain("string", True, name) for name in ("sequence", "table")),
            _plain("int64", False, "server_id"),
            _plain("string", True, "gtid"),
            _plain("string", False, "file"),
            _plain("int64", False, "pos"),
            _plain("int32", False, "row"),
            _plain("int64", True, "thread"),
            _plain("string", True, "query"),
        ]
    )
    + '],"optional":false,"name":"io.debezium.connector.mysql.Source","field":"source"}'
)
_TRANSACTION = (
    '{"type":"struct","fields":['
    + ",".join(
        [
            _plain("string", False, "id"),
            *(_plain("int64", False, f"{name}order") for name in ("total_", "data_collection_")),
        ]
    )
    + '],"optional":true,"name":"event.block","version":1,"field":"transaction"}'
)
