"""Open-protocol messages to change batches, DDL events and watermarks, in the order of the messages.

All rows of one table version are read together. A key that names a claim is replaced by what the claim store holds. A
row of which only the handle key was sent is a DecodeError, unless it is a DELETE: nobody here can look it up. The
format carries no start ts (the commit ts stands in), no lengths of types and no old values where `p` is missing: the
columns that `p` leaves out are as in `u`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.codec.arrivals import Arrival, assembled, in_order
from tailrace.codec.base import ClaimStore, Decoded, Places, Watermark
from tailrace.codec.columns import first_of
from tailrace.codec.grid import Malformed
from tailrace.codec.json_rows import read_rows
from tailrace.codec.open_protocol.cells import Flags, cell_type, column_of
from tailrace.codec.open_protocol.events import DDL, RESOLVED, ROW
from tailrace.codec.open_protocol.frames import Frames, check_versions, frames_of
from tailrace.codec.open_protocol.options import OpenProtocolOptions
from tailrace.codec.open_protocol.rows import PREFIX
from tailrace.codec.open_protocol.tables import NoTable, Shown, shown_by
from tailrace.errors import DecodeError

Rows = npt.NDArray[np.int64]
_KEY = pa.schema(
    {"ts": pa.int64(), "scm": pa.string(), "tbl": pa.string(), "rid": pa.int64(), "ptn": pa.int64(), "t": pa.int64()}
    | {"ohk": pa.bool_(), "ccl": pa.string()}
)
_DDL = pa.schema([("q", pa.string()), ("t", pa.int64())])


class OpenProtocolDecoder:
    """A MessageDecoder. It remembers the tables that messages showed."""

    def __init__(self, options: OpenProtocolOptions, claims: ClaimStore | None = None) -> None:
        self._options = options
        self._claims = claims
        self._shown: dict[tuple[str, str, int], Shown] = {}

    def decode(self, keys: pa.LargeBinaryArray, values: pa.LargeBinaryArray, places: Places) -> Iterator[Decoded]:
        try:
            for what, held in (("key", keys), ("value", values)):
                if held.null_count:
                    raise Malformed(first_of(pc.is_null(held)), f"its {what} is NULL, which none is")
            check_versions(keys)
            heads, bodies = frames_of(keys, "key", PREFIX), frames_of(values, "value", 0)
            counts = [np.bincount(each.message, minlength=len(keys)) for each in (heads, bodies)]
            if (counts[0] != counts[1]).any():
                raise Malformed(int(np.argmax(counts[0] != counts[1])), "its key has other frames than its value")
        except Malformed as wrong:
            raise DecodeError(wrong.message, position=places.of(wrong.row)) from None
        try:
            yield from self._read(heads, bodies)
        except Malformed as wrong:
            message = int(heads.message[wrong.row])
            row = wrong.row - int(np.searchsorted(heads.message, message)) + 1
            raise DecodeError(wrong.message, position=f"{places.of(message)} row {row}") from None

    def _read(self, heads: Frames, bodies: Frames) -> Iterator[Decoded]:
        keys = read_rows(heads.data, heads.starts, heads.ends, _KEY)
        kinds, stamps = (pc.fill_null(keys[name], -1).to_numpy() for name in ("t", "ts"))
        wrong = ((kinds != ROW) & (kinds != DDL) & (kinds != RESOLVED)) | (stamps < 0)
        if wrong.any():
            raise Malformed(int(np.argmax(wrong)), "its key must have a ts from 0 on, and a t from 1 to 3")
        events: dict[int, Decoded] = {}
        for at in np.flatnonzero(kinds != ROW).tolist():
            events[at] = _event(keys.slice(at, 1).to_pylist()[0], bodies, at)
        bodies = self._claimed(keys, bodies)
        found: list[Arrival] = []
        rows = np.flatnonzero(kinds == ROW)
        for group in _groups(keys, rows):
            while len(group):
                arrival = self._together(keys, bodies, group)
                found.append(arrival)
                group = group[len(arrival.rows) :]
        yield from in_order(found, events, len(kinds))

    def _claimed(self, keys: pa.Table, bodies: Frames) -> Frames:
        """The values, with those in place that were put into the claim store."""
        named = np.flatnonzero(pc.is_valid(keys["ccl"]).to_numpy(zero_copy_only=False))
        if not len(named):
            return bodies
        data, starts, ends = [bodies.data.tobytes()], bodies.starts.copy(), bodies.ends.copy()
        for at in named.tolist():
            content = self._claim(keys["ccl"][at].as_py(), at)
            starts[at] = sum(map(len, data))
            ends[at] = starts[at] + len(content)
            data.append(content)
        return Frames(np.frombuffer(b"".join(data), np.uint8), starts, ends, bodies.message)

    def _claim(self, place: str, at: int) -> bytes:
        if self._claims is None:
            raise Malformed(at, f"the message is at {place!r}; it can be read where the claim store is known")
        try:
            held = json.loads(self._claims.get(place.rpartition("/")[2]))["value"]
            value = base64.b64decode(held, validate=True)
        except (ValueError, KeyError, TypeError, binascii.Error) as wrong:
            raise Malformed(at, f"the claim at {place!r} cannot be read: {wrong}") from None
        if int.from_bytes(value[:PREFIX], "big") != len(value) - PREFIX:
            raise Malformed(at, f"the claim at {place!r} is not one frame")
        return value[PREFIX:]

    def _together(self, keys: pa.Table, bodies: Frames, rows: Rows) -> Arrival:
        """The first rows that are of one version of their table, at least one."""
        shown = self._table(keys, bodies, int(rows[0]))
        table = shown.table
        image = pa.struct([pa.field(column.name, cell_type(column)) for column in table.columns])
        schema = pa.schema([(name, image) for name in ("u", "p", "d")])
        try:
            held = read_rows(bodies.data, bodies.starts[rows], bodies.ends[rows], schema)
        except Malformed as wrong:
            if wrong.row == 0:
                raise Malformed(int(rows[0]), wrong.message) from None
            rows = rows[: wrong.row]  # what follows may be of the next version, or will be refused by itself
            held = read_rows(bodies.data, bodies.starts[rows], bodies.ends[rows], schema)
        try:
            images = {name: _image(held[name], len(rows)) for name in ("u", "p", "d")}
            count = _of_version(shown, images, keys["ohk"].take(pa.array(rows)))
        except Malformed as wrong:
            raise Malformed(int(rows[wrong.row]), wrong.message) from None
        if count < len(rows):
            rows, images = rows[:count], {name: each.slice(0, count) for name, each in images.items()}
        try:
            batch = _batch(table, images, keys["ts"].take(pa.array(rows)).combine_chunks())
        except Malformed as wrong:
            raise Malformed(int(rows[wrong.row]), wrong.message) from None
        return Arrival(rows, batch)

    def _table(self, keys: pa.Table, bodies: Frames, row: int) -> Shown:
        """The table that a row is of: the one that was shown last, unless the row says anything else."""
        key = keys.slice(row, 1).to_pylist()[0]
        try:
            said = json.loads(bodies.data[bodies.starts[row] : bodies.ends[row]].tobytes())
            image = said.get("u") or said.get("d") if isinstance(said, dict) else None
            if not isinstance(image, dict) or not image:
                raise NoTable("its value must hold the cells of u or d")
            shown = shown_by(key, image)
        except (ValueError, RecursionError, NoTable) as wrong:
            raise Malformed(row, f"its value cannot be read: {wrong}") from None
        identity = (shown.table.schema, shown.table.name, shown.table.table_id)
        known = self._shown.get(identity)
        if known is not None and known.holds(shown, "d" in said):
            return known
        self._shown[identity] = shown
        return shown


def _groups(keys: pa.Table, rows: Rows) -> list[Rows]:
    """The rows of each table, or partition of one."""
    if not len(rows):
        return []
    codes = np.zeros(len(rows), np.int64)
    for name in ("scm", "tbl", "ptn"):
        coded = keys[name].combine_chunks().dictionary_encode("encode").indices.to_numpy()[rows]
        codes = codes * (int(coded.max()) + 1) + coded
    if (codes == codes[0]).all():
        return [rows]
    order = np.argsort(codes, kind="stable")
    return [rows[part] for part in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)]


def _image(column: pa.ChunkedArray, rows: int) -> pa.StructArray:
    whole = column.combine_chunks()
    return whole if len(whole) == rows else pa.nulls(rows, column.type)


def _of_version(shown: Shown, images: dict[str, pa.StructArray], only_keys: pa.ChunkedArray) -> int:
    """How many rows, from the first one, say of their columns what the table says."""
    there = {name: pc.is_valid(image).to_numpy(zero_copy_only=False) for name, image in images.items()}
    wrong = (there["u"] == there["d"]) | (there["p"] & ~there["u"])
    if wrong.any():
        raise Malformed(int(np.argmax(wrong)), "its value must hold either u, with p or without, or d")
    lost = pc.fill_null(only_keys, False).to_numpy() & there["u"]
    if lost.any():
        raise Malformed(int(np.argmax(lost)), "the message holds only the handle key; the row itself is elsewhere")
    trimmed = there["d"].copy()
    if trimmed.any():
        for at, (_, _, handle) in enumerate(shown.said.values()):
            cells = pc.struct_field(images["d"], [at])
            trimmed &= pc.is_valid(cells).to_numpy(zero_copy_only=False) == handle
    fits = np.ones(len(wrong), np.bool_)
    for at, said in enumerate(shown.said.values()):
        for which, image in images.items():
            if there[which].any():
                needed = there[which] & ~trimmed & (which != "p")
                fits &= _cells_fit(pc.struct_field(image, [at]), said, needed)
    if not fits.all() and not fits[0]:
        raise Malformed(0, f"its cells do not say of each column what {shown.table.full_name} is known by")
    return len(fits) if fits.all() else int(np.argmin(fits))


def _cells_fit(cells: pa.StructArray, said: tuple[int, int, bool], needed: Flags) -> Flags:
    """Whether each cell says what the table's cells do, and is there where it has to be."""
    valid = pc.is_valid(cells).to_numpy(zero_copy_only=False)
    same = pc.and_(pc.equal(pc.struct_field(cells, "t"), said[0]), pc.equal(pc.struct_field(cells, "f"), said[1]))
    same = pc.and_(same, pc.equal(pc.fill_null(pc.struct_field(cells, "h"), False), said[2]))
    flags: Flags = np.where(valid, pc.fill_null(same, False).to_numpy(zero_copy_only=False), ~needed)
    return flags


def _batch(table: TableSchema, images: dict[str, pa.StructArray], commit: pa.Int64Array) -> ChangeBatch:
    deleted = pc.is_valid(images["d"]).to_numpy(zero_copy_only=False)
    updated = pc.is_valid(images["p"]).to_numpy(zero_copy_only=False)
    ops = np.where(deleted, DELETE, np.where(updated, UPDATE, INSERT)).astype(np.uint8)
    now, then = [], []
    for at, column in enumerate(table.columns):
        cells = {name: pc.struct_field(image, [at]) for name, image in images.items()}
        absent = pc.is_null(cells["d"]).to_numpy(zero_copy_only=False)
        values = pc.struct_field(cells["u"], "v")
        if deleted.any():
            values = pc.if_else(pa.array(deleted), pc.struct_field(cells["d"], "v"), values)
        values = column_of(values, column, absent & deleted)
        now.append(values)
        if not updated.any():
            then.append(values)
            continue
        old = pc.struct_field(cells["p"], "v")
        given = pc.is_valid(cells["p"]).to_numpy(zero_copy_only=False)
        old = column_of(old, column, ~given)
        then.append(old if given.all() else pc.if_else(pa.array(given), old, values))
    struct = list(table.arrow_struct)
    after, before = (pa.StructArray.from_arrays(arrays, fields=struct) for arrays in (now, then))
    return assembled(table, ops, commit, after, before)


def _event(key: dict[str, Any], bodies: Frames, at: int) -> Decoded:
    begin, end = int(bodies.starts[at]), int(bodies.ends[at])
    if key["t"] == RESOLVED:
        if begin != end:
            raise Malformed(at, "the value of a resolved timestamp must be empty")
        return Watermark(key["ts"])
    try:
        said = read_rows(bodies.data, np.array([begin]), np.array([end]), _DDL).to_pylist()[0]
    except Malformed as wrong:
        raise Malformed(at, wrong.message) from None
    if said["q"] is None or said["t"] is None:
        raise Malformed(at, "a DDL must have its query at q and its type at t")
    return DdlEvent(key["ts"], key["ts"], 0, said["t"], said["q"], key["scm"] or "", key["tbl"] or "")
