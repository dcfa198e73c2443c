"""What all rows of one table version have in common: the literals between their values, columns in order of name.

A `Shape` is made once for each table version.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tailrace.change.go_json import quote
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.columns import visible
from tailrace.codec.images import Cell, ImageForm
from tailrace.codec.open_protocol.types import CODES, flags


@dataclass(frozen=True, slots=True)
class Shape:
    """`fields` are the places of the columns in the table's struct; `in_key` tells those of the handle key."""

    table: TableSchema
    columns: tuple[Column, ...]
    fields: tuple[int, ...]
    in_key: npt.NDArray[np.bool_]
    form: ImageForm
    names: str
    partition: int

    @classmethod
    def of(cls, table: TableSchema) -> Shape:
        columns, key = sorted(visible(table), key=lambda column: column.name.encode()), frozenset(table.handle_key)
        places = {column.name: at for at, column in enumerate(table.row_columns)}
        names = "".join(
            f',"{label}":{quote(name)}' for label, name in (("scm", table.schema), ("tbl", table.name)) if name
        )
        return cls(
            table=table,
            columns=tuple(columns),
            fields=tuple(places[column.name] for column in columns),
            in_key=np.array([column.name in key for column in columns], np.bool_),
            form=ImageForm.of([_cell(table, column) for column in columns], "}"),
            names=names,
            partition=table.table_id if table.table_id in {part.id for part in table.partitions} else 0,
        )


def _cell(table: TableSchema, column: Column) -> Cell:
    key = '"h":true,' if column.name in table.handle_key else ""
    lead = f'{quote(column.name)}:{{"t":{CODES[column.type.name]},{key}"f":{flags(table, column)},"v":'
    return Cell(lead, *(("", "}") if is_number(column) else ('"', '"}')))


def is_number(column: Column) -> bool:
    """Whether a value stands without quotes."""
    kind = column.type
    return kind.is_integer or kind.name in ("year", "bit", "float", "double", "enum", "set")
