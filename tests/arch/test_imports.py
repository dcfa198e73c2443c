"""Imports go one way, so that the project can be read from the top down."""

from __future__ import annotations

import ast

from tests.arch.tree import SOURCE, Module, modules, source

# Reading order is import order (DESIGN section 10): a room imports only from itself and from rooms before it.
ORDER = (
    *("__init__", "proto", "errors", "config", "plugins", "observe", "store", "change", "route", "codec", "progress"),
    *("upstream", "sink", "pipeline", "server", "dataserver", "testing", "cli", "__main__"),
)
# The embedded range store is a reference and a test aid: nothing that runs in production may lean on it.
DATASERVER_READERS = {"dataserver", "cli", "testing", ""}

# `plugins` opens what its callers name: it knows the types of the seams, and imports none of them when it runs.
TYPES_ONLY = {("plugins", "tailrace.sink.base"), ("plugins", "tailrace.upstream.base")}


def backward(module: Module) -> list[str]:
    """The imports of a module that go against the order."""
    mine = ORDER.index(module.room)
    wrong = []
    for name, line in module.imports():
        parts = name.split(".")
        if parts[0] != "tailrace" or len(parts) < 2 or parts[1] not in ORDER:
            continue
        if (module.room, ".".join(parts[:3])) in TYPES_ONLY:
            continue
        if ORDER.index(parts[1]) > mine:
            wrong.append(f"{module.name}:{line}: {module.room} imports {parts[1]}")
    return wrong


def test_every_room_has_its_place_in_the_order() -> None:
    rooms = {module.room for module in source()}
    assert rooms <= set(ORDER), f"rooms without a place in the order: {sorted(rooms - set(ORDER))}"


def test_a_room_imports_only_rooms_before_it() -> None:
    assert [line for module in source() for line in backward(module)] == []


def test_the_rule_sees_an_import_inside_a_function_and_a_relative_one() -> None:
    for text in (
        "def f():\n    from tailrace.pipeline.job import run\n",
        "from tailrace import pipeline\n",
        "from ..pipeline import job\n",
        "import tailrace.cli.main as main\n",
    ):
        module = Module(SOURCE / "sink" / "example.py", text, ast.parse(text))
        assert backward(module), text


def test_only_the_pipeline_imports_pyspark() -> None:
    wrong = [
        f"{module.name}:{line}"
        for module in source()
        for name, line in module.imports()
        if name.split(".")[0] in {"pyspark", "py4j"} and module.room != "pipeline"
    ]
    assert wrong == []


def test_only_the_command_line_and_tests_import_the_embedded_store() -> None:
    wrong = [
        f"{module.name}:{line}"
        for module in modules()
        for name, line in module.imports()
        if name.startswith("tailrace.dataserver") and module.room not in DATASERVER_READERS
    ]
    assert wrong == []


def test_no_product_module_imports_the_tests() -> None:
    wrong = [
        f"{module.name}:{line}"
        for module in source()
        for name, line in module.imports()
        if name.split(".")[0] in {"tests", "bench"}
    ]
    assert wrong == []
