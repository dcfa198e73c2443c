"""The expressions of `ops/`, and what Prometheus would ask for by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser
import yaml

from tests.arch.tree import ROOT

OPS = ROOT / "ops"
RULES = OPS / "prometheus" / "alerts.yml"
RULE_TESTS = OPS / "prometheus" / "alerts_test.yml"
BOARD = OPS / "grafana" / "tailrace.json"
# What Grafana puts in before it asks.
VARIABLES = {"$__rate_interval": "5m", "$subscription": ".*"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A series that an expression asks for, with the labels that it is picked by."""

    name: str
    labels: tuple[str, ...]


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def board() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(BOARD.read_text(encoding="utf-8"))
    return found


def panel_expressions() -> list[tuple[str, str]]:
    """Title and expression of each question of the board, as Prometheus gets it."""
    found = []
    for panel in board()["panels"]:
        for target in panel.get("targets", ()):
            expression = target["expr"]
            for name, value in VARIABLES.items():
                expression = expression.replace(name, value)
            found.append((panel["title"], expression))
    return found


def expressions() -> list[tuple[str, str]]:
    return [(rule["alert"], rule["expr"]) for rule in rules()] + panel_expressions()


def asked(expression: str) -> list[Asked]:
    """Raises ValueError for what is no expression."""
    return list(_selectors(promql_parser.parse(expression)))


def joined_by(expression: str) -> set[str]:
    """The labels by which an expression groups or joins."""
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            found.update(node.modifier.labels)
        if isinstance(node, promql_parser.BinaryExpr) and node.modifier is not None and node.modifier.matching:
            found.update(node.modifier.matching.labels)

    promql_parser.walk(promql_parser.parse(expression), pre_visit=visit)
    return found


def _selectors(expression: Any) -> Iterator[Asked]:
    found: list[Asked] = []

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(Asked(node.name or "", tuple(matcher.name for matcher in node.matchers.matchers)))

    promql_parser.walk(expression, pre_visit=visit)
    yield from found
