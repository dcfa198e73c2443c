"""Topic expressions and routers: what is refused, and which topic and partition rule each table gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import TableSchema
from tailrace.config import DispatchRule
from tailrace.errors import ConfigError
from tailrace.route.dispatch import Dispatch

KIND = "topics"

_KINDS = {
    "DefaultDispatcher": "table",
    "TableDispatcher": "table",
    "TsDispatcher": "ts",
    "IndexValueDispatcher": "index",
    "ColumnsDispatcher": "columns",
}


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    default = document["default_topic"]
    for case in document["expressions"]:
        name = f"{case['expression']!r} with {case['protocol']} on {case['scheme']}"
        yield name, _expression(case, default) if case["scheme"] == "kafka" else "skip: no pulsar:// sink is built yet"
    for router in document["routers"]:
        yield f"router {router['name']}", _router(router, default)


def _expression(case: dict[str, Any], default: str) -> str:
    rule = DispatchRule(("*.*",), "", "", (), case["expression"])
    try:
        dispatch = Dispatch([rule], False, default, case["protocol"])
    except ConfigError as error:
        return f"it was refused: {error}" if case["valid"] else ""
    if not case["valid"]:
        return f"it was accepted, and should have been refused: {case['error']}"
    wrong = _wrong_topics(dispatch, case["results"])
    old = TableSchema("test", "old", 1, 1, ())
    ddls = {
        "ddl_topic_schema_only": DdlEvent(1, 1, 0, DdlType.CREATE_SCHEMA, "", "test"),
        "ddl_topic_rename_uses_pre": DdlEvent(1, 1, 0, DdlType.RENAME_TABLE, "", "test", "new", None, old),
    }
    wrong += [
        f"{key} is {dispatch.ddl_topic(event)}, not {case[key]}"
        for key, event in ddls.items()
        if dispatch.ddl_topic(event) != case[key]
    ]
    return "; ".join(wrong)


def _router(router: dict[str, Any], default: str) -> str:
    rules = [
        DispatchRule(
            tuple(rule["matcher"]), rule["partition"], rule["index"], tuple(rule["columns"] or ()), rule["topic"]
        )
        for rule in router["rules"]
    ]
    try:
        dispatch = Dispatch(rules, router["case_sensitive"], default, dialect="ticdc")
    except ConfigError as error:
        return "" if router.get("error") else f"it was refused: {error}"
    if router.get("error"):
        return f"it was accepted, and should have been refused: {router['error']}"
    wrong = _wrong_topics(dispatch, router["results"])
    for result in router["results"]:
        partition = dispatch.rule(result["schema"], result["table"]).kind
        if partition != _KINDS[result["dispatcher"]]:
            wrong.append(f"{result['schema']}.{result['table']} has the rule {partition!r}, not {result['dispatcher']}")
    topics = dispatch.topics([(result["schema"], result["table"]) for result in router["results"]])
    if sorted(topics) != sorted(router["active_topics"]):
        wrong.append(f"the topics are {topics}, not {router['active_topics']}")
    return "; ".join(wrong)


def _wrong_topics(dispatch: Dispatch, results: list[dict[str, Any]]) -> list[str]:
    return [
        f"{result['schema']}.{result['table']} goes to {dispatch.topic(result['schema'], result['table'])!r},"
        f" not {result['topic']!r}"
        for result in results
        if dispatch.topic(result["schema"], result["table"]) != result["topic"]
    ]
