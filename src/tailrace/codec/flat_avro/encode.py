"""Change batches, DDL events and watermarks to flat-avro messages: one message a change, keyed by its handle key.

The bytes are TiCDC's: Confluent's header (a zero byte and the schema's number), then the columns in the order of the
schema. A DELETE is a tombstone. A schema is registered when the first message that names it is made, so a message
never names what the registry does not have.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.go_json import quote
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.base import Message, Messages
from tailrace.codec.flat_avro.options import FlatAvroOptions
from tailrace.codec.flat_avro.registry import Registry
from tailrace.codec.flat_avro.rows import RowWriter
from tailrace.codec.flat_avro.schemas import Shape, subject
from tailrace.codec.kept import Kept
from tailrace.codec.sending import RECORD_OVERHEAD
from tailrace.errors import EncodeError, MessageTooLarge

MAGIC, DDL, WATERMARK = 0, 1, 2
_SLICE_BYTES = 10 << 20


@dataclass(slots=True)
class _Table:
    """A table version with its writer, and the headers of its messages as far as they were needed."""

    shape: Shape
    writer: RowWriter
    headers: dict[str, bytes] = field(default_factory=dict)

    @property
    def table(self) -> TableSchema:
        return self.shape.table


class FlatAvroMessageEncoder:
    """A MessageEncoder. `topic` says which topic a table's changes go to, which its schemas are registered under."""

    def __init__(self, options: FlatAvroOptions, registry: Registry, topic: Callable[[TableSchema], str]) -> None:
        self._options = options
        self._registry = registry
        self._topic = topic
        self._tables = Kept(self._compiled)

    @property
    def joins_rows(self) -> bool:
        return False

    def encode(self, batch: ChangeBatch) -> Messages:
        table = self._tables.of(batch.table)
        keys, values, done = [], [], 0
        for part in _slices(batch.data, len(table.shape.fields)):
            try:
                key, value = table.writer.written(part, lambda which: self._header(table, which))
            except EncodeError as wrong:
                raise wrong.at(table=batch.table.full_name) from None
            self._check_sizes(batch.table, key, value, done)
            keys.append(key)
            values.append(value)
            done += part.num_rows
        rows = pa.array(np.ones(batch.num_rows, np.int32))
        return Messages(_whole(keys), _whole(values), rows)

    def ddl(self, event: DdlEvent) -> Message | None:
        if not self._options.has_events:
            return None
        text = (
            f'{{"query":{quote(event.query)},"type":{event.type},"schema":{quote(event.schema_name)},'
            f'"table":{quote(event.table_name)},"commitTs":{event.commit_ts}}}'
        )
        return Message(None, bytes([DDL]) + text.encode())

    def watermark(self, ts: Ts) -> Message | None:
        return Message(None, struct.pack(">BQ", WATERMARK, ts)) if self._options.has_events else None

    def _compiled(self, table: TableSchema) -> _Table:
        shape = Shape.of(table, self._options)
        return _Table(shape, RowWriter(shape, self._options))

    def _header(self, table: _Table, which: str) -> bytes:
        header = table.headers.get(which)
        if header is None:
            text = table.shape.schema(which)
            number = self._registry.register(subject(self._topic(table.table), which), text)
            header = table.headers[which] = struct.pack(">Bi", MAGIC, number)
        return header

    def _check_sizes(self, table: TableSchema, keys: pa.Array, values: pa.Array, done: int) -> None:
        sizes = pc.add(pc.binary_length(keys), pc.fill_null(pc.binary_length(values), 0)).to_numpy()
        limit = self._options.max_message_bytes
        if int(sizes.max(initial=0)) + RECORD_OVERHEAD <= limit:
            return
        row = int(np.argmax(sizes > limit - RECORD_OVERHEAD))
        message = f"a change makes a message of {sizes[row] + RECORD_OVERHEAD} bytes; max-message-bytes is {limit}"
        raise MessageTooLarge(message, table=table.full_name, position=f"change {done + row + 1} of the batch")


def _slices(data: pa.RecordBatch, columns: int) -> list[pa.RecordBatch]:
    """A batch in equal parts, so that none makes more bytes than an Arrow column or our memory can take."""
    rows = data.num_rows
    limit = max(_SLICE_BYTES // (64 + 16 * columns + 2 * data.nbytes // max(rows, 1)), 1)
    size = -(-rows // -(-rows // limit)) if rows else 1
    return [data.slice(begin, size) for begin in range(0, rows, size)]


def _whole(parts: list[pa.LargeBinaryArray]) -> pa.LargeBinaryArray:
    return pa.concat_arrays(parts) if parts else pa.array([], pa.large_binary())
