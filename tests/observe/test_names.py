"""Each name of an event or a metric is used somewhere, and nothing is logged or counted under another name."""

from __future__ import annotations

import ast
import logging

import pytest

from tailrace.observe import names
from tailrace.observe.logs import say
from tailrace.observe.names import Metric
from tests.arch.tree import SOURCE, Module, source

KNOWN = {name for name, value in vars(names).items() if name.isupper() and isinstance(value, str | Metric)}


def used(module: Module) -> set[str]:
    """The constants of `names` that a module reads, as `names.X` or by an import."""
    attributes = {
        node.attr
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "names"
    }
    imported = {
        alias.name
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "tailrace.observe.names"
        for alias in node.names
    }
    return attributes | imported


def test_every_event_and_metric_is_used() -> None:
    unused = KNOWN - {name for module in source() for name in used(module)}
    assert unused == set()


def test_every_line_that_is_said_bears_a_name() -> None:
    wrong = [
        f"{module.name}:{node.lineno}"
        for module in source()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say"
        if not (isinstance(event := node.args[2], ast.Attribute) and event.attr in KNOWN)
    ]
    assert wrong == []


def test_a_line_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"not in observe\.names"):
        say(logging.getLogger("tailrace.test"), logging.INFO, "something-new")


def test_the_rule_sees_both_ways_of_using_a_name() -> None:
    text = "from tailrace.observe.names import ROWS\nmetrics.count(names.CUTS)\n"
    assert used(Module(SOURCE / "sink" / "example.py", text, ast.parse(text))) == {"ROWS", "CUTS"}
