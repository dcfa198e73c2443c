"""What all rows of one table version have in common: the literals between their values.

A `Shape` is made once for each table version and option set. An image is written cell by cell; which literal stands
before a cell depends on whether the cell is there, is NULL or has text, and on the same of the last cell before it, so
nine literals a column make every image: whole, of the handle key alone, or of what an update changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.go_json import quote
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.types import SqlType, mysql_type, sql_type
from tailrace.codec.columns import visible
from tailrace.codec.pieces import Places, by_type

ABSENT, NULL, TEXT = 0, 1, 2
TYPES = {INSERT: "INSERT", UPDATE: "UPDATE", DELETE: "DELETE"}
_VARIANTS = 9


@dataclass(frozen=True, slots=True)
class Shape:
    """`fields` are the places of the columns in the table's struct; `in_key` tells those of the handle key. `groups`
    are the columns by type, `pairs` those of two images one after the other."""

    table: TableSchema
    columns: tuple[Column, ...]
    fields: tuple[int, ...]
    groups: dict[pa.DataType, list[int]]
    pairs: dict[pa.DataType, list[int]]
    in_key: npt.NDArray[np.bool_]
    heads: tuple[bytes, bytes, bytes]
    names: tuple[str, ...]
    sql_types: tuple[SqlType, ...]
    mysql_types: tuple[str, str]
    cells: pa.BinaryArray

    @classmethod
    def of(cls, table: TableSchema, options: CanalJsonOptions) -> Shape:
        columns, key = visible(table), frozenset(table.handle_key)
        names = tuple(quote(column.name) for column in columns)
        places = {column.name: at for at, column in enumerate(table.row_columns)}
        texts = [mysql_type(column.type, options.content_compatible) for column in columns]
        entries = [f"{name}:{quote(text)}" for name, text in zip(names, texts, strict=True)]
        in_key = np.array([column.name in key for column in columns], np.bool_)
        trimmed = [entry for entry, there in zip(entries, in_key, strict=True) if there]
        return cls(
            table=table,
            columns=columns,
            fields=tuple(places[column.name] for column in columns),
            groups=by_type(columns),
            pairs=by_type(columns + columns),
            in_key=in_key,
            heads=tuple(f'{opening(table)}{TYPES[op]}","es":'.encode() for op in sorted(TYPES)),  # type: ignore[arg-type]
            names=names,
            sql_types=tuple(sql_type(column) for column in columns),
            mysql_types=("{" + ",".join(entries) + "}", "{" + ",".join(trimmed) + "}"),
            cells=pa.array([text for name in names for text in _cell(name)], pa.binary()),
        )

    def chunks(self, ts: int, rising: Sequence[int]) -> list[list[bytes]]:
        """From `ts` to the first image, in one part and one more for each of the `rising` columns, whose codes differ
        from row to row. Each part has eight variants: 4 for the handle key alone, 2 for an update, 1 for beyond."""
        whole, trimmed = self._sql_types(None, rising), self._sql_types(self.in_key, rising)
        parts: list[list[bytes]] = []
        for part in range(len(rising) + 1):
            variants = []
            for variant in range(8):
                text = (trimmed if variant & 4 else whole)[part][variant & 1]
                if part == 0:
                    text = f',"ts":{ts},"sql":"","sqlType":{text}'
                if part == len(rising):
                    middle = self.mysql_types[variant >> 2]
                    text += f',"mysqlType":{middle},"old":' + ("[{" if variant & 2 else 'null,"data":[{')
                variants.append(text.encode())
            parts.append(variants)
        return parts

    def _sql_types(self, shown: npt.NDArray[np.bool_] | None, rising: Sequence[int]) -> list[tuple[str, str]]:
        parts, lead = [("", "")], "{"
        for at, (name, kind) in enumerate(zip(self.names, self.sql_types, strict=True)):
            there = shown is None or bool(shown[at])
            before = f"{lead}{name}:" if there else ""
            codes = (str(kind.code), str(kind.beyond)) if there else ("", "")
            lead = "," if there else lead
            if at in rising:
                parts[-1] = (parts[-1][0] + before, parts[-1][1] + before)
                parts.append(codes)
            else:
                parts[-1] = (parts[-1][0] + before + codes[0], parts[-1][1] + before + codes[0])
        end = "null" if lead == "{" else "}"
        parts[-1] = (parts[-1][0] + end, parts[-1][1] + end)
        return parts


def opening(table: TableSchema) -> str:
    """Every row's beginning, up to the quote before its type."""
    keys = ",".join(quote(column.name) for column in visible(table) if column.pk)
    where = f'"database":{quote(table.schema)},"table":{quote(table.name)}'
    return f'{{"id":0,{where},"pkNames":[{keys}],"isDdl":false,"type":"'


@overload
def variant(column: int, before: int, kind: int) -> int: ...


@overload
def variant(column: Places, before: int, kind: int) -> Places: ...


def variant(column: int | Places, before: int, kind: int) -> int | Places:
    """Which of `Shape.cells` stands before a column's value; an absent cell's is empty."""
    return _VARIANTS * column + 3 * before + kind


def _cell(name: str) -> list[bytes]:
    texts = []
    for before in ("", ",", '",'):
        texts += [b"", f"{before}{name}:null".encode(), f'{before}{name}:"'.encode()]
    return texts
