"""Debezium: rows of a batch are written as each would be alone, and a schema tells of every column."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.codec.debezium import DebeziumEncoder, DebeziumOptions
from tests.codec.csv.reference import as_batch, changes, tables


@settings(max_examples=60, deadline=None)
@given(st.data(), st.booleans(), st.booleans())
def test_rows_together_are_written_as_each_alone(data: st.DataObject, bare: bool, old: bool) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    batch = as_batch(table, rows)
    options = replace(DebeziumOptions(), debezium_disable_schema=bare, output_old_value=old)
    encoder = DebeziumEncoder(options, lambda: 7)
    made = encoder.encode(batch).values.to_pylist()
    assert made == [encoder.encode(batch.slice(at, 1)).values[0].as_py() for at in range(len(rows))]
    for text, row in zip(made, rows, strict=True):
        said = json.loads(text)
        payload = said["payload"]
        names = [column.name for column in table.row_columns]
        assert (payload["op"], payload["source"]["commit_ts"]) == ("cud"[row.op], row.commit_ts)
        for key, held, shown in (("after", row.after, True), ("before", row.before, old or row.op != 1)):
            image = payload.get(key)
            assert (image is None) == (held is None or not shown)
            assert image is None or list(image) == names
        if not bare:
            fields = said["schema"]["fields"][1]["fields"]
            assert [field["field"] for field in fields] == names
