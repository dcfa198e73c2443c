"""The golden rows of TiDB must come back as they were from keys and values in TiDB's own form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tailrace.upstream.rowcodec import decode_handles, decode_rows, encode_keys, encode_rows
from tests.upstream.rowcodec import reference
from tests.vectors.tables import image_array, table_schema, with_row_id

CASES = Path(__file__).parents[2] / "vectors" / "data" / "cases"
NAMES = sorted(path.stem for path in CASES.glob("*.json"))


@pytest.mark.parametrize("name", NAMES)
def test_golden_rows_come_back(name: str) -> None:
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    table = with_row_id(table_schema(case["table"]))
    events = [event for event in case["events"] if event["after"] is not None]
    images = [{**event["after"], "_tidb_rowid": str(event["row_id"])} for event in events]
    image = image_array(table, images)
    zone = case["time_zone"]
    keys = encode_keys(table, image, table.table_id, zone=zone)
    values = encode_rows(table, image, zone=zone)
    back = decode_rows(table, keys, values, zone=zone)
    assert [field.name for field in back.type if not back.field(field.name).equals(image.field(field.name))] == []
    if events and events[0]["handle_is_int"]:
        assert [str(handle) for handle in decode_handles(keys).tolist()] == [event["row_id"] for event in events]
    if zone == "UTC" and not any(column.type.name == "json" for column in table.columns):
        assert values.to_pylist() == [reference.encode_row(table, row) for row in image.to_pylist()]
    assert pa.types.is_binary(values.type)
