"""Every test that docs/guarantees.md names is there, and every clause names one."""

from __future__ import annotations

import ast
import re

from tests.arch.tree import ROOT, modules

TEXT = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)
# A clause begins with bold words at the start of a line.
CLAUSES = re.findall(r"^\*\*(.+?)\*\*(.*?)(?=^\*\*|^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)


def _functions(tree: ast.Module) -> set[str]:
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_named_test_is_there() -> None:
    known = {module.name: _functions(module.tree) for module in modules()}
    missing = [f"{path}::{name}" for path, name in NAMED if name not in known.get(path, set())]
    assert len(NAMED) > 30
    assert missing == []


def test_every_clause_names_a_test() -> None:
    assert len(CLAUSES) > 12
    assert [title for title, body in CLAUSES if "::test_" not in body] == []


def test_every_link_between_the_pages_leads_somewhere() -> None:
    wrong = []
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                wrong.append(f"{page.name}: {target}")
    assert wrong == []
