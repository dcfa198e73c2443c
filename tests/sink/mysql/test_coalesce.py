"""Coalescing leaves exactly what applying every change in turn would leave."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, batch_schema
from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType
from tailrace.errors import SinkRefused
from tailrace.sink.mysql.coalesce import by_key, by_row, portions

TABLE = TableSchema(
    "s", "t", 1, 1, (Column(1, "k", ColumnType("int"), False, True), Column(2, "v", ColumnType("varchar", 9)))
)
Change = tuple[int, int, dict[str, Any] | None, dict[str, Any] | None]


def batch(changes: list[Change]) -> pa.RecordBatch:
    """(op, commit ts, after, before)"""
    op, commit, after, before = (list(each) for each in zip(*changes, strict=True)) if changes else ([], [], [], [])
    columns = [
        pa.array(op, pa.uint8()),
        pa.array(commit, pa.int64()),
        pa.array(commit, pa.int64()),
        pa.array(after, TABLE.arrow_struct),
        pa.array(before, TABLE.arrow_struct),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch_schema(TABLE))


def row(key: int, value: str | None = None) -> dict[str, Any]:
    return {"k": key, "v": value}


@st.composite
def histories(draw: st.DrawFn) -> tuple[dict[int, str], list[Change]]:
    """A table, and transactions that fit it: each changes a key at most once."""
    state: dict[int, str] = draw(st.dictionaries(st.integers(0, 5), st.text(max_size=2), max_size=4))
    begin = dict(state)
    changes: list[Change] = []
    for commit in range(1, draw(st.integers(1, 6))):
        for key in draw(st.lists(st.integers(0, 5), unique=True, max_size=4)):
            value = draw(st.text(max_size=2))
            if key not in state:
                changes.append((INSERT, commit, row(key, value), None))
                state[key] = value
            elif draw(st.booleans()):
                changes.append((DELETE, commit, None, row(key, state.pop(key))))
            else:
                before = row(key, state[key]) if draw(st.booleans()) else None
                changes.append((UPDATE, commit, row(key, value), before))
                state[key] = value
    return begin, changes


@settings(deadline=None)
@given(histories())
def test_each_key_ends_as_if_every_change_were_applied(history: tuple[dict[int, str], list[Change]]) -> None:
    state, changes = history
    want = dict(state)
    for op, _, after, before in changes:
        if op == DELETE and before is not None:
            want.pop(before["k"])
        elif after is not None:
            want[after["k"]] = after["v"]
    found = by_key([batch(changes[:2]), batch(changes[2:])], ["k"])
    got = {key: value for key, value in state.items() if key not in found.deletes.column("k").to_pylist()}
    for each in found.puts.to_pylist():
        got[each["k"]] = each["v"]
    assert got == want
    assert found.puts.num_rows == len(set(found.puts.column("k").to_pylist()))


def test_two_rows_may_exchange_their_keys_in_one_transaction() -> None:
    changes: list[Change] = [(UPDATE, 5, row(2, "a"), row(1, "a")), (UPDATE, 5, row(1, "b"), row(2, "b"))]
    found = by_key([batch(changes)], ["k"])
    assert found.deletes.num_rows == 0
    assert sorted(found.puts.to_pylist(), key=lambda each: each["k"]) == [row(1, "b"), row(2, "a")]


def test_a_row_of_a_later_transaction_is_not_put_before_the_delete_of_an_earlier_one() -> None:
    changes: list[Change] = [(INSERT, 5, row(1, "a"), None), (DELETE, 6, None, row(1, "a"))]
    found = by_key([batch(changes)], ["k"])
    assert (found.deletes.to_pylist(), found.puts.num_rows) == ([{"k": 1}], 0)


def test_portions_end_where_transactions_do_but_for_inserts() -> None:
    inserts = [batch([(INSERT, 5, row(at), None)]) for at in range(4)]
    assert [len(each) for each in portions(inserts, limit=1)] == [1, 1, 1, 1]
    swaps: list[Change] = [(UPDATE, 5, row(2, "a"), row(1, "a")), (UPDATE, 5, row(1, "b"), row(2, "b"))]
    both = [batch(swaps[:1]), batch(swaps[1:]), batch([(DELETE, 6, None, row(1, "b"))])]
    assert [len(each) for each in portions(both, limit=1)] == [2, 1]
    assert [len(each) for each in portions(both, limit=1 << 20)] == [3]


def test_rows_without_a_key_are_summed_up() -> None:
    changes: list[Change] = [
        (INSERT, 1, row(1, "x"), None),
        (INSERT, 1, row(1, "x"), None),
        (DELETE, 2, None, row(1, "x")),
        (UPDATE, 3, row(2, None), row(3, "old")),
    ]
    found = by_row([batch(changes)], "s.t")
    new = Counter({tuple(each.values()): n for each, n in zip(found.new.to_pylist(), found.new_times, strict=True)})
    gone = Counter({tuple(each.values()): n for each, n in zip(found.gone.to_pylist(), found.gone_times, strict=True)})
    assert (new, gone) == (Counter({(1, "x"): 1, (2, None): 1}), Counter({(3, "old"): 1}))


def test_an_update_of_a_table_without_a_key_needs_its_old_row() -> None:
    with pytest.raises(SinkRefused, match="output-old-value"):
        by_row([batch([(UPDATE, 1, row(1, "x"), None)])], "s.t")
