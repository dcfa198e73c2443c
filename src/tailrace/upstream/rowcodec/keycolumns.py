"""The columns that rows' keys hold: an integer handle, or the columns of a common handle."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.change.schema import Column, TableSchema
from tailrace.errors import DecodeError
from tailrace.upstream.rowcodec import columns, commonhandles
from tailrace.upstream.rowcodec.cells import BadCell, Cells
from tailrace.upstream.rowcodec.keys import handle_column, integer_handles
from tailrace.upstream.rowcodec.zones import Zone


class KeyColumns:
    """Finds the columns once for a batch, decodes one when it is asked for."""

    def __init__(self, table: TableSchema, handles: Cells, zone: Zone) -> None:
        self.table = table
        self.zone = zone
        self._handles = handles
        self._integer = handle_column(table)
        keys = commonhandles.key_columns(table) if table.common_handle else []
        self._partial = {column.name for column, prefix in keys if prefix >= 0}
        self._parts = self._split() if keys else {}

    def holds(self, column: Column) -> bool:
        """Whether keys say something about a column."""
        mine = self._integer is not None and column.name == self._integer.name
        return mine or column.name in self._partial or column.name in self._parts

    def column(self, column: Column, rows: NDArray[np.intp]) -> pa.Array | None:
        """A column's values of some rows; None where keys do not hold it."""
        if self._integer is not None and column.name == self._integer.name:
            handles = integer_handles(self.table, self._handles.select(rows))
            return columns.from_integers(column.type, handles.view(np.uint64) if column.type.unsigned else handles)
        if column.name in self._partial:
            raise BadCell(0, "the value does not hold it, and the key only a prefix of it")
        if column.name in self._parts:
            return commonhandles.unpack(column.type, self._parts[column.name].select(rows), self.zone)
        return None

    def _split(self) -> dict[str, Cells]:
        try:
            return commonhandles.split(self.table, self._handles)
        except BadCell as bad:
            place = f"row {bad.index}"
            raise DecodeError(f"{place}: {bad.reason}", table=self.table.full_name, position=place) from bad
