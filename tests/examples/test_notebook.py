"""The notebook runs from its first cell to its last, and what it says at the end is so."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tailrace.testing.environment import package_environment
from tailrace.testing.jars import delta_jars
from tests.arch.tree import ROOT

NOTEBOOK = ROOT / "examples" / "changes_as_a_dataframe.ipynb"

TREE = ROOT / "tests" / "trees" / "csv-basic"


def cells() -> list[str]:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in document["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_is_kept_without_outputs() -> None:
    document = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    assert not [cell for cell in document["cells"] if cell.get("outputs") or cell.get("execution_count")]


@pytest.mark.spark
def test_the_notebook_hands_the_changes_to_a_delta_table() -> None:
    """In a process of its own: jars are given to a JVM when it starts."""
    env = package_environment() | {"DELTA_JARS": ",".join(map(str, delta_jars()))}
    env["TAILRACE_CHANGES"] = str(TREE / "storage")
    command = [sys.executable, "-W", "ignore", "-c", "\n\n".join(cells())]
    done = subprocess.run(command, cwd=NOTEBOOK.parent, env=env, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    expected = json.loads((TREE / "expected.json").read_text(encoding="utf-8"))
    rows = len(expected["tables"]["shop.orders"]["rows"])
    assert f"the Delta table holds {rows} rows, as the changes say" in done.stdout
