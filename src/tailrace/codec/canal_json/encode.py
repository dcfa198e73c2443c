"""Change batches to canal-json: one JSON object a change, as TiCDC's hand-made writer lays it out.

The bytes are TiCDC's, but for two things that it leaves open: `mysqlType` is in the order of the columns (TiCDC's is
random), and `ts` is what the `clock` says. Rows of a file end in the terminator, the last one too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.binary import gathered
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.rows import Ending, written
from tailrace.codec.canal_json.shape import Shape
from tailrace.codec.pieces import slices
from tailrace.codec.sending import now

_KEPT_SHAPES = 256


@dataclass(frozen=True, slots=True)
class Shapes:
    """The shapes of the table versions that were written last."""

    options: CanalJsonOptions
    kept: dict[tuple[str, str, int, int], Shape] = field(default_factory=dict, compare=False, repr=False)

    def of(self, table: TableSchema) -> Shape:
        key = (table.schema, table.name, table.table_id, table.version)
        shape = self.kept.get(key)
        if shape is None or (shape.table is not table and shape.table != table):
            while len(self.kept) >= _KEPT_SHAPES:
                del self.kept[next(iter(self.kept))]
            shape = self.kept[key] = Shape.of(table, self.options)
        return shape


class CanalJsonEncoder:
    """A FileEncoder."""

    def __init__(self, options: CanalJsonOptions, clock: Callable[[], int] = now) -> None:
        self._options = options
        self._clock = clock
        self._shapes = Shapes(options)

    @property
    def extension(self) -> str:
        return ".json"

    def header(self, table: TableSchema) -> bytes:
        return b""

    def encode(self, batch: ChangeBatch) -> pa.Buffer:
        shape, ts = self._shapes.of(batch.table), self._clock()
        close = "}}" if self._options.enable_tidb_extension else "}"
        ending = Ending(close + self._options.terminator)
        parts = slices(batch.data, len(shape.columns))
        return gathered((written(shape, self._options, part, ts, ending)[1] for part in parts), len(parts))
