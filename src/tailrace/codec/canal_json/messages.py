"""Change batches, DDL events and watermarks to canal-json messages: one message a change, without a key.

A message that is larger than `max-message-bytes` is refused, or sent with the handle key alone: as it is, for readers
that look the row up, or with the place of the whole message in a claim store. What is stored is written before the
batch's messages are handed out, so a message never names what is not there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.tso import Ts
from tailrace.codec.base import ClaimStore, Message, Messages
from tailrace.codec.binary import base64_text
from tailrace.codec.canal_json.encode import Shapes
from tailrace.codec.canal_json.events import ddl_message, watermark_message
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.rows import Ending, written
from tailrace.codec.canal_json.shape import Shape
from tailrace.codec.escapes import escaped
from tailrace.codec.pieces import slices
from tailrace.codec.sending import RECORD_OVERHEAD, new_name, now
from tailrace.errors import ConfigError, MessageTooLarge


class CanalJsonMessageEncoder:
    """A MessageEncoder. `names` gives each stored message its own name."""

    def __init__(
        self,
        options: CanalJsonOptions,
        claims: ClaimStore | None = None,
        clock: Callable[[], int] = now,
        names: Callable[[], str] = new_name,
    ) -> None:
        if options.large_message_handle_option == "claim-check" and claims is None:
            raise ConfigError("large-message-handle-option is claim-check, which needs a store for the claims")
        if options.large_message_handle_option != "none" and not options.enable_tidb_extension:
            raise ConfigError("large-message-handle-option needs enable-tidb-extension=true with canal-json")
        self._options = options
        self._claims = claims
        self._clock = clock
        self._names = names
        self._shapes = Shapes(options)

    @property
    def joins_rows(self) -> bool:
        return False

    def encode(self, batch: ChangeBatch) -> Messages:
        shape, ts = self._shapes.of(batch.table), self._clock()
        parts: list[pa.LargeBinaryArray] = []
        for part in slices(batch.data, len(shape.columns)):
            parts.append(self._encoded(shape, part, ts, sum(map(len, parts))))
        values = pa.concat_arrays(parts) if parts else pa.array([], pa.large_binary())
        rows = batch.num_rows
        return Messages(pa.nulls(rows, pa.large_binary()), values, pa.array(np.ones(rows, np.int32)))

    def ddl(self, event: DdlEvent) -> Message | None:
        return Message(None, ddl_message(event, self._clock(), self._options.enable_tidb_extension))

    def watermark(self, ts: Ts) -> Message | None:
        return Message(None, watermark_message(ts, self._clock())) if self._options.enable_tidb_extension else None

    def _encoded(self, shape: Shape, data: pa.RecordBatch, ts: int, before: int) -> pa.LargeBinaryArray:
        """The messages of a part of a batch; `before` is how many changes the batch has before it."""
        close = "}}" if self._options.enable_tidb_extension else "}"
        values = _values(*written(shape, self._options, data, ts, Ending(close)))
        large = self._too_large(values)
        if not len(large):
            return values
        chosen = pa.array(large)
        small = self._reduced(shape, data.take(chosen), ts, values.take(chosen), before + int(large[0]))
        still = self._too_large(small)
        if len(still):
            raise self._refusal(
                shape, small, int(still[0]), before + int(large[still[0]]), "even with its handle key alone"
            )
        order = np.arange(len(values))
        order[large] = np.arange(len(values), len(values) + len(large))
        return pa.concat_arrays([values, small]).take(pa.array(order))

    def _too_large(self, values: pa.LargeBinaryArray) -> npt.NDArray[np.intp]:
        sizes = pc.binary_length(values).to_numpy()
        return np.flatnonzero(sizes > self._options.max_message_bytes - RECORD_OVERHEAD)

    def _reduced(
        self, shape: Shape, data: pa.RecordBatch, ts: int, values: pa.LargeBinaryArray, first: int
    ) -> pa.LargeBinaryArray:
        option = self._options.large_message_handle_option
        if option == "none" or not shape.in_key.any():
            why = "large-message-handle-option is none" if option == "none" else "its table has no handle key"
            raise self._refusal(shape, values, 0, first, f"and {why}")
        ending = Ending(',"onlyHandleKey":true}}', only_keys=True)
        if self._claims is not None and option == "claim-check":
            names = [self._names() for _ in range(len(values))]
            self._claims.put(names, _stored(values, self._options.claim_check_raw_value))
            folder = self._options.claim_check_storage_uri.rstrip("/")
            locations = escaped(pa.array([f"{folder}/{name}" for name in names]))
            ending = Ending('"}}', only_keys=True, locations=locations)
        return _values(*written(shape, self._options, data, ts, ending))

    def _refusal(self, shape: Shape, values: pa.Array, at: int, row: int, why: str) -> MessageTooLarge:
        size = len(values[at].as_buffer()) + RECORD_OVERHEAD
        limit = self._options.max_message_bytes
        message = f"a change makes a message of {size} bytes, {why}; max-message-bytes is {limit}"
        return MessageTooLarge(message, table=shape.table.full_name, position=f"change {row + 1} of the batch")


def _values(borders: npt.NDArray[np.int32], data: pa.Buffer) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(borders.astype(np.int64)), data]
    return pa.Array.from_buffers(pa.large_binary(), len(borders) - 1, buffers)


def _stored(values: pa.LargeBinaryArray, raw: bool) -> pa.LargeBinaryArray:
    """What a claim's object holds: the message, or an envelope of JSON around it."""
    if raw:
        return values
    text = base64_text(values.cast(pa.binary())).cast(pa.binary())
    return pc.binary_join_element_wise(b'{"key":null,"value":"', text, b'"}', b"").cast(pa.large_binary())
