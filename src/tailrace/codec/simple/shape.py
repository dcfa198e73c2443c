"""What all rows of one table version have in common: the literals between their values, columns in order of name.

A `Shape` is made once for each table version and time zone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.go_json import quote
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.columns import visible
from tailrace.codec.images import Cell, ImageForm
from tailrace.codec.pieces import by_type

TYPES = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True, slots=True)
class Shape:
    """`heads` end before the commit ts of an insert, an update and a delete; `middle` stands behind the build time.
    `groups` are the columns of text by type, `binaries` those of bytes."""

    table: TableSchema
    columns: tuple[Column, ...]
    fields: tuple[int, ...]
    in_key: npt.NDArray[np.bool_]
    form: ImageForm
    heads: tuple[bytes, ...]
    middle: str
    binaries: tuple[int, ...]
    plain: tuple[int, ...]
    groups: dict[pa.DataType, list[int]]

    @classmethod
    def of(cls, table: TableSchema, time_zone: str) -> Shape:
        columns = tuple(sorted(visible(table), key=lambda column: column.name.encode()))
        key = frozenset(table.handle_key)
        places = {column.name: at for at, column in enumerate(table.row_columns)}
        names = f'"database":{quote(table.schema)},"table":{quote(table.name)},"tableID":{table.table_id}'
        plain = tuple(at for at, column in enumerate(columns) if not column.type.is_binary)
        return cls(
            table=table,
            columns=columns,
            fields=tuple(places[column.name] for column in columns),
            in_key=np.array([column.name in key for column in columns], np.bool_),
            form=ImageForm.of([_cell(column, time_zone) for column in columns]),
            heads=tuple(f'{{"version":1,{names},"type":"{kind}","commitTs":'.encode() for kind in TYPES),
            middle=f',"schemaVersion":{schema_version(table)}',
            binaries=tuple(at for at in range(len(columns)) if at not in plain),
            plain=plain,
            groups=by_type([columns[at] for at in plain]),
        )


def schema_version(table: TableSchema) -> int:
    """What messages name a table's version by: TiDB's time of the change, one below the commit that ended it."""
    return max(table.version - 1, 0)


def _cell(column: Column, time_zone: str) -> Cell:
    lead = f"{quote(column.name)}:"
    if column.type.name == "timestamp":
        return Cell(lead, f'{{"location":{quote(time_zone)},"value":"', '"}')
    return Cell(lead, '"', '"')
