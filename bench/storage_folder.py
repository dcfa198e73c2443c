"""Folders of TiCDC's layout that the benches of the consumer read, written by our own encoder, without a sink."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench.tables import VERSION, batch, narrow_table, wide_table
from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.change.schema_file import table_file
from tailrace.codec.csv import CsvEncoder, CsvOptions

TABLES: dict[str, Callable[[], TableSchema]] = {"narrow": narrow_table, "wide": wide_table}
CONFIG = (
    '[sink]\nprotocol = "csv"\ndate-separator = "none"\nschema-dialect = "new"\n[sink.csv]\ninclude-commit-ts = true\n'
)
OPTIONS = CsvOptions(include_commit_ts=True)
CHUNK_ROWS = 20_000


def rows_folder(root: Path, name: str, rows: int, file_bytes: int) -> None:
    """One table's rows, inserted in transactions of 100 rows, in files of about this size."""
    table = TABLES[name]()
    write_schema(root, table)
    folder = root / table.schema / table.name / str(table.version)
    folder.mkdir(parents=True)
    number, size, out = 1, 0, (folder / file_name(1)).open("wb")
    for data in _encoded(table, rows):
        if size > file_bytes:
            out.close()
            number, size = number + 1, 0
            out = (folder / file_name(number)).open("wb")
        out.write(data)
        size += len(data)
    out.close()
    write_metadata(root, VERSION + ((rows // 100 + 2) << 18))


def _encoded(table: TableSchema, rows: int) -> Iterator[bytes]:
    """The same chunk again and again, each with its own keys and commit ts."""
    encoder = CsvEncoder(OPTIONS)
    chunk = batch(table, CHUNK_ROWS)
    for first in range(0, rows, CHUNK_ROWS):
        moved = shifted(chunk, first)
        yield bytes(encoder.encode(moved.slice(0, min(CHUNK_ROWS, rows - first))))


def shifted(chunk: ChangeBatch, first: int) -> ChangeBatch:
    """A chunk whose keys and commit times begin where `first` rows ended."""
    ticks = (first // 100) << 18
    commits = pc.add(chunk.commit_ts, ticks)
    image = chunk.after
    keys = pc.add(pa.array(range(first, first + chunk.num_rows), pa.int64()), 1)
    fields = list(image.type)
    after = pa.StructArray.from_arrays([keys, *image.flatten()[1:]], fields=fields)
    columns = [chunk.op, commits, commits, after, chunk.before]
    return ChangeBatch(chunk.table, pa.RecordBatch.from_arrays(columns, schema=chunk.data.schema))


def many_tables_folder(root: Path, tables: int, files: int) -> None:
    """Small tables of one schema version, each with as many files of one row."""
    for number in range(tables):
        table = many_table(number)
        write_schema(root, table)
        for at in range(1, files + 1):
            add_file(root, table, at)
    write_metadata(root, VERSION + (files << 18))


def many_table(number: int) -> TableSchema:
    return replace(narrow_table(), schema="many", name=f"t{number:05d}")


def add_file(root: Path, table: TableSchema, number: int) -> Path:
    """File `number` of a table: one row, committed `number` milliseconds after the table's version."""
    folder = root / table.schema / table.name / str(table.version)
    if number == 1:
        folder.mkdir(parents=True)
    path = folder / file_name(number)
    path.write_bytes(_row(number).replace(b'"t00000"', b'"%s"' % table.name.encode(), 1))
    return path


@functools.cache
def _row(number: int) -> bytes:
    """The only row of everybody's file of a number, as the first table's."""
    chunk = shifted(batch(narrow_table(), 1), (number - 1) * 100)
    return bytes(CsvEncoder(OPTIONS).encode(ChangeBatch(many_table(0), chunk.data)))


def write_schema(root: Path, table: TableSchema) -> None:
    text, checksum = table_file(table, None, "new")
    folder = root / table.schema / table.name / "meta"
    folder.mkdir(parents=True)
    (folder / f"schema_{table.version}_{checksum:010d}.json").write_text(text, encoding="utf-8")


def write_metadata(root: Path, checkpoint: int) -> None:
    (root / "metadata").write_text(f'{{"checkpoint-ts":{checkpoint}}}')


def file_name(number: int) -> str:
    return f"CDC{number:020d}.csv"
