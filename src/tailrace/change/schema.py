"""Table schemas: immutable descriptions of one version of one table.

A `TableSchema` guarantees that the same version of a table always gives the same Arrow struct, with virtual generated
columns left out, because no change ever carries them. It never refers to "the schema now": whoever holds rows holds
the schema that wrote them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from tailrace.change.tso import Ts
from tailrace.change.types import ColumnType

Default = str | bytes | int | float | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `default` is TiDB's stored text; `origin_default` fills rows older than the column."""

    id: int
    name: str
    type: ColumnType
    nullable: bool = True
    pk: bool = False
    default: Default = None
    origin_default: Default = None
    generated: Literal["", "virtual", "stored"] = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """One index: column names in index order, with the prefix length of each (-1: the whole column)."""

    id: int
    name: str
    columns: tuple[str, ...]
    unique: bool = False
    primary: bool = False
    prefixes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Partition:
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class TableSchema:
    """One version of a table. `pk_is_handle`: a single integer primary key is the row's handle."""

    schema: str
    name: str
    table_id: int
    version: Ts
    columns: tuple[Column, ...]
    indexes: tuple[Index, ...] = ()
    pk_is_handle: bool = False
    common_handle: bool = False
    partitions: tuple[Partition, ...] = ()
    charset: str = "utf8mb4"
    collation: str = "utf8mb4_bin"
    is_view: bool = False

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def row_columns(self) -> tuple[Column, ...]:
        """The columns that a change carries: all but the virtual ones, in table order."""
        return tuple(column for column in self.columns if column.generated != "virtual")

    @property
    def arrow_struct(self) -> pa.StructType:
        """The type of `after` and `before`."""
        return pa.struct([pa.field(column.name, column.type.arrow) for column in self.row_columns])

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    @property
    def handle_key(self) -> tuple[str, ...]:
        """Names of the key that identifies a row: the primary key, else the smallest unique key over NOT NULL columns.

        Among unique keys the one of the fewest columns wins, then the lowest index id. Empty: the table has no key.
        """
        primary = next((index.columns for index in self.indexes if index.primary), ())
        primary = primary or tuple(column.name for column in self.columns if column.pk)
        if primary:
            return primary
        solid = {column.name for column in self.row_columns if not column.nullable}
        usable = [index for index in self.indexes if index.unique and solid.issuperset(index.columns)]
        best = min(usable, key=lambda index: (len(index.columns), index.id), default=None)
        return best.columns if best else ()

    def at_version(self, version: Ts) -> TableSchema:
        return replace(self, version=version)
