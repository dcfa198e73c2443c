"""Progress is moved by the ledger and by nobody else, so that its proof is about all of the code."""

from __future__ import annotations

import ast

from tests.arch.tree import SOURCE, Module, source

TABLES = {"progress", "checkpoint", "naming"}
WRITES = {"insert", "update", "delete"}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def writes(module: Module) -> list[str]:
    """Where a module makes a statement that writes one of the ledger's tables: `insert(progress)`, `progress.insert()`,
    or SQL as text."""
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _name(node.func) in WRITES:
            aims = [_name(each) for each in node.args[:1]]
            aims += [_name(node.func.value)] if isinstance(node.func, ast.Attribute) else []
            found += [f"{module.name}:{node.lineno}" for aim in aims if aim in TABLES]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value.upper().split()
            verbs = [word for word in words if word in {"INSERT", "UPDATE", "DELETE", "REPLACE"}]
            if verbs and TABLES & {word.lower() for word in words} and words[0] in verbs:
                found.append(f"{module.name}:{node.lineno}")
    return found


def test_only_the_ledgers_rows_write_progress() -> None:
    found = {line.partition(":")[0] for module in source() for line in writes(module)}
    assert found == {"src/tailrace/progress/rows.py"}


def test_only_the_ledger_holds_those_rows() -> None:
    readers = {
        module.name for module in source() for name, _ in module.imports() if name.startswith("tailrace.progress.rows")
    }
    assert readers == {"src/tailrace/progress/ledger.py"}


def test_the_rule_sees_each_way_of_writing() -> None:
    for text in (
        "insert(progress)\n",
        "connection.execute(update(tables.checkpoint).values(cut=1))\n",
        "naming.delete()\n",
        "text('UPDATE progress SET through_ts = 1')\n",
    ):
        assert writes(Module(SOURCE / "sink" / "example.py", text, ast.parse(text))), text
