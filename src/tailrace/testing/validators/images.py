"""Images: each change must fit what the table holds, as the changes before it left it.

The old values of an update or a delete are the last values of that key, an insert makes a key that is not there, an
update or a delete finds one that is. A change that was lost, or came twice, shows up here even where no order is
broken. Where the format carries no old values of updates (TiCDC's CSV without `output-old-value`), it is only held
that the key is there.

`tables` are then what the changes add up to: a fingerprint of them is to be equal to the source's at that ts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.change.batch import UPDATE, ChangeBatch
from tailrace.change.tso import Ts
from tailrace.errors import DecodeError
from tailrace.testing.reader.contents import State
from tailrace.testing.reader.history import Names, Step
from tailrace.testing.validators.base import Finding, Stream, Validator
from tailrace.testing.validators.prints import Prints, row_prints

_GONE, _THERE, _REPLACED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class _Events:
    """What happens to keys, in order of time: a row goes, comes, or is replaced by one whose old values are unknown."""

    keys: Prints
    kinds: npt.NDArray[np.int8]
    prints: Prints
    commits: npt.NDArray[np.int64]

    @classmethod
    def of(cls, batches: Sequence[ChangeBatch], key: Sequence[str]) -> _Events:
        whole = pa.Table.from_batches([batch.data for batch in batches]).combine_chunks()
        op, commits = (whole.column(name).to_numpy() for name in ("op", "commit_ts"))
        keys, kinds, prints, places = [], [], [], []
        for name in ("before", "after"):
            image = whole.column(name).combine_chunks()
            image = pa.concat_arrays(image.chunks) if isinstance(image, pa.ChunkedArray) else image
            valid = image.is_valid().to_numpy(zero_copy_only=False)
            if name == "before":
                blind = (op == UPDATE) & ~valid
            kept = np.flatnonzero(valid)
            rows = pa.Table.from_struct_array(image.filter(pa.array(valid)))
            keys.append(row_prints(rows, key))
            prints.append(row_prints(rows))
            there = np.where(blind[kept], _REPLACED, _THERE)
            kinds.append(there if name == "after" else np.full(len(kept), _GONE))
            places.append(kept)
        at, kind, key_prints = np.concatenate(places), np.concatenate(kinds), np.concatenate(keys)
        # At one ts a key goes before it comes again.
        order = np.lexsort((at, kind, commits[at], key_prints))
        values = np.concatenate(prints)[order]
        return cls(key_prints[order], kind[order].astype(np.int8), values, commits[at][order])


class ImagesMatch(Validator):
    """Holds the tables. Without a key a table is only added up, and may never hold a row less than no times."""

    rule = "before and after"

    def __init__(self) -> None:
        self._names = Names()

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """By `schema.table`; of a table without a key each row as often as it is there."""
        return {f"{schema}.{name}": state.contents() for (schema, name), state in self._names.states.items()}

    @property
    def keys(self) -> Mapping[str, tuple[str, ...]]:
        return {f"{schema}.{name}": state.key for (schema, name), state in self._names.states.items()}

    def shape(self, steps: Sequence[Step], version: Ts) -> list[Finding]:
        self._names.follow(list(steps))
        return []

    def rows(self, stream: Stream, batches: Sequence[ChangeBatch]) -> list[Finding]:
        table, name = batches[0].table, (stream.schema, stream.table)
        state = self._names.states.get(name)
        if state is None:
            state = State.empty(table, table.handle_key)
        elif state.table.row_columns != table.row_columns:
            state = state.under(table, state.key, {})
        found = self.found(stream, _misfits(state, _Events.of(batches, state.key))) if state.key else []
        self._names.states[name] = after = state.apply(batches)
        if not state.key:
            try:
                after.contents()
            except DecodeError as error:
                found += self.found(stream, [str(error)])
        return found


def _misfits(state: State, events: _Events) -> Iterator[str]:
    standing = _standing(state, events.keys)
    result = np.where(events.kinds == _GONE, np.uint64(0), events.prints)
    first = np.append(True, events.keys[1:] != events.keys[:-1])[: len(events.keys)]
    held = np.where(first, standing, np.append(np.zeros(1, np.uint64), result[:-1])[: len(result)])
    gone, there, replaced = (events.kinds == kind for kind in (_GONE, _THERE, _REPLACED))
    for at in np.flatnonzero(gone & (held == 0)):
        yield f"a row goes at {events.commits[at]} that is not there"
    for at in np.flatnonzero(gone & (held != 0) & (held != events.prints)):
        yield f"the old values of a change at {events.commits[at]} are not what the change before it left"
    for at in np.flatnonzero(there & (held != 0)):
        yield f"a row comes at {events.commits[at]} that is there already"
    for at in np.flatnonzero(replaced & (held == 0)):
        yield f"a row is updated at {events.commits[at]} that is not there"


def _standing(state: State, keys: Prints) -> Prints:
    """The print of the row that the table holds under each key, 0 for none."""
    if not state.rows.num_rows:
        return np.zeros(len(keys), np.uint64)
    known, prints = row_prints(state.rows, state.key), row_prints(state.rows)
    order = np.argsort(known)
    known, prints = known[order], prints[order]
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: Prints = np.where(known[at] == keys, prints[at], np.uint64(0))
    return found
