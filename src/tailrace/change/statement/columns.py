"""Definitions of columns and keys, as CREATE TABLE and ALTER TABLE write them."""

from __future__ import annotations

from dataclasses import replace

from tailrace.change.statement.cursor import Cursor
from tailrace.change.statement.lexer import Token
from tailrace.change.statement.values import ColumnText, Key

_ENDS_TYPE = (
    *("NOT", "NULL", "DEFAULT", "PRIMARY", "UNIQUE", "KEY", "AUTO_INCREMENT", "AUTO_RANDOM", "COMMENT", "GENERATED"),
    *("AS", "ON", "REFERENCES", "CHECK", "FIRST", "AFTER", "CONSTRAINT", "COLUMN_FORMAT", "STORAGE", "VISIBLE"),
    *("INVISIBLE", "CLUSTERED", "NONCLUSTERED"),
)
_KEY_WORDS = ("PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK")


def is_key(cursor: Cursor) -> bool:
    """Whether a key or constraint follows, and not a column: names of columns stand in backquotes."""
    return cursor.peek(*_KEY_WORDS)


def key_of(cursor: Cursor) -> Key | None:
    """The key that follows; None for a constraint that is none, as a foreign key."""
    name = ""
    if cursor.take("CONSTRAINT") and not cursor.peek("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
        name = cursor.name()
    if cursor.peek("FOREIGN", "CHECK"):
        return None
    primary, unique = cursor.take("PRIMARY"), cursor.take("UNIQUE")
    cursor.take("FULLTEXT")
    cursor.take("SPATIAL")
    if not cursor.take("KEY"):
        cursor.take("INDEX")
    if cursor.take("IF"):
        cursor.take("NOT", "EXISTS")
    if cursor.left and not cursor.peek("(", "USING"):
        name = cursor.name()
    if cursor.take("USING"):
        cursor.next()
    columns = indexed_columns(cursor.inner())
    return Key("PRIMARY" if primary else name or (columns[0] if columns else ""), columns, unique or primary, primary)


def indexed_columns(inner: Cursor) -> tuple[str, ...]:
    """The columns of an index, without lengths and directions; none where an expression is among them."""
    found = []
    for part in inner.parts():
        if part.peek("("):
            return ()
        found.append(part.name())
    return tuple(found)


def column_of(cursor: Cursor) -> ColumnText:
    """The column that follows, with everything that belongs to it."""
    name = cursor.name()
    type_text = _type_text(cursor.until(*_ENDS_TYPE))
    column = ColumnText(name, type_text)
    while cursor.left:
        if cursor.take("NOT", "NULL"):
            column = replace(column, nullable=False)
        elif cursor.take("DEFAULT"):
            column = _with_default(column, cursor)
        elif cursor.take("PRIMARY", "KEY"):
            column = replace(column, primary=True, nullable=False)
        elif cursor.take("UNIQUE"):
            column = replace(column, unique=True)
        elif cursor.take("AS") or cursor.take("GENERATED", "ALWAYS", "AS"):
            cursor.inner()
            column = replace(column, generated="stored" if cursor.peek("STORED") else "virtual")
        elif cursor.take("ON", "UPDATE") or cursor.take("COMMENT"):
            cursor.next()
        elif cursor.peek("("):
            cursor.inner()
        else:
            cursor.next()
    return column


def _with_default(column: ColumnText, cursor: Cursor) -> ColumnText:
    if cursor.peek("("):
        return replace(column, default=cursor.inner().source(), expression=True)
    sign = "-" if cursor.take("-") else ""
    token = cursor.next()
    if token.kind == "word" and token.text.upper() in ("_UTF8MB4", "_UTF8", "_LATIN1", "_BINARY", "X", "B"):
        token = cursor.next()
    if token.says("NULL"):
        return column
    if token.kind == "word":
        if cursor.peek("("):
            cursor.inner()
        return replace(column, default=token.text, expression=token.text.upper() not in ("TRUE", "FALSE"))
    return replace(column, default=sign + token.text)


def _type_text(cursor: Cursor) -> str:
    return " ".join(_written(token) for token in cursor.rest).replace(" (", "(").replace("( ", "(").replace(" )", ")")


def _written(token: Token) -> str:
    return "'" + token.text.replace("'", "''") + "'" if token.kind == "string" else token.text
