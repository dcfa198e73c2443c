"""Folders that TiCDC wrote hold, as read here, exactly what its source held at the checkpoint."""

from __future__ import annotations

import base64
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tailrace.codec.canal_json import CanalJsonOptions
from tailrace.codec.csv.options import CsvOptions
from tailrace.testing.reader import FolderForm, TableHint, read_local
from tests.arch.tree import ROOT

# The other trees hold what this reader refuses: partitions that are dropped, files that were cut off.
TREES = ("canal-ddl", "canal-types", "csv-basic", "csv-oldvalue-hex", "csv-rename", "csv-types-names")


def form_of(tree: Path, tables: dict[str, Any]) -> FolderForm:
    sink = tomllib.loads((tree / "changefeed.toml").read_text())["sink"]
    options = {name.replace("-", "_"): value for name, value in sink.get("csv", {}).items()}
    if "terminator" in sink:
        options["terminator"] = sink["terminator"]
    hints = {name: TableHint(tuple(table["key"]), tuple(table.get("virtual", ()))) for name, table in tables.items()}
    extension = "enable-tidb-extension=true" in (tree / "uri.txt").read_text()
    canal_json = CanalJsonOptions(extension) if sink["protocol"] == "canal-json" else None
    return FolderForm(CsvOptions(**options), sink.get("date-separator") != "none", False, hints, canal_json)


def wanted(value: Any, kind: pa.DataType) -> Any:
    """A value as the golden file spells it, as Arrow gives it."""
    if isinstance(value, dict):
        if "base64" in value:
            return base64.b64decode(value["base64"])
        return value["text"] if pa.types.is_string(kind) else int(value["enum" if "enum" in value else "set"])
    if value is None or pa.types.is_string(kind):
        return value
    return np.float32(value).item() if pa.types.is_float32(kind) else pa.array([value]).cast(kind)[0].as_py()


@pytest.mark.parametrize("name", TREES)
def test_a_folder_of_ticdc_reads_as_its_source(name: str) -> None:
    tree = ROOT / "tests" / "trees" / name
    expected = json.loads((tree / "expected.json").read_text())
    got = read_local(tree / "storage", form_of(tree, expected["tables"]))
    assert got.checkpoint == expected["checkpoint_ts"]
    assert sorted(got.tables) == sorted(expected["tables"])
    for full_name, table in expected["tables"].items():
        rows = got.tables[full_name]
        carried = [at for at, column in enumerate(table["columns"]) if column not in table.get("virtual", ())]
        kinds = [rows.schema.field(table["columns"][at]).type for at in carried]
        want = [[wanted(row[at], kind) for at, kind in zip(carried, kinds, strict=True)] for row in table["rows"]]
        have = [list(row.values()) for row in rows.to_pylist()]
        assert sorted(have, key=repr) == sorted(want, key=repr), full_name
