"""Table filters: which rules are refused, and which tables and schemas the others let through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.errors import ConfigError
from tailrace.route.filter import TableFilter

KIND = "filters"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for case in document["cases"]:
        sensitivity = "case-sensitive" if case["case_sensitive"] else "any case"
        yield f"{case['rules']} ({sensitivity})", _verdict(case)


def _verdict(case: dict[str, Any]) -> str:
    refused = case.get("error") or case.get("use_error")
    try:
        rules = TableFilter(case["rules"], case["case_sensitive"])
    except ConfigError as error:
        return "" if refused else f"it was refused: {error}"
    if refused:
        return f"it was accepted, and should have been refused: {refused}"
    wrong = [
        f"{schema}.{table} should be {'in' if matched else 'out'}"
        for schema, table, matched in case.get("tables", ())
        if rules.matches(schema, table) != matched
    ]
    wrong += [
        f"the schema {schema} should be {'in' if matched else 'out'}"
        for schema, matched in case.get("schemas", ())
        if rules.matches_schema(schema) != matched
    ]
    return "; ".join(wrong)
