"""Simple: any changes are written as row-by-row code would, and large ones by their key."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT
from tailrace.change.schema import TableSchema
from tailrace.codec.simple import SimpleEncoder, SimpleOptions
from tailrace.errors import ConfigError, MessageTooLarge
from tests.codec.canal_json.test_decode import TABLE, image
from tests.codec.canal_json.test_messages import Shelf
from tests.codec.csv.reference import Row, as_batch, changes, tables


def expected(table: TableSchema, held: dict[str, Any] | None) -> dict[str, Any] | None:
    """What an image must say; floats are compared as numbers."""
    if held is None:
        return None
    said: dict[str, Any] = {}
    for column in table.row_columns:
        value = held[column.name]
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode()
        elif column.type.name == "timestamp" and value is not None:
            value = {"location": "UTC", "value": value}
        said[column.name] = value if value is None or isinstance(value, float | dict) else str(value)
    return said


def as_numbers(table: TableSchema, held: dict[str, Any] | None) -> dict[str, Any] | None:
    if held is None:
        return None
    floats = {column.name for column in table.columns if column.type.name in ("float", "double")}
    return {name: float(value) if name in floats and value is not None else value for name, value in held.items()}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_rows_are_written_as_they_are(data: st.DataObject) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    batch = as_batch(table, rows)
    encoder = SimpleEncoder(SimpleOptions(), clock=lambda: 7)
    made = encoder.encode(batch).values.to_pylist()
    assert made == [encoder.encode(batch.slice(at, 1)).values[0].as_py() for at in range(len(rows))]
    for text, row, held in zip(made, rows, batch.data.to_pylist(), strict=True):
        said = json.loads(text)
        assert (said["type"], said["commitTs"]) == (("INSERT", "UPDATE", "DELETE")[row.op], row.commit_ts)
        for key, which in (("data", "after"), ("old", "before")):
            want, got = expected(table, held[which]), as_numbers(table, said.get(key))
            singles = {column.name for column in table.columns if column.type.name == "float"}
            assert (got is None) == (want is None)
            for name, value in (want or {}).items():
                close = pytest.approx(value, rel=1e-6) if name in singles and value is not None else value
                assert got is not None and got[name] == close


def test_a_change_that_is_too_large_is_refused_sent_by_its_key_or_stored() -> None:
    small = SimpleOptions(max_message_bytes=260)
    rows = as_batch(TABLE, [Row(INSERT, 5, None, image(0)), Row(DELETE, 6, image(1, "x" * 300), None)])
    with pytest.raises(MessageTooLarge, match=r"max-message-bytes is 260.*change 2"):
        SimpleEncoder(small).encode(rows)
    made = SimpleEncoder(replace(small, large_message_handle_option="handle-key-only")).encode(rows).values.to_pylist()
    assert [json.loads(text).get("handleKeyOnly") for text in made] == [None, True]
    assert json.loads(made[1])["old"] == {"id": "1"}
    claimed = replace(small, large_message_handle_option="claim-check", claim_check_storage_uri="s3://b/c/")
    shelf = Shelf()
    made = SimpleEncoder(claimed, shelf, lambda: 0, lambda: "n.json").encode(rows).values.to_pylist()
    assert json.loads(made[1])["claimCheckLocation"] == "s3://b/c/n.json"
    stored = base64.b64decode(json.loads(shelf.held["n.json"])["value"])
    assert json.loads(stored)["old"]["v"] == "x" * 300
    with pytest.raises(ConfigError, match="store for the claims"):
        SimpleEncoder(claimed)
