"""Change batches, DDL events and resolved timestamps to open-protocol messages: several changes a message.

A message is closed when it holds `max-batch-size` changes, or when the next one would make it larger than
`max-message-bytes`. A change that is too large by itself is refused, or sent with the handle key alone: as it is, for
readers that look the row up, or with the place of the whole message in a claim store, which is written before.
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
from tailrace.codec.escapes import escaped
from tailrace.codec.kept import Kept
from tailrace.codec.open_protocol.events import VERSION, ddl_message, resolved_message
from tailrace.codec.open_protocol.options import OpenProtocolOptions
from tailrace.codec.open_protocol.rows import PREFIX, key_frames, value_frames
from tailrace.codec.open_protocol.shape import Shape
from tailrace.codec.pieces import slices
from tailrace.codec.sending import RECORD_OVERHEAD, new_name
from tailrace.errors import ConfigError, MessageTooLarge

Sizes = npt.NDArray[np.int64]


class OpenProtocolEncoder:
    """A MessageEncoder. A batch is of one partition; of a partitioned table, its table has the id of the table's own
    partition, which keys then name. `names` gives each stored message its own name."""

    def __init__(
        self, options: OpenProtocolOptions, claims: ClaimStore | None = None, names: Callable[[], str] = new_name
    ) -> None:
        if options.large_message_handle_option == "claim-check" and claims is None:
            raise ConfigError("large-message-handle-option is claim-check, which needs a store for the claims")
        if options.max_batch_size < 1:
            raise ConfigError(f"max-batch-size is {options.max_batch_size}; it must be 1 or more")
        self._options = options
        self._claims = claims
        self._names = names
        self._shapes: Kept[Shape] = Kept(Shape.of)

    @property
    def joins_rows(self) -> bool:
        return True

    def encode(self, batch: ChangeBatch) -> Messages:
        shape, parts, before = self._shapes.of(batch.table), [], 0
        for part in slices(batch.data, len(shape.columns)):
            parts.append(self._frames(shape, part, before))
            before += part.num_rows
        if not parts:
            nothing = pa.array([], pa.large_binary())
            return Messages(nothing, nothing, pa.array([], pa.int32()))
        keys, values = (_joined([part[at] for part in parts]) for at in (0, 1))
        key_sizes, value_sizes = (np.diff(borders) for borders, _ in (keys, values))
        counts = self._grouped(key_sizes - PREFIX + value_sizes - PREFIX)
        ends = np.concatenate([[0], np.cumsum(counts)])
        frames = _values(keys[0][ends], keys[1])
        whole = pc.binary_join_element_wise(
            pa.scalar(VERSION, pa.large_binary()), frames, pa.scalar(b"", pa.large_binary())
        )
        return Messages(whole, _values(values[0][ends], values[1]), pa.array(counts.astype(np.int32)))

    def ddl(self, event: DdlEvent) -> Message | None:
        return ddl_message(event)

    def watermark(self, ts: Ts) -> Message | None:
        return resolved_message(ts)

    def _grouped(self, sizes: Sizes) -> Sizes:
        """How many changes each message holds, from what each costs without its lengths."""
        most, rows = self._options.max_batch_size, len(sizes)
        whole = sizes + 2 * PREFIX
        room = self._options.max_message_bytes - RECORD_OVERHEAD - PREFIX
        if rows and int(whole.max()) * min(most, rows) <= room:
            return np.diff(np.append(np.arange(0, rows, most), rows))
        ends, counts, begin = np.cumsum(whole), [], 0
        while begin < rows:
            limit = room + (int(ends[begin - 1]) if begin else 0)
            end = min(int(np.searchsorted(ends, limit, "right")), begin + most, rows)
            counts.append(max(end, begin + 1) - begin)
            begin += counts[-1]
        return np.array(counts, np.int64)

    def _frames(self, shape: Shape, data: pa.RecordBatch, before: int) -> tuple[pa.BinaryArray, pa.BinaryArray]:
        keys, values = key_frames(shape, data, "}"), value_frames(shape, self._options, data, False)
        large = self._too_large(keys, values)
        if not len(large):
            return keys, values
        chosen = pa.array(large)
        some, row = data.take(chosen), before + int(large[0]) + 1
        tail, locations = self._reduction(shape, keys.take(chosen), values.take(chosen), row)
        small = key_frames(shape, some, tail, locations), value_frames(shape, self._options, some, True)
        still = self._too_large(*small)
        if len(still):
            row, at = before + int(large[still[0]]) + 1, pa.array(still[:1])
            keys, values = small[0].take(at), small[1].take(at)
            raise self._refusal(shape, keys, values, row, "even with its handle key alone")
        order = np.arange(data.num_rows)
        order[large] = data.num_rows + np.arange(len(large))
        taken = [
            pa.concat_arrays([all_, few]).take(pa.array(order)) for all_, few in zip((keys, values), small, strict=True)
        ]
        return taken[0], taken[1]

    def _too_large(self, keys: pa.BinaryArray, values: pa.BinaryArray) -> Sizes:
        sizes = pc.add(pc.binary_length(keys), pc.binary_length(values)).to_numpy()
        return np.flatnonzero(sizes + PREFIX + RECORD_OVERHEAD > self._options.max_message_bytes)

    def _reduction(
        self, shape: Shape, keys: pa.BinaryArray, values: pa.BinaryArray, row: int
    ) -> tuple[str, pa.BinaryArray | None]:
        """What the keys of large changes say in addition; the whole messages are stored where they are to be."""
        option = self._options.large_message_handle_option
        if option == "none" or not shape.in_key.any():
            why = "large-message-handle-option is none" if option == "none" else "its table has no handle key"
            raise self._refusal(shape, keys, values, row, f"and {why}")
        if option == "handle-key-only" or self._claims is None:
            return ',"ohk":true}', None
        names = [self._names() for _ in range(len(values))]
        whole = pc.binary_join_element_wise(VERSION, keys, b"")
        self._claims.put(names, _stored(whole, values))
        folder = self._options.claim_check_storage_uri.rstrip("/")
        return ',"ccl":"', escaped(pa.array([f"{folder}/{name}" for name in names]))

    def _refusal(
        self, shape: Shape, keys: pa.BinaryArray, values: pa.BinaryArray, row: int, why: str
    ) -> MessageTooLarge:
        size = len(keys[0].as_buffer()) + len(values[0].as_buffer()) + PREFIX + RECORD_OVERHEAD
        message = (
            f"a change makes a message of {size} bytes, {why}; max-message-bytes is {self._options.max_message_bytes}"
        )
        return MessageTooLarge(message, table=shape.table.full_name, position=f"change {row} of the batch")


def _joined(parts: list[pa.BinaryArray]) -> tuple[Sizes, pa.Buffer]:
    """The frames one after the other, and where each begins."""
    whole = pa.concat_arrays([part.cast(pa.large_binary()) for part in parts]) if len(parts) > 1 else parts[0]
    width = np.int64 if len(parts) > 1 else np.int32
    _, offsets, data = whole.buffers()
    return np.frombuffer(offsets, width)[: len(whole) + 1].astype(np.int64), data


def _values(borders: Sizes, data: pa.Buffer) -> pa.LargeBinaryArray:
    return pa.Array.from_buffers(pa.large_binary(), len(borders) - 1, [None, pa.py_buffer(borders), data])


def _stored(keys: pa.BinaryArray, values: pa.BinaryArray) -> pa.LargeBinaryArray:
    """What a claim's object holds: key and value as base64, in an envelope of JSON."""
    texts = [base64_text(each).cast(pa.binary()) for each in (keys, values)]
    return pc.binary_join_element_wise(b'{"key":"', texts[0], b'","value":"', texts[1], b'"}', b"").cast(
        pa.large_binary()
    )
