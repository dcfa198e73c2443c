"""Change batches, DDL events, watermarks and bootstraps to simple messages in JSON: one message a change, no key.

A message that is larger than `max-message-bytes` is refused, or sent with the handle key alone: as it is, for readers
that look the row up, or with the place of the whole message in a claim store, which is written before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.base import ClaimStore, Message, Messages
from tailrace.codec.binary import base64_text
from tailrace.codec.escapes import escaped
from tailrace.codec.kept import Kept
from tailrace.codec.pieces import slices
from tailrace.codec.sending import RECORD_OVERHEAD, new_name, now
from tailrace.codec.simple.events import bootstrap_message, ddl_message, watermark_message
from tailrace.codec.simple.options import SimpleOptions
from tailrace.codec.simple.rows import Reduced, written
from tailrace.codec.simple.shape import Shape
from tailrace.errors import ConfigError, MessageTooLarge


class SimpleEncoder:
    """A MessageEncoder. `names` gives each stored message its own name."""

    def __init__(
        self,
        options: SimpleOptions,
        claims: ClaimStore | None = None,
        clock: Callable[[], int] = now,
        names: Callable[[], str] = new_name,
    ) -> None:
        if options.large_message_handle_option == "claim-check" and claims is None:
            raise ConfigError("large-message-handle-option is claim-check, which needs a store for the claims")
        self._options = options
        self._claims = claims
        self._clock = clock
        self._names = names
        self._shapes: Kept[Shape] = Kept(lambda table: Shape.of(table, options.time_zone))

    @property
    def joins_rows(self) -> bool:
        return False

    def encode(self, batch: ChangeBatch) -> Messages:
        shape, ts, rows = self._shapes.of(batch.table), self._clock(), batch.num_rows
        parts: list[pa.LargeBinaryArray] = []
        for part in slices(batch.data, len(shape.columns)):
            parts.append(self._encoded(shape, part, ts, sum(map(len, parts))))
        values = pa.concat_arrays(parts) if parts else pa.array([], pa.large_binary())
        return Messages(pa.nulls(rows, pa.large_binary()), values, pa.array(np.ones(rows, np.int32)))

    def ddl(self, event: DdlEvent) -> Message | None:
        return Message(None, ddl_message(event, self._clock()))

    def watermark(self, ts: Ts) -> Message | None:
        return Message(None, watermark_message(ts, self._clock()))

    def bootstrap(self, table: TableSchema) -> Message:
        """What tells a reader of a table before its first change, and again from time to time."""
        return Message(None, bootstrap_message(table, self._clock()))

    def _encoded(self, shape: Shape, data: pa.RecordBatch, ts: int, before: int) -> pa.LargeBinaryArray:
        """The messages of a part of a batch; `before` is how many changes the batch has before it."""
        values = _values(*written(shape, data, ts))
        large = self._too_large(values)
        if not len(large):
            return values
        chosen = pa.array(large)
        reduced = self._reduced(shape, values.take(chosen), before + int(large[0]))
        small = _values(*written(shape, data.take(chosen), ts, reduced))
        still = self._too_large(small)
        if len(still):
            at = int(still[0])
            raise self._refusal(shape, small[at], before + int(large[at]), "even with its handle key alone")
        order = np.arange(len(values))
        order[large] = np.arange(len(values), len(values) + len(large))
        return pa.concat_arrays([values, small]).take(pa.array(order))

    def _too_large(self, values: pa.LargeBinaryArray) -> npt.NDArray[np.intp]:
        sizes = pc.binary_length(values).to_numpy()
        return np.flatnonzero(sizes > self._options.max_message_bytes - RECORD_OVERHEAD)

    def _reduced(self, shape: Shape, values: pa.LargeBinaryArray, row: int) -> Reduced:
        option = self._options.large_message_handle_option
        if option == "none" or not shape.in_key.any():
            why = "large-message-handle-option is none" if option == "none" else "its table has no handle key"
            raise self._refusal(shape, values[0], row, f"and {why}")
        if option == "handle-key-only" or self._claims is None:
            return Reduced()
        names = [self._names() for _ in range(len(values))]
        self._claims.put(names, values if self._options.claim_check_raw_value else _stored(values))
        folder = self._options.claim_check_storage_uri.rstrip("/")
        return Reduced(escaped(pa.array([f"{folder}/{name}" for name in names])))

    def _refusal(self, shape: Shape, value: pa.Scalar, row: int, why: str) -> MessageTooLarge:
        size, limit = len(value.as_buffer()) + RECORD_OVERHEAD, self._options.max_message_bytes
        message = f"a change makes a message of {size} bytes, {why}; max-message-bytes is {limit}"
        return MessageTooLarge(message, table=shape.table.full_name, position=f"change {row + 1} of the batch")


def _values(borders: npt.NDArray[np.int32], data: pa.Buffer) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(borders.astype(np.int64)), data]
    return pa.Array.from_buffers(pa.large_binary(), len(borders) - 1, buffers)


def _stored(values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """What a claim's object holds: the message in an envelope of JSON."""
    text = base64_text(values.cast(pa.binary())).cast(pa.binary())
    return pc.binary_join_element_wise(b'{"key":null,"value":"', text, b'"}', b"").cast(pa.large_binary())
