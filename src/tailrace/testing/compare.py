"""Do two tables hold the same rows? By key, row by row; without a key, as multisets. The order of rows never counts.

An answer names each difference, the first of them in full: a test that fails must say what is wrong without a
debugger. Values are equal when they are equal as their types compare them; NULL equals NULL, NaN equals NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SHOWN = 20
_COUNT = "\0count"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`differences` are sentences, at most `SHOWN`; `total` counts all."""

    rows: int
    total: int
    differences: tuple[str, ...]

    @property
    def equal(self) -> bool:
        return self.total == 0

    def __str__(self) -> str:
        if self.equal:
            return f"{self.rows} rows, all equal"
        more = f"\n... and {self.total - len(self.differences)} more" if self.total > len(self.differences) else ""
        return f"{self.total} differences:\n" + "\n".join(self.differences) + more


def compare(got: pa.Table, want: pa.Table, key: Sequence[str] = ()) -> Comparison:
    """What is wrong with `got`. Raises nothing: columns or types that differ are differences."""
    shape = _shape_differences(got.schema, want.schema)
    if shape:
        return Comparison(got.num_rows, len(shape), tuple(shape[:SHOWN]))
    surplus = _surplus(got, want)
    found = _by_key(surplus, list(key)) if key else _as_multisets(surplus)
    return Comparison(got.num_rows, len(found), tuple(found[:SHOWN]))


def _shape_differences(got: pa.Schema, want: pa.Schema) -> list[str]:
    found = [f"column {name} is missing" for name in want.names if name not in got.names]
    found += [f"column {name} should not be there" for name in got.names if name not in want.names]
    shared = [name for name in want.names if name in got.names]
    found += [
        f"column {name} is {got.field(name).type}, not {want.field(name).type}"
        for name in shared
        if got.field(name).type != want.field(name).type
    ]
    return found


def _surplus(got: pa.Table, want: pa.Table) -> pa.Table:
    """Every distinct row that one side has more often, and by how much: above zero in `got`, below in `want`."""
    names = want.column_names
    sides = [
        side.select(names).append_column(_COUNT, pa.array(np.full(side.num_rows, sign, np.int64)))
        for side, sign in ((got, 1), (want, -1))
    ]
    summed = pa.concat_tables(sides).combine_chunks().group_by(names, use_threads=False).aggregate([(_COUNT, "sum")])
    summed = summed.rename_columns([*names, _COUNT])
    return summed.filter(pc.not_equal(summed.column(_COUNT), 0))


def _as_multisets(surplus: pa.Table) -> list[str]:
    found = []
    for row in surplus.to_pylist():
        count = row.pop(_COUNT)
        found.append(f"{'too often' if count > 0 else 'missing'} ({abs(count)} times): {row}")
    return found


def _by_key(surplus: pa.Table, key: list[str]) -> list[str]:
    sides: dict[tuple[object, ...], dict[bool, list[dict[str, object]]]] = {}
    for row in surplus.to_pylist():
        count = row.pop(_COUNT)
        sides.setdefault(tuple(row[name] for name in key), {}).setdefault(count > 0, []).extend([row] * abs(count))
    return [_sentence(dict(zip(key, values, strict=True)), both) for values, both in sides.items()]


def _sentence(key: dict[str, object], both: dict[bool, list[dict[str, object]]]) -> str:
    got, want = both.get(True, []), both.get(False, [])
    if not want:
        return f"{key} should not be there: {got[0]}" if len(got) == 1 else f"{key} is there {len(got)} times too often"
    if not got:
        return f"{key} is missing: {want[0]}"
    wrong = [f"{name} is {got[0][name]!r}, not {value!r}" for name, value in want[0].items() if got[0][name] != value]
    return f"{key}: {'; '.join(wrong) or 'is there in several forms'}"
