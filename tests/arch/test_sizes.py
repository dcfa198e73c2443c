"""Modules stay small, say what they are, and are called by what they are."""

from __future__ import annotations

import ast
import statistics

import pytest

from tests.arch.tree import ROOT, Module, modules, source

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
USUAL_MODULE = 120
# Names that say nothing about what is inside.
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def test_no_module_is_too_long() -> None:
    wrong = [f"{module.name}: {module.lines} lines" for module in modules() if module.lines > LONGEST_MODULE]
    assert wrong == []


def test_half_of_the_modules_are_short() -> None:
    assert statistics.median(m.lines for m in source() if m.path.name != "__init__.py") <= USUAL_MODULE


def test_no_function_is_too_long() -> None:
    wrong = [
        f"{module.name}: {name} has {lines} lines"
        for module in modules()
        for name, lines in module.functions()
        if lines > LONGEST_FUNCTION
    ]
    assert wrong == []


def test_every_module_says_what_it_is() -> None:
    wrong = [module.name for module in modules() if module.tree.body and not ast.get_docstring(module.tree)]
    assert wrong == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    wrong = [
        module.name for module in modules() if EMPTY_NAMES & set(module.path.relative_to(ROOT).with_suffix("").parts)
    ]
    assert wrong == []


def _only_reexports(module: Module) -> bool:
    for node in module.tree.body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        names = isinstance(node, ast.Assign) and all(
            isinstance(target, ast.Name) and target.id in {"__all__", "__version__"} for target in node.targets
        )
        if not (text or names or isinstance(node, ast.Import | ast.ImportFrom)):
            return False
    return True


def test_a_package_file_only_reexports() -> None:
    wrong = [m.name for m in modules() if m.path.name == "__init__.py" and not _only_reexports(m)]
    assert wrong == []


@pytest.mark.parametrize("text", ["def f(): pass", "x = 1", "if True:\n    import os"])
def test_the_rule_for_package_files_sees_code(text: str) -> None:
    assert not _only_reexports(Module(ROOT / "__init__.py", text, ast.parse(text)))
