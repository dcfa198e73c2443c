"""Flat-avro messages to change batches, DDL events and watermarks, in the order of the messages.

All messages of one pair of schemas are read together. The format does not carry everything: an UPDATE has no image
before it, a DELETE has its key alone and no commit ts, and without the extension no message has one and every row is
an INSERT. A row without a commit ts takes that of the message before it, so one decoder reads one partition.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, ChangeBatch, batch_schema
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.change.tso import Ts
from tailrace.codec.arrivals import Arrival, in_order
from tailrace.codec.base import Decoded, Places, Watermark
from tailrace.codec.flat_avro.cursor import PADDING, Bytes, Rows
from tailrace.codec.flat_avro.records import Parsed, parsed_keys, parsed_values
from tailrace.codec.flat_avro.registry import Registry
from tailrace.codec.flat_avro.tables import BadSchema, Record, record_of
from tailrace.codec.grid import Malformed
from tailrace.errors import DecodeError, NotFound

HEADER = 5
_DDL, _WATERMARK = 1, 2
_BLOCK_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class _Part:
    """Keys or values as bytes: where each begins and ends, and the number of its schema (-1 where there is none)."""

    data: Bytes
    starts: Rows
    ends: Rows
    numbers: Rows

    @classmethod
    def of(cls, messages: pa.LargeBinaryArray) -> _Part:
        _, offsets, held = messages.buffers()
        borders = np.frombuffer(offsets, np.int64)[messages.offset : messages.offset + len(messages) + 1]
        first = int(borders[0]) if len(borders) else 0
        size = int(borders[-1]) - first if len(borders) else 0
        data = np.zeros(size + PADDING, np.uint8)
        if size:
            data[:size] = np.frombuffer(held, np.uint8)[first : first + size]
        starts, ends = borders[:-1] - first, borders[1:] - first
        numbers = np.full(len(messages), -1, np.int64)
        whole = np.flatnonzero((ends - starts >= HEADER) & (data[starts] == 0))
        header = data[starts[whole, None] + np.arange(1, HEADER)].astype(np.int64)
        numbers[whole] = header[:, 0] << 24 | header[:, 1] << 16 | header[:, 2] << 8 | header[:, 3]
        return cls(data, starts, ends, numbers)


class FlatAvroMessageDecoder:
    """A MessageDecoder for the messages of one partition. It remembers schemas, tables, and the last commit ts."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._records: dict[int, Record] = {}
        self._tables: dict[tuple[int, int], TableSchema] = {}
        self._latest: dict[int, int] = {}
        self._stamp: Ts = 0

    def decode(self, keys: pa.LargeBinaryArray, values: pa.LargeBinaryArray, places: Places) -> Iterator[Decoded]:
        sizes = pc.add(pc.fill_null(pc.binary_length(keys), 0), pc.fill_null(pc.binary_length(values), 0)).to_numpy()
        borders = np.flatnonzero(np.diff(np.cumsum(sizes) // _BLOCK_BYTES)) + 1
        for begin, end in pairwise([0, *borders.tolist(), len(sizes)] if len(sizes) else []):
            try:
                yield from self._block(keys.slice(begin, end - begin), values.slice(begin, end - begin))
            except Malformed as wrong:
                raise DecodeError(wrong.message, position=places.of(begin + wrong.row)) from None

    def _block(self, keys: pa.LargeBinaryArray, values: pa.LargeBinaryArray) -> Iterator[Decoded]:
        no_key, no_value = (pc.is_null(part).to_numpy(zero_copy_only=False) for part in (keys, values))
        if (no_key & no_value).any():
            raise Malformed(int(np.argmax(no_key & no_value)), "the message has neither key nor value")
        key, value = _Part.of(keys), _Part.of(values)
        events: dict[int, Decoded] = {at: _event(values[at].as_py(), at) for at in np.flatnonzero(no_key).tolist()}
        self._check_headers(key, ~no_key)
        self._check_headers(value, ~no_key & ~no_value)
        found: list[Parsed] = []
        for key_number in np.unique(key.numbers[~no_key]).tolist():
            rows = np.flatnonzero(~no_key & (key.numbers == key_number))
            owners = self._owners(key_number, value.numbers[rows])
            for number in np.unique(owners).tolist():
                mine = rows[owners == number]
                deletes = no_value[mine]
                for some, is_delete in ((mine[~deletes], False), (mine[deletes], True)):
                    if len(some):
                        found.append(self._read(key, value, some, (key_number, number), is_delete))
        stamps = self._stamps(found, events, len(keys))
        arrivals: dict[TableSchema, list[Arrival]] = {}
        for each in found:
            arrivals.setdefault(each.table, []).append(_arrival(each, stamps[each.rows]))
        yield from in_order([_merged(some) for some in arrivals.values()], events, len(keys))

    def _check_headers(self, part: _Part, wanted: npt.NDArray[np.bool_]) -> None:
        wrong = wanted & (part.numbers < 0)
        if wrong.any():
            raise Malformed(int(np.argmax(wrong)), "the message must begin with a zero byte and a schema's number")

    def _owners(self, key_number: int, numbers: Rows) -> Rows:
        """The value's schema of each message; a tombstone's is that of the value before it, or else behind it."""
        known = np.maximum.accumulate(np.where(numbers >= 0, np.arange(len(numbers)), -1))
        valued = numbers[numbers >= 0]
        before = self._latest.get(key_number, int(valued[0]) if len(valued) else -1)
        owners: Rows = np.where(known >= 0, numbers[np.maximum(known, 0)], before)
        if len(valued):
            self._latest[key_number] = int(valued[-1])
        return owners

    def _read(self, key: _Part, value: _Part, rows: Rows, pair: tuple[int, int], deletes: bool) -> Parsed:
        """Messages of one pair of schemas: rows, or tombstones."""
        bodies = (key.data, key.starts[rows] + HEADER, key.ends[rows])
        try:
            table = self._table(*pair)
            if deletes:
                return parsed_keys(self._records[pair[0]], table, rows, bodies)
            record, starts = self._records[pair[1]], value.starts[rows] + HEADER
            return parsed_values(
                record, self._records[pair[0]], table, rows, (value.data, starts, value.ends[rows]), bodies
            )
        except BadSchema as wrong:
            raise Malformed(int(rows[0]), str(wrong)) from None
        except Malformed as wrong:
            raise Malformed(int(rows[wrong.row]), wrong.message) from None

    def _record(self, number: int) -> Record:
        record = self._records.get(number)
        if record is None:
            try:
                record = self._records[number] = record_of(self._registry.schema(number))
            except (BadSchema, NotFound) as wrong:
                raise BadSchema(f"schema {number}: {wrong}") from None
        return record

    def _table(self, key_number: int, number: int) -> TableSchema:
        """The table of a pair of schemas; where no value was seen, one of the key's columns alone."""
        table = self._tables.get((key_number, number))
        if table is None:
            key = self._record(key_number)
            record, version = (key, key_number) if number < 0 else (self._record(number), number)
            table = self._tables[key_number, number] = record.as_table(key, version)
        return table

    def _stamps(self, found: list[Parsed], events: dict[int, Decoded], count: int) -> npt.NDArray[np.int64]:
        """The commit ts of every message; one that has none takes that of the message before it."""
        stamps = np.full(count, -1, np.int64)
        for each in found:
            if each.stamps is not None:
                stamps[each.rows] = each.stamps
        for at, event in events.items():
            stamps[at] = event.ts if isinstance(event, Watermark) else getattr(event, "commit_ts", -1)
        known = np.maximum.accumulate(np.where(stamps >= 0, np.arange(count), -1))
        filled = np.where(known >= 0, stamps[np.maximum(known, 0)], self._stamp)
        self._stamp = int(filled[-1]) if count else self._stamp
        return filled


def _arrival(parsed: Parsed, stamps: npt.NDArray[np.int64]) -> Arrival:
    commit, absent = pa.array(stamps), pa.nulls(len(parsed.rows), parsed.table.arrow_struct)
    deletes = parsed.op is None
    op = np.full(len(stamps), DELETE, np.uint8) if parsed.op is None else parsed.op
    images = [absent, parsed.image] if deletes else [parsed.image, absent]
    data = pa.RecordBatch.from_arrays([pa.array(op), commit, commit, *images], schema=batch_schema(parsed.table))
    return Arrival(parsed.rows, ChangeBatch(parsed.table, data))


def _merged(arrivals: list[Arrival]) -> Arrival:
    """The rows and tombstones of one table version."""
    if len(arrivals) == 1:
        return arrivals[0]
    rows = np.concatenate([each.rows for each in arrivals])
    order = np.argsort(rows)
    data = pa.concat_batches([each.batch.data for each in arrivals]).take(pa.array(order))
    return Arrival(rows[order], ChangeBatch(arrivals[0].batch.table, data))


def _event(message: bytes, at: int) -> Decoded:
    kind, body = message[:1], message[1:]
    if kind == bytes([_WATERMARK]) and len(body) == 8:
        ts = int.from_bytes(body, "big")
        if ts < 1 << 63:
            return Watermark(ts)
    elif kind == bytes([_DDL]):
        try:
            said = json.loads(body)
            event = DdlEvent(
                said["commitTs"], said["commitTs"], 0, said["type"], said["query"], said["schema"], said["table"]
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            raise Malformed(at, "a DDL must be JSON with query, type, schema, table and commitTs") from None
        texts, numbers = (event.query, event.schema_name, event.table_name), (event.commit_ts, event.type)
        plain = all(isinstance(each, str) for each in texts) and all(type(each) is int for each in numbers)
        if plain and 0 <= event.commit_ts < 1 << 63:
            return event
        raise Malformed(at, "query, schema and table of a DDL must be text, its type and commitTs numbers")
    raise Malformed(at, "a message without a key must be a DDL or a watermark")
