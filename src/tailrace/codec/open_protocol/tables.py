"""The table that a row's cells tell of: names, types, flags and the handle key, columns in the order of their names.

Types have no lengths, so texts of any scale are taken, and members of an enum or set stay numbers. The version of such
a table is the commit ts of the first row that showed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailrace.change.schema import Column, Index, Partition, TableSchema
from tailrace.codec.open_protocol.types import GENERATED, MULTIPLE_KEY, NULLABLE, PRIMARY_KEY, UNIQUE_KEY, column_type


@dataclass(frozen=True, slots=True)
class Shown:
    """A table as a row showed it, and of each column what its cells said: type, flags and whether it is of the key."""

    table: TableSchema
    said: dict[str, tuple[int, int, bool]]

    def holds(self, other: Shown, deleted: bool) -> bool:
        """Whether another row is of this table; of a DELETE the handle key is enough."""
        if len(other.said) == len(self.said):
            return other.said == self.said
        key = {name for name, (_, _, handle) in self.said.items() if handle}
        return deleted and set(other.said) == key and other.said.items() <= self.said.items()


class NoTable(Exception):
    """What is wrong with a row's cells; the decoder adds the place."""


def shown_by(key: Mapping[str, Any], image: Mapping[str, Any]) -> Shown:
    table = _table(key, image)
    return Shown(table, {name: (cell["t"], cell["f"], bool(cell.get("h"))) for name, cell in image.items()})


def _table(key: Mapping[str, Any], image: Mapping[str, Any]) -> TableSchema:
    """The table of a row, from its key and one whole image."""
    columns, handle = [], []
    for number, (name, cell) in enumerate(image.items(), 1):
        columns.append(_column(number, name, cell))
        if cell.get("h"):
            handle.append(name)
    primary = [column for column in columns if column.pk]
    indexes = _indexes(image, [column.name for column in primary], handle)
    single = len(primary) == 1 and primary[0].type.is_integer
    by_id = single and (key["rid"] is not None or image[primary[0].name].get("v") == 0)
    partition = key["ptn"] or 0
    parts = (Partition(partition, ""),) if partition else ()
    names = (key["scm"] or "", key["tbl"] or "")
    return TableSchema(
        *names, partition, key["ts"], tuple(columns), indexes, pk_is_handle=by_id, common_handle=False, partitions=parts
    )


def _indexes(image: Mapping[str, Any], primary: list[str], handle: list[str]) -> tuple[Index, ...]:
    """Indexes that give the columns the flags that they have; which columns share one, the flags only hint at."""
    wanted: list[tuple[list[str], bool, bool]] = []
    if len(primary) > 1:
        wanted.append((primary, True, True))
    elif handle and not primary:
        wanted.append((handle, True, False))
    flag_of = {name: cell["f"] for name, cell in image.items()}
    unique = [name for name, flag in flag_of.items() if flag & UNIQUE_KEY and ([name], True, False) not in wanted]
    shared = [name for name in unique if flag_of[name] & MULTIPLE_KEY]
    shared = [] if (shared, True, False) in wanted else shared
    wanted += [(shared, True, False)] if len(shared) > 1 else []
    covered = {name for names, is_unique, is_primary in wanted if is_unique and not is_primary for name in names}
    wanted += [([name], True, False) for name in unique if name not in covered]
    joined = {name for names, *_ in wanted if len(names) > 1 for name in names}
    wanted += [([name], False, False) for name, flag in flag_of.items() if flag & MULTIPLE_KEY and name not in joined]
    return tuple(
        Index(at, f"index{at}", tuple(names), unique=is_unique, primary=is_primary)
        for at, (names, is_unique, is_primary) in enumerate(wanted, 1)
    )


def _column(number: int, name: str, cell: Any) -> Column:
    if not isinstance(cell, dict) or not isinstance(cell.get("t"), int) or not isinstance(cell.get("f"), int):
        raise NoTable(f"column {name} is {cell!r}; it must be an object with t, f and v")
    kind, flag = column_type(cell["t"], cell["f"]), cell["f"]
    if kind is None:
        raise NoTable(f"column {name} is of type {cell['t']}, which there is not")
    return Column(
        number,
        name,
        kind,
        nullable=bool(flag & NULLABLE),
        pk=bool(flag & PRIMARY_KEY),
        generated="stored" if flag & GENERATED else "",
    )
