"""Rows of text to a record batch: all rows at once, and those that are laid out in another way one by one.

Rows are given as places in a text, each without what ends it. The heads that were learned stay for the next text of
the same table. With `stamped` a row without a commit ts is refused; with
`types` so is one whose `mysqlType` says anything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, INSERT, UPDATE, batch_schema
from tailrace.change.go_json import quote
from tailrace.change.schema import TableSchema
from tailrace.codec.binary import spans
from tailrace.codec.canal_json.cells import MISSING, Bytes, Cells, Flags, cells_of
from tailrace.codec.canal_json.heads import Head, Places
from tailrace.codec.canal_json.strict import BadRow, Row, canonical, parsed, type_map, understood
from tailrace.codec.canal_json.values import Columns, padded
from tailrace.codec.columns import visible
from tailrace.codec.grid import Malformed

_MOST_HEADS = 32
_PADDING = 16
_STAMP = b'}],"_tidb":{"commitTs":'
_PLAIN_END = b"}]}"


@dataclass(frozen=True, slots=True)
class _Parts:
    """Rows whose head and ending are known: which, what they do, and where their cells and commit ts are."""

    rows: Places
    ops: Places
    first: Places
    stop: Places
    stamp_at: Places
    stamp_end: Places
    exact: Flags

    def of(self, chosen: Flags | Places) -> _Parts:
        return _Parts(*(getattr(self, name)[chosen] for name in _Parts.__slots__))


@dataclass(frozen=True, slots=True)
class RowText:
    """Reads the rows of one table version."""

    table: TableSchema
    stamped: bool = False
    types: Mapping[str, str] | None = None
    heads: list[Head] = field(default_factory=list)
    own_heads: list[Head] = field(default_factory=list)

    def read(self, data: Bytes, starts: Places, ends: Places) -> pa.RecordBatch:
        """One change a row, in their order; raises Malformed."""
        good, batch = self.together(data, starts, ends)
        if len(good) == len(starts):
            return batch
        alone = np.setdiff1d(np.arange(len(starts)), good)
        lines = [self._anew(data[starts[at] : ends[at]].tobytes(), at) for at in alone.tolist()]
        borders = np.cumsum([0, *map(len, lines)])
        text = np.frombuffer(b"".join(lines), np.uint8)
        try:
            ours = RowText(self.table, self.stamped, None, self.own_heads)
            found, rest = ours.together(text, borders[:-1], borders[1:])
        except Malformed as wrong:
            raise Malformed(int(alone[wrong.row]), wrong.message) from None
        if len(found) < len(alone):
            row = int(np.setdiff1d(alone, alone[found])[0])
            raise Malformed(row, "it cannot be read, though its JSON is whole")
        order = np.argsort(np.concatenate([good, alone]))
        return pa.concat_batches([batch, rest]).take(pa.array(order))

    def _anew(self, line: bytes, row: int) -> bytes:
        try:
            return canonical(self._understood(line), self.table)
        except BadRow as wrong:
            raise Malformed(row, str(wrong)) from None

    def _understood(self, line: bytes) -> Row:
        if self.types is not None:
            for name, said in type_map(parsed(line)).items():
                if self.types.get(name) != said:
                    raise BadRow(f"mysqlType of {name} is {said!r}, not {self.types.get(name)!r}")
        return understood(line, self.table, self.stamped)

    def together(self, data: Bytes, starts: Places, ends: Places) -> tuple[Places, pa.RecordBatch]:
        """The rows that could be read together, and their changes."""
        parts = self._parts(data, starts, ends)
        names = [quote(column.name).encode() for column in visible(self.table)]
        while True:
            text, offsets = padded(spans(parts.first, parts.stop, data), _PADDING)
            cells = cells_of(text, offsets, parts.ops == UPDATE, names)
            odd = cells.odd | self._incomplete(cells, parts.ops) | _with_controls(text, offsets)
            odd |= ~parts.exact & self.stamped
            if not odd.any():
                break
            parts = parts.of(~odd)
        try:
            return parts.rows, self._batch(data, parts, cells)
        except Malformed as wrong:
            raise Malformed(int(parts.rows[wrong.row]), wrong.message) from None

    def _parts(self, data: Bytes, starts: Places, ends: Places) -> _Parts:
        found, left = [], np.arange(len(starts))
        untried = list(self.heads)
        while len(left):
            if not untried:
                head = self._learned(data[starts[left[0]] : ends[left[0]]].tobytes())
                if head is None:
                    break
                untried.append(head)
            here = untried.pop(0).found(data, starts[left], ends[left])
            if len(here.rows):
                rows = left[here.rows]
                found.append(_ended(data, rows, here.op, here.first, (here.es_at, here.es_end), ends[rows]))
                left = np.delete(left, here.rows)
        if not found:
            none = np.zeros(0, np.int64)
            return _Parts(none, none, none, none, none, none, np.zeros(0, np.bool_))
        whole = _Parts(*(np.concatenate([getattr(part, name) for part in found]) for name in _Parts.__slots__))
        return whole.of(np.argsort(whole.rows)) if len(found) > 1 else whole

    def _learned(self, line: bytes) -> Head | None:
        """A new head, if the row is good and laid out as heads are."""
        if len(self.heads) >= _MOST_HEADS:
            return None
        try:
            self._understood(line)
        except BadRow:
            return None
        head = Head.learned(line)
        if head is None or head in self.heads:
            return None
        self.heads.append(head)
        return head

    def _incomplete(self, cells: Cells, ops: Places) -> Flags:
        """Rows without all columns, but for a DELETE of which exactly the handle key is there."""
        missing = cells.data.kinds == MISSING
        lacking: Flags = missing.any(axis=0)
        if lacking.any():
            key = np.array([column.name in self.table.handle_key for column in visible(self.table)], np.bool_)
            lacking &= ~((ops == DELETE) & key.any() & (missing != key[:, None]).all(axis=0))
        return lacking

    def _batch(self, data: Bytes, parts: _Parts, cells: Cells) -> pa.RecordBatch:
        updates, rows = np.flatnonzero(parts.ops == UPDATE), len(parts.ops)
        columns = visible(self.table)
        arrays = dict(zip((column.name for column in columns), Columns(cells, updates, columns).arrays(), strict=True))
        struct = self.table.arrow_struct
        whole = [arrays.get(each.name, pa.nulls(rows + len(updates), each.type)) for each in struct]
        images = pa.StructArray.from_arrays(whole, fields=list(struct))
        after, before = images.slice(0, rows), pa.nulls(rows, struct)
        if (parts.ops != INSERT).any():
            deleted = parts.ops == DELETE
            then = np.arange(rows)
            then[updates] = rows + np.arange(len(updates))
            before = images.take(pa.array(then, mask=parts.ops == INSERT))
            after = images.take(pa.array(np.arange(rows), mask=deleted))
        commit = _stamps(data, parts)
        ops = pa.array(parts.ops.astype(np.uint8))
        return pa.RecordBatch.from_arrays([ops, commit, commit, after, before], schema=batch_schema(self.table))


def _ended(data: Bytes, rows: Places, op: int, first: Places, es: tuple[Places, Places], ends: Places) -> _Parts:
    """The rows whose ending is one of ours. Nearly every commit ts has 18 digits."""
    stop = np.full(len(rows), -1, np.int64)
    at, until = es[0].copy(), es[1].copy()
    plain = _stands(data, ends - len(_PLAIN_END), first, _PLAIN_END)
    stop[plain] = ends[plain] - len(_PLAIN_END)
    exact = ~plain
    for digits in (18, 19, *range(17, 0, -1)):
        left = np.flatnonzero(stop < 0)
        if not len(left):
            break
        begin = ends[left] - (len(_STAMP) + digits + 2)
        good = _stands(data, begin, first[left], _STAMP) & _stands(data, ends[left] - 2, first[left], b"}}")
        chosen = left[good]
        at[chosen] = ends[chosen] - 2 - digits
        until[chosen] = ends[chosen] - 2
        figures = data[at[chosen][:, None] + np.arange(digits)] - ord("0")
        stop[chosen] = np.where((figures < 10).all(axis=1), begin[good], -2)
    parts = _Parts(rows, np.full(len(rows), op), first, stop, at, until, exact)
    return parts if (stop >= 0).all() else parts.of(stop >= 0)


def _stands(data: Bytes, at: Places, first: Places, literal: bytes) -> Flags:
    """Whether the literal is at each place, which must not be before the first cell."""
    flags: Flags = at >= first
    inside = np.flatnonzero(flags)
    held = spans(at[inside], at[inside] + len(literal), data)
    flags[inside] = pc.equal(held, pa.scalar(literal)).to_numpy(zero_copy_only=False)
    return flags


def _with_controls(text: Bytes, offsets: Places) -> Flags:
    """Rows that hold a control character, which JSON has only as an escape."""
    flags = np.zeros(len(offsets) - 1, np.bool_)
    body = text[: int(offsets[-1])]
    if len(body) and body.min() < 0x20:
        flags[np.searchsorted(offsets, np.flatnonzero(body < 0x20), "right") - 1] = True
    return flags


def _stamps(data: Bytes, parts: _Parts) -> pa.Int64Array:
    """The commit ts, or where a row has none its millisecond."""
    text = spans(parts.stamp_at, parts.stamp_end, data).cast(pa.string())
    try:
        numbers = text.cast(pa.int64())
    except pa.ArrowInvalid:
        size = pc.binary_length(text).to_numpy()
        raise Malformed(int(np.argmax(size)), "commitTs is larger than 64 bits hold") from None
    if parts.exact.all():
        return numbers
    return pc.if_else(pa.array(parts.exact), numbers, pc.shift_left(numbers, 18))
