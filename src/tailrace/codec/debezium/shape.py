"""What all rows of one table version have in common: the literals between their values, and the schema behind them.

A `Shape` is made once for each table version and option set.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tailrace.change.schema import Column, TableSchema
from tailrace.codec.columns import visible
from tailrace.codec.debezium.options import DebeziumOptions
from tailrace.codec.debezium.schemas import envelope, quoted
from tailrace.codec.debezium.values import alike, is_quoted
from tailrace.codec.images import Cell, ImageForm


@dataclass(frozen=True, slots=True)
class Shape:
    """`head` ends before the milliseconds of the commit, `names` before the commit ts, `source` behind it.

    `alike`: columns of one key are written together.
    """

    table: TableSchema
    columns: tuple[Column, ...]
    fields: tuple[int, ...]
    form: ImageForm
    alike: tuple[Hashable, ...]
    head: str
    names: str
    source: str
    end: str

    @classmethod
    def of(cls, table: TableSchema, options: DebeziumOptions) -> Shape:
        columns = visible(table)
        places = {column.name: at for at, column in enumerate(table.row_columns)}
        cluster = quoted(options.cluster_id)
        quotes = ((column, '"' if is_quoted(column) else "") for column in columns)
        return cls(
            table=table,
            columns=columns,
            fields=tuple(places[column.name] for column in columns),
            form=ImageForm.of([Cell(f"{quoted(column.name)}:", mark, mark) for column, mark in quotes]),
            alike=tuple(alike(column) for column in columns),
            head='{"payload":{"source":{"version":"2.4.0.Final","connector":"TiCDC",' + f'"name":{cluster},"ts_ms":',
            names=f',"snapshot":"false","db":{quoted(table.schema)},"table":{quoted(table.name)},"server_id":0,'
            '"gtid":null,"file":"","pos":0,"row":0,"thread":0,"query":null,"commit_ts":',
            source=f',"cluster_id":{cluster}}},"ts_ms":',
            end="}}"
            if options.debezium_disable_schema
            else f'}},"schema":{envelope(table, columns, options.cluster_id)}}}',
        )
