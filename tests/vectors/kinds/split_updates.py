"""Splitting of updates that change a key: what a transaction becomes before it is written to files or messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.route.split import split_updates
from tests.vectors.tables import change_batch, table_schema

KIND = "split_updates"

_NAMES = {INSERT: "insert", UPDATE: "update", DELETE: "delete"}
_STABLE = 12
_DATABASES = frozenset({"mysql", "tidb"})


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for case in document["cases"]:
        whole = change_batch(table_schema(case["table"]), case["events"])
        for transaction in case["txns"]:
            name = f"{case['name']} statement {transaction['stmt']} for {transaction['scheme']}"
            yield name, _verdict(whole, transaction)


def _verdict(whole: ChangeBatch, transaction: dict[str, Any]) -> str:
    """Databases get updates as they are: a sink that does not ask for the split is not given it."""
    rows = whole.take(pa.array(transaction["input"], pa.int64()))
    got = _rows(rows if transaction["scheme"] in _DATABASES else split_updates(rows))
    want = [_wanted(whole, output) for output in transaction["output"]]
    # Go's sort keeps the order of equal rows only in short slices.
    if len(want) > _STABLE:
        got, want = _within_ops(got), _within_ops(want)
    return "" if got == want else f"got {got}, not {want}"


def _rows(batch: ChangeBatch) -> list[tuple[str, object, object]]:
    ops = [_NAMES[op] for op in batch.op.to_pylist()]
    return list(zip(ops, batch.before.to_pylist(), batch.after.to_pylist(), strict=True))


def _wanted(whole: ChangeBatch, output: dict[str, Any]) -> tuple[str, object, object]:
    event = output["event"]
    op = output["op"]
    before = None if op == "insert" else whole.before[event].as_py()
    return op, before, None if op == "delete" else whole.after[event].as_py()


def _within_ops(rows: list[tuple[str, object, object]]) -> list[tuple[str, object, object]]:
    return [row for _, run in groupby(rows, key=lambda row: row[0]) for row in sorted(run, key=repr)]
