"""Change batches to debezium messages: one message a change, no key, with its schema or without.

DDL events and watermarks are not sent: TiCDC's encoder without its extension says nothing of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.codec.base import Message, Messages
from tailrace.codec.debezium.options import DebeziumOptions
from tailrace.codec.debezium.rows import written
from tailrace.codec.debezium.shape import Shape
from tailrace.codec.kept import Kept
from tailrace.codec.pieces import slices
from tailrace.codec.sending import now


class DebeziumEncoder:
    """A MessageEncoder."""

    def __init__(self, options: DebeziumOptions, clock: Callable[[], int] = now) -> None:
        self._options = options
        self._clock = clock
        self._shapes: Kept[Shape] = Kept(lambda table: Shape.of(table, options))

    @property
    def joins_rows(self) -> bool:
        return False

    def encode(self, batch: ChangeBatch) -> Messages:
        shape, ts, rows = self._shapes.of(batch.table), self._clock(), batch.num_rows
        parts = []
        for part in slices(batch.data, len(shape.columns) + len(shape.end) // 60):
            borders, data = written(shape, self._options, part, ts)
            buffers = [None, pa.py_buffer(borders.astype(np.int64)), data]
            parts.append(pa.Array.from_buffers(pa.large_binary(), part.num_rows, buffers))
        values = pa.concat_arrays(parts) if parts else pa.array([], pa.large_binary())
        return Messages(pa.nulls(rows, pa.large_binary()), values, pa.array(np.ones(rows, np.int32)))

    def ddl(self, event: DdlEvent) -> Message | None:
        return None

    def watermark(self, ts: Ts) -> Message | None:
        return None
