"""Codecs on one core, by CPU time: rows and bytes a second, encoding and decoding, for the three tables.

The limits are measured in the same run: `pyarrow.csv` writing the narrow table's columns (10.3 M rows/s on an idle
machine), and a plain copy of those bytes. Another codec is one more entry of `CODECS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.csv as arrow_csv

from bench.report import Report, arguments, best_seconds
from bench.tables import batch, ints100_table, narrow_table, wide_table
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.base import FileDecoder, FileEncoder, MessageDecoder, MessageEncoder, Messages
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonEncoder, CanalJsonOptions
from tailrace.codec.csv import CsvDecoder, CsvEncoder, CsvOptions
from tailrace.codec.debezium import DebeziumEncoder, DebeziumOptions
from tailrace.codec.flat_avro import FlatAvroMessageDecoder, FlatAvroMessageEncoder, FlatAvroOptions, MemoryRegistry
from tailrace.codec.open_protocol import OpenProtocolDecoder, OpenProtocolEncoder, OpenProtocolOptions
from tailrace.codec.simple import SimpleEncoder, SimpleOptions

REFERENCE = "arrow_csv_narrow.rows_per_s"
COPY = "copy.mb_per_s"
TABLES: dict[str, tuple[Callable[[], TableSchema], int]] = {
    "narrow": (narrow_table, 100_000),
    "wide": (wide_table, 20_000),
    "ints100": (ints100_table, 20_000),
}


@dataclass(frozen=True, slots=True)
class Codec:
    """One codec in one form: its encoder, its decoder if it has one, and the batches that it is measured with."""

    name: str
    encoder: FileEncoder
    decoder: FileDecoder | None
    tables: tuple[str, ...] = tuple(TABLES)
    updates: float = 0.0
    deletes: float = 0.0


def _csv(name: str, options: CsvOptions, updates: float = 0.0, deletes: float = 0.0) -> Codec:
    tables = tuple(TABLES) if name == "csv" else ("narrow", "wide")
    return Codec(name, CsvEncoder(options), CsvDecoder(options), tables, updates, deletes)


def _canal_json(name: str, options: CanalJsonOptions, updates: float = 0.0, deletes: float = 0.0) -> Codec:
    return Codec(name, CanalJsonEncoder(options), CanalJsonDecoder(options), tuple(TABLES), updates, deletes)


CODECS: tuple[Codec, ...] = (
    _csv("csv", CsvOptions(include_commit_ts=True)),
    _csv("csv_old_value", CsvOptions(include_commit_ts=True, output_old_value=True), 0.2, 0.1),
    _csv("csv_joined", CsvOptions(quote="'", delimiter="||", include_commit_ts=True), 0.2, 0.1),
    _csv("csv_no_quote", CsvOptions(quote="", include_commit_ts=True)),
    _canal_json("canal_json", CanalJsonOptions(enable_tidb_extension=True)),
    _canal_json("canal_json_mix", CanalJsonOptions(enable_tidb_extension=True), 0.6, 0.1),
    _canal_json("canal_json_changed", CanalJsonOptions(enable_tidb_extension=True, content_compatible=True), 0.6, 0.1),
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message codec: its encoder, and its decoder if it has one."""

    name: str
    encoder: MessageEncoder
    decoder: MessageDecoder | None = None


class Numbers:
    """Places of messages by number alone."""

    def of(self, message: int) -> str:
        return f"message {message}"


SENT: tuple[Sent, ...] = (
    Sent("open_protocol", OpenProtocolEncoder(OpenProtocolOptions()), OpenProtocolDecoder(OpenProtocolOptions())),
    Sent("simple", SimpleEncoder(SimpleOptions())),
    Sent("debezium", DebeziumEncoder(DebeziumOptions(debezium_disable_schema=True))),
)
AVRO: dict[str, tuple[FlatAvroOptions, float, float]] = {
    "flat_avro": (FlatAvroOptions(enable_tidb_extension=True), 0.0, 0.0),
    "flat_avro_mix": (FlatAvroOptions(True, "string", "string"), 0.6, 0.1),
    "flat_avro_checksum": (FlatAvroOptions(True, "string", "string", enable_row_checksum=True), 0.0, 0.0),
}


def main(argv: Sequence[str] | None = None) -> None:
    options = arguments("codecs", argv)
    pa.set_cpu_count(1)
    report = Report("codecs")
    rows = TABLES["narrow"][1]
    plain = pa.Table.from_arrays(batch(narrow_table(), rows).after.flatten(), names=list("abcd"))
    report.limit(REFERENCE, rows / _seconds(lambda: _plain_bytes(plain)))
    data = _plain_bytes(plain)
    report.limit(COPY, data.size / 1e6 / _seconds(lambda: bytes(memoryview(data))))
    for name, (make, count) in TABLES.items():
        for codec in CODECS:
            if name in codec.tables:
                _measure(report, codec, name, batch(make(), count, updates=codec.updates, deletes=codec.deletes))
        for sent in SENT:
            _measure_messages(report, sent, name, batch(make(), count))
        for avro, (form, updates, deletes) in AVRO.items():
            _measure_avro(report, f"{avro}.{{}}.{name}", form, batch(make(), count, updates=updates, deletes=deletes))
    report.finish(options.json)


def _seconds(work: Callable[[], object]) -> float:
    return best_seconds(work, 0.7, clock=time.process_time)


def _plain_bytes(table: pa.Table) -> pa.Buffer:
    out = pa.BufferOutputStream()
    arrow_csv.write_csv(table, out)
    return out.getvalue()


def _measure_avro(report: Report, key: str, form: FlatAvroOptions, changes: ChangeBatch) -> None:
    """`key` with the direction left open; sizes are those of keys and values."""
    registry = MemoryRegistry()
    encoder, decoder = (
        FlatAvroMessageEncoder(form, registry, lambda table: table.name),
        FlatAvroMessageDecoder(registry),
    )
    made, one = encoder.encode(changes), changes.slice(0, 1)
    report.add(f"{key.format('encode')}.one_row_us", _seconds(lambda: encoder.encode(one)) * 1e6)
    works: dict[str, Callable[[], object]] = {
        "encode": lambda: encoder.encode(changes),
        "decode": lambda: list(decoder.decode(made.keys, made.values, Numbers())),
    }
    for direction, work in works.items():
        seconds = _seconds(work)
        report.add(f"{key.format(direction)}.rows_per_s", changes.num_rows / seconds, REFERENCE)
        report.add(f"{key.format(direction)}.mb_per_s", _size(made) / 1e6 / seconds, COPY)


def _size(messages: Messages) -> int:
    return int(messages.keys.nbytes + messages.values.nbytes)


def _measure(report: Report, codec: Codec, table: str, changes: ChangeBatch) -> None:
    data = codec.encoder.encode(changes)
    one = changes.slice(0, 1)
    report.add(f"{codec.name}.encode.{table}.one_row_us", _seconds(lambda: codec.encoder.encode(one)) * 1e6)
    copied = data.size / _seconds(lambda: bytes(memoryview(data)))
    works: dict[str, Callable[[], object]] = {"encode": lambda: codec.encoder.encode(changes)}
    decoder = codec.decoder
    if decoder is not None:
        works["decode"] = lambda: list(decoder.decode(data, changes.table, "bench"))
    for direction, work in works.items():
        seconds = _seconds(work)
        key = f"{codec.name}.{direction}.{table}"
        report.add(f"{key}.rows_per_s", changes.num_rows / seconds, REFERENCE)
        report.add(f"{key}.mb_per_s", data.size / 1e6 / seconds, COPY)
        report.add(f"{key}.times_a_copy", copied * seconds / data.size)


def _measure_messages(report: Report, sent: Sent, table: str, changes: ChangeBatch) -> None:
    made, one = sent.encoder.encode(changes), changes.slice(0, 1)
    size = sum(each.nbytes for each in (made.keys, made.values))
    report.add(f"{sent.name}.encode.{table}.one_row_us", _seconds(lambda: sent.encoder.encode(one)) * 1e6)
    works: dict[str, Callable[[], object]] = {"encode": lambda: sent.encoder.encode(changes)}
    decoder = sent.decoder
    if decoder is not None:
        works["decode"] = lambda: list(decoder.decode(made.keys, made.values, Numbers()))
    for direction, work in works.items():
        seconds = _seconds(work)
        report.add(f"{sent.name}.{direction}.{table}.rows_per_s", changes.num_rows / seconds, REFERENCE)
        report.add(f"{sent.name}.{direction}.{table}.mb_per_s", size / 1e6 / seconds, COPY)


if __name__ == "__main__":
    main()
