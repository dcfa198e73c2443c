"""SQL: the text of a statement, for those who call the store with values. It is what a DDL event carries as query."""

from __future__ import annotations

from tailrace.change.schema import Column, Default, Index, TableSchema
from tailrace.change.types import ColumnType


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def full_name(schema: str, table: str) -> str:
    return f"{quoted(schema)}.{quoted(table)}"


def literal(value: Default) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return str(value)


def type_text(kind: ColumnType) -> str:
    if kind.name in ("enum", "set"):
        text = f"{kind.name.upper()}({','.join(literal(elem) for elem in kind.elems)})"
    elif kind.name == "decimal" and kind.length >= 0:
        text = f"DECIMAL({kind.length},{kind.fraction})"
    elif kind.name in ("datetime", "timestamp", "time") and kind.scale > 0:
        text = f"{kind.name.upper()}({kind.scale})"
    elif kind.name in ("char", "varchar", "binary", "varbinary", "bit") and kind.length >= 0:
        text = f"{kind.name.upper()}({kind.length})"
    else:
        text = kind.name.upper()
    text += " UNSIGNED" if kind.unsigned else ""
    if kind.is_text and kind.charset:
        text += f" CHARACTER SET {kind.charset}" + (f" COLLATE {kind.collation}" if kind.collation else "")
    return text


def column_text(column: Column) -> str:
    text = f"{quoted(column.name)} {type_text(column.type)}"
    text += "" if column.nullable else " NOT NULL"
    if column.default is not None:
        text += f" DEFAULT {_default(column)}"
    return text


def index_text(index: Index) -> str:
    prefixes = index.prefixes or (-1,) * len(index.columns)
    parts = [
        quoted(name) + (f"({prefix})" if prefix >= 0 else "")
        for name, prefix in zip(index.columns, prefixes, strict=True)
    ]
    kind = "PRIMARY KEY" if index.primary else ("UNIQUE KEY " if index.unique else "KEY ") + quoted(index.name)
    return f"{kind} ({', '.join(parts)})"


def create_table(table: TableSchema) -> str:
    lines = [column_text(column) for column in table.columns]
    if not any(index.primary for index in table.indexes) and table.handle_key and table.pk_is_handle:
        lines.append(f"PRIMARY KEY ({', '.join(quoted(name) for name in table.handle_key)})")
    lines += [index_text(index) for index in table.indexes]
    return f"CREATE TABLE {full_name(table.schema, table.name)} ({', '.join(lines)})"


def _default(column: Column) -> str:
    value = column.default
    if isinstance(value, str) and (column.type.is_integer or column.type.name in ("float", "double", "decimal")):
        return value
    return literal(value)
