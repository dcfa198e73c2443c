"""Storage paths: data files, indexes and schema files of one table, step after step, from the files that were there.

The steps go through what the sink itself uses: its layout, its numbering over a folder, and its choice of the
version. Where TiCDC would give a name that a file has already, which loses that file, the step is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

from tailrace.change.schema import TableSchema
from tailrace.change.schema_file import table_file
from tailrace.change.tso import Ts, compose
from tailrace.config import load_changefeed
from tailrace.errors import SinkRefused
from tailrace.sink.storage.numbering import Numbers
from tailrace.sink.storage.paths import Layout, index_path, table_folder
from tailrace.sink.storage.schema_files import effective_version, schema_path
from tailrace.store.local import LocalStore
from tests.vectors.tables import table_schema

KIND = "storage_paths"


def check(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for scenario in document["scenarios"]:
        said = scenario["table"]
        info = document["partition_table_info" if said["is_partition"] else "table_info"]
        table = table_schema(info).at_version(said["table_info_version"])
        with TemporaryDirectory() as root:
            for path, text in scenario.get("pre_files", {}).items():
                _write(Path(root) / path, text)
            yield from _Scenario(scenario, table, Path(root)).verdicts()


class _Scenario:
    """One table's files under one configuration."""

    def __init__(self, scenario: dict[str, Any], table: TableSchema, root: Path) -> None:
        said = scenario["table"]
        self._scenario = scenario
        self._root = root
        self._table = table
        self._partition = said["physical_table_id"] if said["is_partition"] else 0
        self._with_ids = bool(scenario["config"]["output-column-id"])
        self._layout = _layout(scenario)
        self._store = LocalStore(str(root))
        self._numbers = Numbers(self._store, self._layout)
        self._given: set[str] = {path for path, text in scenario.get("pre_files", {}).items() if text}

    def verdicts(self) -> Iterator[tuple[str, str]]:
        name = self._scenario["name"]
        version, written = self._schema_file()
        expected = self._scenario["schema_files_written"]
        yield f"{name} schema file", "" if written == expected else f"wrote {written}, not {expected}"
        for number, step in enumerate(self._scenario["steps"]):
            yield f"{name} step {number}", self._step(step, version)

    def _schema_file(self) -> tuple[Ts, list[str]]:
        """The version whose folder is used, and the schema files that had to be written for it."""
        table = self._table
        _, checksum = table_file(table, with_ids=self._with_ids)
        beside = self._store.names(f"{table_folder(table.schema, table.name)}/meta")
        found = effective_version(beside, table.version, checksum)
        if found is not None:
            return found, []
        return table.version, [schema_path(table.schema, table.name, table.version, checksum)]

    def _step(self, step: dict[str, Any], version: Ts) -> str:
        ts = compose(round(datetime.fromisoformat(step["time"]).timestamp() * 1000))
        date = self._layout.date_of(ts)
        folder = self._layout.folder(self._table.schema, self._table.name, version, self._partition, date)
        if step.get("data_path") in self._given:
            return "skip: TiCDC gives this file the name of another one"
        try:
            number = self._numbers.next_of(folder)
            restarted = Numbers(self._store, self._layout).next_of(folder)
        except SinkRefused as refused:
            return "" if "error" in step else f"refused: {refused}"
        if "error" in step:
            return f"accepted, but TiCDC says {step['error']}"
        if restarted != number:
            return f"a new owner would go on with {restarted}, not with {number}"
        self._numbers.taken(folder, number)
        data = f"{folder}/{self._layout.data_name(number)}"
        self._given.add(data)
        _write(self._root / data, "data")
        _write(self._root / index_path(folder), f"{self._layout.data_name(number)}\n")
        got = {
            "date": date,
            "data_path": data,
            "index_path": index_path(folder),
            "index_content": f"{self._layout.data_name(number)}\n",
        }
        wrong = [f"{key} is {value!r}, not {step[key]!r}" for key, value in got.items() if step[key] != value]
        return "; ".join(wrong)


def _layout(scenario: dict[str, Any]) -> Layout:
    """The layout that the configuration gives, which has to be the one that TiCDC gives."""
    said = {key: value for key, value in scenario["config"].items() if value is not None}
    keys = ("date-separator", "enable-partition-separator", "file-index-digit")
    lines = [f"{key} = {json.dumps(said[key])}" for key in keys if key in said]
    toml = "\n".join(["[sink]", f"protocol = {json.dumps(said['protocol'])}", *lines])
    sink = load_changefeed("file:///tmp/prefix", toml).sink
    zone = ZoneInfo(scenario["local_time_zone"])
    return Layout(
        scenario["extension"], sink.date_separator, sink.enable_partition_separator, sink.file_index_width, zone
    )


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
