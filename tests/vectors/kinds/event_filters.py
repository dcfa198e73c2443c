"""Event filters: which are refused, which changes they leave out, and which statements.

In the dialect of TiCDC's code, which is what made them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.change.batch import ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.config.values import EventFilter
from tailrace.errors import ConfigError
from tailrace.route.events import EventFilters, is_forwarded
from tailrace.route.filter import TableFilter
from tests.vectors.tables import change_batch, table_schema

KIND = "event_filters"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    whole = change_batch(table_schema(document["table"]), document["events"])
    for case in document["cases"]:
        yield from _case(document, case, whole)


def _case(document: dict[str, Any], case: dict[str, Any], whole: ChangeBatch) -> Iterator[tuple[str, str]]:
    name = case["name"]
    try:
        said = [_filter(each) for each in case["event_filters"]]
        filters = EventFilters(said, case["ignore_txn_start_ts"] or (), "ticdc")
    except ConfigError as error:
        yield name, "" if case.get("error") else f"it was refused: {error}"
        return
    if case.get("error"):
        yield name, f"it was accepted, and should have been refused: {case['error']}"
        return
    rules = TableFilter(case["rules"], case["case_sensitive"])
    yield f"{name} creation", _verify(filters, whole, case.get("verify_error"))
    # What creation refuses never runs.
    for result in () if case.get("verify_error") else case["dml"]:
        yield f"{name} event {result['event']}", _change(filters, rules, whole, result)
    for result in case["ddl"]:
        yield f"{name} statement {result['ddl']}", _statement(filters, rules, document["ddls"][result["ddl"]], result)


def _filter(said: dict[str, Any]) -> EventFilter:
    return EventFilter(
        tuple(said["matcher"]),
        tuple(said["ignore-event"] or ()),
        tuple(said["ignore-sql"] or ()),
        said["ignore-insert-value-expr"],
        said["ignore-update-old-value-expr"],
        said["ignore-update-new-value-expr"],
        said["ignore-delete-value-expr"],
    )


def _verify(filters: EventFilters, whole: ChangeBatch, wanted: str | None) -> str:
    try:
        filters.of(whole.table)
    except ConfigError as error:
        return "" if wanted else f"it was refused: {error}"
    return f"it was accepted, and should have been refused: {wanted}" if wanted else ""


def _change(filters: EventFilters, rules: TableFilter, whole: ChangeBatch, result: dict[str, Any]) -> str:
    table = whole.table
    matched = rules.matches(table.schema, table.name)
    left_out = not matched or filters.of(table).dropped(whole)[result["event"]].as_py()
    alone = matched and filters.of(table).kept(whole.slice(result["event"], 1)).num_rows
    if bool(alone) == left_out:
        return "the row is kept by itself and dropped among others, or the other way round"
    return "" if left_out == result["dropped"] else f"the row is {'dropped' if left_out else 'kept'}"


def _statement(filters: EventFilters, rules: TableFilter, ddl: dict[str, Any], result: dict[str, Any]) -> str:
    schema, table = ddl["schema"], ddl["table"]
    event = DdlEvent(1, 1000 + ddl["index"], 0, ddl["type"], ddl["query"], schema, table)
    matched = rules.matches(schema, table) if table else rules.matches_schema(schema)
    discarded = not matched or not is_forwarded(event.type)
    if discarded != result["discarded"]:
        return f"it is {'' if discarded else 'not '}discarded"
    ignored = not discarded and filters.ignored(event)
    return "" if ignored == result["ignored"] else f"it is {'' if ignored else 'not '}ignored"
