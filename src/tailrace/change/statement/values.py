"""Values of a parsed statement. What a statement does not say is empty, never guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Generated = Literal["", "virtual", "stored"]


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """`schema` is empty where the statement left it out."""

    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class ColumnText:
    """A column's definition. `type` is MySQL's text; `default` is None where there is none, and is the text inside the
    quotes of a string; `expression` says that it is no literal."""

    name: str
    type: str
    nullable: bool = True
    primary: bool = False
    unique: bool = False
    generated: Generated = ""
    default: str | None = None
    expression: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """An index over columns; an index over expressions names no columns."""

    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A partition: `bound` is what VALUES LESS THAN or IN holds, as text between its parentheses; empty for a hash."""

    name: str
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Partitioning:
    """`kind` is `range`, `list`, `hash` or `key`; `by` the text of the expression or the columns."""

    kind: str
    by: str
    of_columns: bool
    parts: tuple[Part, ...]
    count: int = 0


@dataclass(frozen=True, slots=True)
class PartitionStep:
    """A change of partitions: `verb` is add, drop, truncate, reorganize, exchange, coalesce or remove."""

    verb: str
    names: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    count: int = 0
    table: TableName | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """`kind` is the first words in lower case: `create table`, `alter table`, `rename table`, `truncate table`, ..."""

    kind: str
    text: str
    tables: tuple[TableName, ...] = ()
    renames: tuple[tuple[TableName, TableName], ...] = ()
    like: TableName | None = None
    columns: tuple[ColumnText, ...] = ()
    renamed_columns: tuple[tuple[str, str], ...] = ()
    keys: tuple[Key, ...] = ()
    dropped_keys: tuple[str, ...] = ()
    renamed_keys: tuple[tuple[str, str], ...] = ()
    partitioning: Partitioning | None = None
    partition_steps: tuple[PartitionStep, ...] = ()
    body: str = ""
