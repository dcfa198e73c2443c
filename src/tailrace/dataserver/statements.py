"""DDL statements as pure functions: the table before, the wish, and the table after.

A column keeps its id for as long as it has its name; a new one gets an id that no column of the table ever had, so a
row written under any earlier version is read right. What would need rows to be rewritten is refused.
"""

from __future__ import annotations

from dataclasses import replace

from tailrace.change.ddl import DdlType
from tailrace.change.schema import Column, Default, Index, TableSchema
from tailrace.change.types import INTEGER_BITS, ColumnType
from tailrace.errors import AlreadyExists, ConfigError

ALTERS = frozenset(
    {
        DdlType.ADD_COLUMN,
        DdlType.DROP_COLUMN,
        DdlType.MODIFY_COLUMN,
        DdlType.SET_DEFAULT,
        DdlType.ADD_INDEX,
        DdlType.DROP_INDEX,
    }
)


def created(wish: TableSchema) -> TableSchema:
    """A new table's definition with ids for its columns and indexes; table and partition ids stay as they are."""
    if not wish.row_columns:
        raise ConfigError(f"the table {wish.full_name} has no columns; it needs at least one")
    _check_names(wish)
    ids = [column.id for column in wish.columns]
    given = all(ids) and len(set(ids)) == len(ids)
    columns = tuple(replace(column, id=column.id if given else at) for at, column in enumerate(wish.columns, 1))
    indexes = tuple(replace(index, id=index.id or at) for at, index in enumerate(wish.indexes, 1))
    if wish.pk_is_handle and wish.common_handle:
        raise ConfigError(f"the table {wish.full_name} has two kinds of handle; at most one is possible")
    if wish.common_handle and not any(index.primary for index in indexes):
        raise ConfigError(f"the table {wish.full_name} has a common handle, but no primary index")
    return replace(wish, columns=columns, indexes=indexes)


def altered(before: TableSchema, wish: TableSchema, last_column: int, last_index: int) -> TableSchema:
    """The table with the columns and indexes of `wish`; ids above the last ones ever used go to new ones."""
    known = {column.name: column for column in before.columns}
    indexes = {index.name: index for index in before.indexes}
    kept = {column.name for column in wish.columns}
    lost = [name for name in before.handle_key if name not in kept]
    if lost:
        raise ConfigError(f"{lost[0]} belongs to the key of {before.full_name} and cannot be dropped")
    _check_names(wish)
    columns: list[Column] = []
    for column in wish.columns:
        old = known.get(column.name)
        if old is None:
            last_column += 1
            columns.append(replace(column, id=last_column, origin_default=_filling(column)))
        else:
            _check_change(before, old, column)
            columns.append(replace(column, id=old.id, origin_default=old.origin_default))
    kept_indexes: list[Index] = []
    for index in wish.indexes:
        if index.name not in indexes:
            last_index += 1
        missing = [name for name in index.columns if name not in kept]
        if missing:
            raise ConfigError(f"the index {index.name} of {before.full_name} names {missing[0]}, which is no column")
        kept_indexes.append(replace(index, id=indexes[index.name].id if index.name in indexes else last_index))
    return replace(before, columns=tuple(columns), indexes=tuple(kept_indexes))


def _check_names(wish: TableSchema) -> None:
    """A name stands for one column, and for one index, whatever the case of its letters."""
    for what, names in (("column", [each.name for each in wish.columns]), ("index", [i.name for i in wish.indexes])):
        folded = [name.casefold() for name in names]
        twice = sorted({name for name in folded if folded.count(name) > 1})
        if twice:
            raise AlreadyExists(f"the table {wish.full_name} has the {what} {twice[0]} twice")


def _filling(column: Column) -> Default:
    """What rows older than a column hold in it: its default, and without one the zero of a NOT NULL column."""
    if column.origin_default is not None or column.default is not None or column.nullable:
        return column.origin_default if column.origin_default is not None else column.default
    kind = column.type
    if kind.is_text or kind.is_binary or kind.name == "set":
        return ""
    zeros = {
        "date": "0000-00-00",
        "datetime": "0000-00-00 00:00:00",
        "timestamp": "0000-00-00 00:00:00",
        "time": "00:00:00",
        "json": "null",
    }
    return kind.elems[0] if kind.name == "enum" else zeros.get(kind.name, "0")


def _check_change(table: TableSchema, old: Column, new: Column) -> None:
    if old.type == new.type or _widens(old.type, new.type):
        if old.nullable and not new.nullable:
            raise ConfigError(f"{table.full_name}.{old.name} may hold NULL; it cannot become NOT NULL here")
        return
    raise ConfigError(
        f"{table.full_name}.{old.name} cannot change from {old.type.name} to {new.type.name} here: rows would have to "
        "be rewritten; a wider integer, a longer text or more members are possible"
    )


def _widens(old: ColumnType, new: ColumnType) -> bool:
    if old.is_integer and new.is_integer:
        return old.unsigned == new.unsigned and INTEGER_BITS[old.name] <= INTEGER_BITS[new.name]
    if (old.is_text and new.is_text) or (old.is_binary and new.is_binary):
        same = (old.charset, old.collation) == (new.charset, new.collation)
        # A BINARY(n) is padded to its length, so it cannot grow without its rows.
        return same and "binary" not in (old.name, new.name) and (new.length < 0 or new.length >= old.length)
    if old.name == new.name and old.name in ("enum", "set"):
        return new.elems[: len(old.elems)] == old.elems
    return False
