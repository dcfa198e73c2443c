"""Folders that TiCDC wrote: a view's changes, taken one after the other, leave the keys that the source held."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.arch.tree import ROOT
from tests.pipeline.view.reading import batch_rows

TREES = ROOT / "tests" / "trees"
# A view is of one name and of changes: these were renamed or truncated, of which no change tells.
NOT_BY_CHANGES = ("app.scratch", "app.counter", "名前.meta")
TABLES = [
    (tree, name)
    for tree in ("csv-basic", "csv-oldvalue-hex", "csv-types-names", "canal-types", "canal-ddl")
    for name, table in json.loads((TREES / tree / "expected.json").read_text())["tables"].items()
    if table["key"] and name not in NOT_BY_CHANGES
]


def spelled(value: Any) -> str:
    return str(int(value)) if isinstance(value, Decimal) else str(value)


@pytest.mark.parametrize(("tree", "name"), TABLES)
def test_the_changes_of_a_folder_leave_the_keys_of_its_source(tree: str, name: str) -> None:
    expected = json.loads((TREES / tree / "expected.json").read_text())["tables"][name]
    uri = (TREES / tree / "uri.txt").read_text().strip().replace("{path}", str(TREES / tree / "storage"))
    storage = TREES / tree / "storage"
    schema = next(path.name for path in storage.iterdir() if name.startswith(f"{path.name}."))
    table = name.removeprefix(f"{schema}.")
    found = batch_rows(
        uri,
        table=f"`{schema}`.`{table}`",
        config=str(TREES / tree / "changefeed.toml"),
        mergeSchema="true",
    )
    held: dict[tuple[str, ...], str] = {}
    for row in found:
        key = tuple(spelled(row[column]) for column in expected["key"])
        if row["_op"] == "U" and row["_before"] is not None:
            held.pop(tuple(spelled(row["_before"][column]) for column in expected["key"]), None)
        held[key] = row["_op"]
    places = [expected["columns"].index(column) for column in expected["key"]]
    wanted = {tuple(str(row[place]) for place in places) for row in expected["rows"]}
    assert {key for key, op in held.items() if op != "D"} == wanted
