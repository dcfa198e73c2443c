"""Canal-json messages to change batches, DDL events and watermarks, in the order of the messages.

All rows of one table are read together, whatever stands between them; then neighbours of one table version in rising
commit ts are one batch. A message that names a claim is replaced by what the claim store holds. A row of which only
the handle key was sent is a DecodeError, unless it is a DELETE: nobody here can look it up.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.codec.base import ClaimStore, Decoded, Places, Watermark
from tailrace.codec.canal_json.cells import Bytes
from tailrace.codec.canal_json.events import WATERMARK, ddl_event
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.rowtext import RowText
from tailrace.codec.canal_json.strict import BadRow, parsed, type_map
from tailrace.codec.canal_json.tables import table_of
from tailrace.codec.columns import first_of
from tailrace.codec.grid import Malformed
from tailrace.errors import DecodeError

_CLAIM = "claimCheckLocation"
_VERSIONS = 8  # of one table; messages of older ones are shown anew


Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Shown:
    """A table version as its messages showed it."""

    table: TableSchema
    types: dict[str, str]
    text: RowText

    def fits(self, said: Mapping[str, Any]) -> bool:
        """Whether a row is of this version: all of its types, or those of the handle key where a DELETE is trimmed."""
        types = type_map(said)
        if len(types) == len(self.types):
            return types == self.types
        trimmed = said.get("type") == "DELETE" and set(types) == set(self.table.handle_key)
        return trimmed and types.items() <= self.types.items()


@dataclass(slots=True)
class _Found:
    """The rows of one table version among some messages: which messages, and their changes."""

    shown: _Shown
    rows: list[Rows] = field(default_factory=list)
    batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, rows: Rows, batch: pa.RecordBatch) -> None:
        if len(rows):
            self.rows.append(rows)
            self.batches.append(batch)

    def sorted(self) -> tuple[Rows, pa.RecordBatch]:
        rows = np.concatenate(self.rows)
        order = np.argsort(rows)
        return rows[order], pa.concat_batches(self.batches).take(pa.array(order))


class CanalJsonMessageDecoder:
    """A MessageDecoder. It remembers the tables that messages showed, and what their heads look like."""

    def __init__(self, options: CanalJsonOptions, claims: ClaimStore | None = None) -> None:
        self._options = options
        self._claims = claims
        self._shown: dict[tuple[Any, Any], list[_Shown]] = {}

    def decode(self, keys: pa.LargeBinaryArray, values: pa.LargeBinaryArray, places: Places) -> Iterator[Decoded]:
        try:
            yield from _in_order(*self._read(self._claimed(values)), len(values))
        except Malformed as wrong:
            raise DecodeError(wrong.message, position=places.of(wrong.row)) from None

    def _read(self, values: pa.LargeBinaryArray) -> tuple[list[_Found], dict[int, Decoded]]:
        _, offsets, held = values.buffers()
        borders = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
        data = np.frombuffer(held or b"", np.uint8)
        starts, ends = borders[:-1], borders[1:]
        left: Rows = np.arange(len(values))
        found: dict[_Shown, _Found] = {}
        events: dict[int, Decoded] = {}
        while len(left):
            at = int(left[0])
            try:
                said = parsed(data[starts[at] : ends[at]].tobytes())
                if said.get("type") == WATERMARK or said.get("isDdl") is True:
                    events[at], left = _event(said), left[1:]
                    continue
                shown = self._version_of(said)
            except BadRow as wrong:
                raise Malformed(at, str(wrong)) from None
            if shown not in found:  # the first time, all messages of this version that are laid out alike
                found[shown] = _Found(shown)
                rows = self._together(found[shown], data, starts, ends, left)
                left = np.setdiff1d(left, rows, assume_unique=True)
                if not len(left) or left[0] != at:
                    continue
            try:
                found[shown].add(left[:1], shown.text.read(data, starts[left[:1]], ends[left[:1]]))
            except Malformed as wrong:
                raise Malformed(at, wrong.message) from None
            left = left[1:]
        return [each for each in found.values() if each.rows], events

    def _together(self, found: _Found, data: Bytes, starts: Rows, ends: Rows, left: Rows) -> Rows:
        try:
            rows, batch = found.shown.text.together(data, starts[left], ends[left])
        except Malformed as wrong:
            raise Malformed(int(left[wrong.row]), wrong.message) from None
        found.add(left[rows], batch)
        return left[rows]

    def _version_of(self, said: Mapping[str, Any]) -> _Shown:
        versions = self._shown.setdefault((said.get("database"), said.get("table")), [])
        shown = next((each for each in versions if each.fits(said)), None)
        if shown is None:
            stamp = said.get("_tidb") or {}
            version = stamp.get("commitTs", 0) if isinstance(stamp, dict) else 0
            table = table_of(said, version if isinstance(version, int) else 0)
            types = type_map(said)
            shown = _Shown(table, types, RowText(table, self._options.enable_tidb_extension, types))
            versions.append(shown)
            del versions[:-_VERSIONS]
        return shown

    def _claimed(self, values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
        """The messages, with those in place that were put into the claim store."""
        if pc.any(pc.is_null(values)).as_py():
            raise Malformed(first_of(pc.is_null(values)), "the message is NULL, which no message of canal-json is")
        named = np.flatnonzero(pc.match_substring(values, f'"{_CLAIM}":').to_numpy(zero_copy_only=False))
        found = {at: claimed for at in named.tolist() if (claimed := self._claim(values[at].as_py(), at)) is not None}
        if not found:
            return values
        mask = np.zeros(len(values), np.bool_)
        mask[list(found)] = True
        return pc.replace_with_mask(values, pa.array(mask), pa.array(list(found.values()), pa.large_binary()))

    def _claim(self, message: bytes, at: int) -> bytes | None:
        """The whole message that this one names; None: it only holds the word."""
        try:
            extension = parsed(message).get("_tidb")
            place = extension.get(_CLAIM) if isinstance(extension, dict) else None
            if place is None:
                return None
            if self._claims is None or not isinstance(place, str):
                raise BadRow(f"the message is at {place!r}; it can be read where the claim store is known")
            content = self._claims.get(place.rpartition("/")[2])
            if self._options.claim_check_raw_value:
                return content
            held = parsed(content).get("value")
            return base64.b64decode(held if isinstance(held, str) else "?", validate=True)
        except (BadRow, binascii.Error) as wrong:
            raise Malformed(at, f"the claim cannot be read: {wrong}") from None


def _event(said: Mapping[str, Any]) -> Decoded:
    is_watermark = said.get("type") == WATERMARK
    extension = said.get("_tidb") or {}
    stamp = extension.get("watermarkTs" if is_watermark else "commitTs", 0) if isinstance(extension, dict) else None
    es = said.get("es")
    if not isinstance(stamp, int) or not isinstance(es, int):
        raise BadRow(f"es is {es!r} and _tidb {extension!r}; both must tell a time")
    if is_watermark:
        return Watermark(stamp)
    if not all(isinstance(said.get(key), str) for key in ("database", "table", "sql", "type")):
        raise BadRow("database, table, sql and type of a DDL message must be text")
    return ddl_event(said, stamp or es << 18)


def _in_order(found: list[_Found], events: Mapping[int, Decoded], count: int) -> Iterator[Decoded]:
    owner, row, stamps = np.full(count, -1), np.zeros(count, np.int64), np.zeros(count, np.int64)
    batches = []
    for number, each in enumerate(found):
        rows, batch = each.sorted()
        owner[rows], row[rows], stamps[rows] = number, np.arange(len(rows)), batch.column(1).to_numpy()
        batches.append(ChangeBatch(each.shown.table, batch))
    apart = (owner[1:] != owner[:-1]) | (owner[1:] < 0) | (np.diff(stamps) < 0)
    for begin, end in pairwise([0, *(np.flatnonzero(apart) + 1).tolist(), count] if count else []):
        if owner[begin] < 0:
            yield events[begin]
        else:
            yield batches[owner[begin]].slice(int(row[begin]), end - begin)
