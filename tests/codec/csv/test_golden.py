"""Golden row cases: the encoder's bytes are TiCDC's, and the decoder reads them as the rows that they were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailrace.change.batch import UPDATE, ChangeBatch
from tailrace.codec.csv import CsvDecoder
from tests.vectors.kinds.rows import check, csv_options, message_bytes
from tests.vectors.tables import change_batch, table_schema

CASES = sorted((Path(__file__).parents[2] / "vectors" / "data" / "cases").glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    document["outputs"] = {"csv": document["outputs"].get("csv", [])}
    return document


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_bytes_are_those_of_ticdc(path: Path) -> None:
    results = dict(check(load(path)))
    assert results
    assert not {name: wrong for name, wrong in results.items() if wrong}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_bytes_of_ticdc_are_read_as_their_rows(path: Path) -> None:
    document = load(path)
    table = table_schema(document["table"])
    for output in document["outputs"]["csv"]:
        options = csv_options(output["config"])
        if not options.quote and (len(options.delimiter) > 1 or options.null != "\\N"):
            continue  # text in these forms can look like a delimiter or NULL
        events = [document["events"][message["event"]] for message in output["messages"]]
        text = b"".join(message_bytes(message) for message in output["messages"])
        got = list(CsvDecoder(options).decode(pa.py_buffer(text), table, path.name))
        want = carried(change_batch(table, events), options.include_commit_ts, options.output_old_value)
        assert [row for batch in got for row in batch.data.to_pylist()] == want


def carried(batch: ChangeBatch, commit_ts: bool, old_values: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.data.to_pylist()
    for row in rows:
        row["commit_ts"] = row["start_ts"] = row["commit_ts"] if commit_ts else 0
        row["before"] = None if row["op"] == UPDATE and not old_values else row["before"]
    return rows
