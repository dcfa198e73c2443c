"""Partition dispatchers: the partition and hash of every row, and which rules a table cannot have.

In the dialect of TiCDC's code, which is what made them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import TableSchema
from tailrace.config import DispatchRule
from tailrace.errors import ConfigError
from tailrace.route.partition import PartitionRule, compile_rule, parse_rule, problems
from tests.vectors.tables import change_batch, table_schema

KIND = "dispatch"
_HASHED = ("index", "columns")


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for case in document["tables"]:
        table = table_schema(case["table"])
        for verified in case["verify_table"]:
            yield f"{case['name']} verify {_said(verified)}", _verify(table, verified)
        whole = change_batch(table, case["events"])
        for row, event in enumerate(case["events"]):
            for result in event["results"]:
                yield f"{case['name']} event {row} {_said(result)}", _row(whole, row, result)


def _said(result: dict[str, Any]) -> str:
    return f"{result['rule']!r} {result.get('index') or ''}{result.get('columns') or ''}"


def _rule(result: dict[str, Any]) -> PartitionRule:
    columns = tuple(result.get("columns") or ())
    return parse_rule(DispatchRule(("*.*",), result["rule"], result.get("index") or "", columns, ""), "ticdc")


def _verify(table: TableSchema, verified: dict[str, Any]) -> str:
    try:
        problems(_rule(verified), table)
    except ConfigError as error:
        return f"it was refused: {error}" if verified["ok"] else ""
    return "" if verified["ok"] else f"it was accepted, and should have been refused: {verified['error']}"


def _row(whole: ChangeBatch, row: int, result: dict[str, Any]) -> str:
    """The row's partitions, computed with all rows of the batch around it."""
    try:
        compiled = compile_rule(_rule(result), whole.table)
    except ConfigError as error:
        return "" if result.get("error") else f"it was refused: {error}"
    if result.get("error"):
        return f"it was accepted, and should have been refused: {result['error']}"
    got = {count: int(compiled.partitions(whole, int(count))[row]) for count in result["partitions"]}
    if got != result["partitions"]:
        return f"the partitions are {got}, not {result['partitions']}"
    hashed = compiled.rule.kind in _HASHED
    key = str(compiled.hashes(whole)[row]) if hashed else result["key"]
    return "" if key == result["key"] else f"the hash is {key}, not {result['key']}"
