"""Keys and values of one table version, read together: an image of each, with what the extension says of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import INSERT, UPDATE
from tailrace.change.schema import TableSchema
from tailrace.codec.binary import spans
from tailrace.codec.flat_avro.cursor import Bytes, Cursor, Rows
from tailrace.codec.flat_avro.read import read_column
from tailrace.codec.flat_avro.tables import Record
from tailrace.codec.grid import Malformed

_ALL_FIELDS = 6  # of the extension, with those of checksums
_CREATED, _UPDATED = 0x6302, 0x7502  # the length and the letter, as one little-endian number


@dataclass(frozen=True, slots=True)
class Parsed:
    """Rows of one table version: which of all messages they are. `op` None: deletes; `stamps` None: there are none."""

    table: TableSchema
    rows: Rows
    image: pa.StructArray
    op: npt.NDArray[np.uint8] | None
    stamps: npt.NDArray[np.int64] | None


Bodies = tuple[Bytes, Rows, Rows]  # where they lie, and where each begins and ends


def parsed_keys(key: Record, table: TableSchema, rows: Rows, keys: Bodies) -> Parsed:
    """Tombstones: the columns of the key, all others NULL."""
    cursor = Cursor(*keys)
    held = {known.column.name: read_column(cursor, known) for known in key.fields}
    cursor.end()
    return Parsed(table, rows, _image(table, held, len(rows)), None, None)


def parsed_values(record: Record, key: Record, table: TableSchema, rows: Rows, values: Bodies, keys: Bodies) -> Parsed:
    """Rows with their columns; their keys have to say the same."""
    data, cursor = values[0], Cursor(*values)
    held, borders = {}, {}
    for known in record.fields:
        begin = cursor.at.copy()
        held[known.column.name] = read_column(cursor, known)
        borders[known.column.name] = (begin, cursor.at.copy())
    op, stamps = np.full(len(rows), INSERT, np.uint8), None
    if record.extension:
        op, stamps = _extension(cursor, record.extension)
    cursor.end()
    parts = [spans(*borders[known.column.name], data) for known in key.fields]
    same = pc.equal(pc.binary_join_element_wise(*parts, pa.scalar(b"")), spans(keys[1], keys[2], keys[0]))
    if same.false_count:
        row = int(np.argmin(same.to_numpy(zero_copy_only=False)))
        raise Malformed(row, "the key is not that of the row")
    return Parsed(table, rows, _image(table, held, len(rows)), op, stamps)


def _image(table: TableSchema, held: dict[str, pa.Array], rows: int) -> pa.StructArray:
    struct = table.arrow_struct
    arrays = [held[field.name] if field.name in held else pa.nulls(rows, field.type) for field in struct]
    return pa.StructArray.from_arrays(arrays, fields=list(struct))


def _extension(cursor: Cursor, fields: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    letters = cursor.fixed("<u2")
    _refuse((letters != _CREATED) & (letters != _UPDATED), "_tidb_op must be c or u")
    stamps, physical = cursor.numbers(), cursor.numbers()
    _refuse(stamps < 0, "_tidb_commit_ts must not be negative")
    _refuse(physical != stamps >> 18, "_tidb_commit_physical_time is not that of _tidb_commit_ts")
    if fields == _ALL_FIELDS:
        starts, ends = cursor.texts()
        sums = spans(starts, ends, cursor.data)
        wrong = pc.invert(pc.match_substring_regex(sums.cast(pa.large_binary()), r"^([1-9][0-9]{0,9})?$"))
        _refuse(wrong.to_numpy(zero_copy_only=False), "_tidb_row_level_checksum must be a number or nothing")
        flags = cursor.fixed("u1")
        _refuse(flags > 1, "_tidb_corrupted must be true or false")
        _refuse(np.abs(cursor.numbers()) >= 1 << 31, "_tidb_checksum_version must be a number of 32 bits")
    return np.where(letters == _UPDATED, UPDATE, INSERT).astype(np.uint8), stamps


def _refuse(wrong: npt.NDArray[np.bool_], message: str) -> None:
    if wrong.any():
        raise Malformed(int(np.argmax(wrong)), message)
