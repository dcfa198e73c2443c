"""A statement's text to what it says. It reads TiDB's own restored text and what people write; a clause that bears
neither on names, columns, keys nor partitions is passed over, because nothing that keeps rows depends on it."""

from __future__ import annotations

from dataclasses import replace

from tailrace.change.statement.columns import column_of, indexed_columns, is_key, key_of
from tailrace.change.statement.cursor import Cursor
from tailrace.change.statement.lexer import tokens
from tailrace.change.statement.partitions import partitioning_of, step_of
from tailrace.change.statement.values import Key, Statement, TableName


def parse_statement(text: str) -> Statement:
    """Raises DecodeError for text that is no statement of MySQL's."""
    cursor = Cursor(tokens(text.strip().rstrip(";")), text.strip().rstrip(";"))
    said = Statement("", text)
    if cursor.take("CREATE"):
        return _create(cursor, said)
    if cursor.take("ALTER", "TABLE"):
        return _alter(cursor, replace(said, kind="alter table", tables=(cursor.table(),)))
    if cursor.take("RENAME", "TABLE"):
        pairs = tuple(_pair(part) for part in cursor.parts())
        return replace(said, kind="rename table", renames=pairs, tables=tuple(old for old, _ in pairs))
    if cursor.take("TRUNCATE"):
        cursor.take("TABLE")
        return replace(said, kind="truncate table", tables=(cursor.table(),))
    if cursor.take("DROP"):
        return _drop(cursor, said)
    if cursor.take("USE"):
        return replace(said, kind="use", tables=(TableName(cursor.name(), ""),))
    return replace(said, kind=cursor.next().text.lower() if cursor.left else "")


def _create(cursor: Cursor, said: Statement) -> Statement:
    cursor.take("OR", "REPLACE")
    cursor.take("TEMPORARY")
    if cursor.take("TABLE"):
        _if_exists(cursor)
        return _table(cursor, replace(said, kind="create table", tables=(cursor.table(),)))
    if cursor.take("DATABASE") or cursor.take("SCHEMA"):
        _if_exists(cursor)
        return replace(said, kind="create database", tables=(TableName(cursor.name(), ""),))
    unique = cursor.take("UNIQUE")
    if cursor.take("INDEX"):
        _if_exists(cursor)
        name = cursor.name()
        cursor.until("ON").source()
        cursor.take("ON")
        table = cursor.table()
        key = Key(name, indexed_columns(cursor.inner()), unique)
        return replace(said, kind="create index", tables=(table,), keys=(key,))
    cursor.until("VIEW")
    if cursor.take("VIEW"):
        view = cursor.table()
        cursor.until("AS")
        cursor.take("AS")
        return replace(said, kind="create view", tables=(view,), body=cursor.source())
    return replace(said, kind="create")


def _table(cursor: Cursor, said: Statement) -> Statement:
    if cursor.take("LIKE"):
        return replace(said, like=cursor.table())
    if cursor.ahead("(", "LIKE"):
        inner = cursor.inner()
        inner.take("LIKE")
        return replace(said, like=inner.table())
    columns, keys = [], []
    for part in cursor.inner().parts():
        if is_key(part):
            key = key_of(part)
            keys += [key] if key else []
        else:
            columns.append(column_of(part))
    keys += [Key("PRIMARY", (each.name,), True, True) for each in columns if each.primary]
    keys += [Key(each.name, (each.name,), True) for each in columns if each.unique]
    cursor.until("PARTITION")
    partitioning = partitioning_of(cursor) if cursor.take("PARTITION", "BY") else None
    return replace(said, columns=tuple(columns), keys=tuple(keys), partitioning=partitioning)


def _alter(cursor: Cursor, said: Statement) -> Statement:
    step = step_of(cursor)
    if step is not None:
        return replace(said, partition_steps=(step,))
    for part in cursor.parts():
        said = _clause(part, said)
    return said


def _clause(part: Cursor, said: Statement) -> Statement:
    if part.take("PARTITION", "BY"):
        return replace(said, partitioning=partitioning_of(part))
    if part.take("ADD"):
        return _added(part, said)
    if part.take("DROP"):
        return _dropped(part, said)
    if part.take("MODIFY"):
        part.take("COLUMN")
        return _with_column(part, said, "")
    if part.take("CHANGE"):
        part.take("COLUMN")
        return _with_column(part, said, part.name())
    if part.take("RENAME", "COLUMN"):
        old, _, new = part.name(), part.next(), part.name()
        return replace(said, renamed_columns=(*said.renamed_columns, (old, new)))
    if part.take("RENAME", "INDEX") or part.take("RENAME", "KEY"):
        old, _, new = part.name(), part.next(), part.name()
        return replace(said, renamed_keys=(*said.renamed_keys, (old, new)))
    if part.take("RENAME"):
        if not part.take("TO") and not part.take("AS"):
            part.take("=")
        return replace(said, renames=(*said.renames, (said.tables[0], part.table())))
    return said


def _added(part: Cursor, said: Statement) -> Statement:
    if is_key(part):
        key = key_of(part)
        return replace(said, keys=(*said.keys, key)) if key else said
    part.take("COLUMN")
    _if_exists(part)
    if part.peek("("):
        for each in part.inner().parts():
            said = _with_column(each, said, "")
        return said
    return _with_column(part, said, "")


def _with_column(part: Cursor, said: Statement, old: str) -> Statement:
    column = column_of(part)
    keys = [Key("PRIMARY", (column.name,), True, True)] if column.primary else []
    keys += [Key(column.name, (column.name,), True)] if column.unique else []
    renamed = [(old, column.name)] if old and old != column.name else []
    return replace(
        said,
        columns=(*said.columns, column),
        keys=(*said.keys, *keys),
        renamed_columns=(*said.renamed_columns, *renamed),
    )


def _dropped(part: Cursor, said: Statement) -> Statement:
    if part.take("PRIMARY", "KEY"):
        return replace(said, dropped_keys=(*said.dropped_keys, "PRIMARY"))
    if part.take("INDEX") or part.take("KEY"):
        _if_exists(part)
        return replace(said, dropped_keys=(*said.dropped_keys, part.name()))
    return said


def _drop(cursor: Cursor, said: Statement) -> Statement:
    if cursor.take("DATABASE") or cursor.take("SCHEMA"):
        _if_exists(cursor)
        return replace(said, kind="drop database", tables=(TableName(cursor.name(), ""),))
    if cursor.take("INDEX"):
        _if_exists(cursor)
        name = cursor.name()
        cursor.take("ON")
        return replace(said, kind="drop index", tables=(cursor.table(),), dropped_keys=(name,))
    what = "view" if cursor.take("VIEW") else "table"
    cursor.take("TABLE")
    _if_exists(cursor)
    return replace(said, kind=f"drop {what}", tables=tuple(part.table() for part in cursor.parts()))


def _pair(part: Cursor) -> tuple[TableName, TableName]:
    old = part.table()
    part.take("TO")
    return old, part.table()


def _if_exists(cursor: Cursor) -> None:
    if cursor.take("IF"):
        cursor.take("NOT")
        cursor.take("EXISTS")
