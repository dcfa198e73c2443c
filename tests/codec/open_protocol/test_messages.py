"""Open-protocol: what was sent comes back, messages are cut where they must be, and anything else is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import TableSchema
from tailrace.codec.base import Decoded, Messages, Watermark
from tailrace.codec.open_protocol import OpenProtocolDecoder, OpenProtocolEncoder, OpenProtocolOptions
from tailrace.errors import ConfigError, DecodeError, MessageTooLarge
from tests.codec.canal_json.test_decode import ROWS, TABLE, image
from tests.codec.canal_json.test_messages import Offsets, Shelf, rows_of
from tests.codec.csv.reference import Row, as_batch, changes, tables

FORM = OpenProtocolOptions()
CARRIED = ("op", "commit_ts", "after", "before")


def received(made: Messages, shelf: Shelf | None = None) -> list[Decoded]:
    return list(OpenProtocolDecoder(FORM, shelf).decode(made.keys, made.values, Offsets()))


def carried(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the format carries of rows; columns are in the order of their names."""
    return [{name: row[name] for name in CARRIED} for row in found]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 5), st.booleans())
def test_what_was_sent_comes_back(data: st.DataObject, size: int, only_updated: bool) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    if only_updated:  # an update that changes nothing cannot be told from an insert
        rows = [row for row in rows if row.op != UPDATE or row.before != row.after]
    options = replace(FORM, max_batch_size=size, only_output_updated_columns=only_updated)
    sent = OpenProtocolEncoder(options).encode(as_batch(table, rows))
    assert sum(sent.rows.to_pylist()) == len(rows)
    assert carried(rows_of(received(sent))) == carried(as_batch(table, rows).data.to_pylist())


def batch(count: int, text: str = "x") -> ChangeBatch:
    return as_batch(TABLE, [Row(INSERT, 5 + at, None, image(at, text)) for at in range(count)])


@pytest.mark.parametrize(("limit", "counts"), [(10 << 20, [16, 16, 8]), (1000, [5] * 8)])
def test_a_message_ends_at_the_count_and_at_the_size(limit: int, counts: list[int]) -> None:
    sent = OpenProtocolEncoder(replace(FORM, max_message_bytes=limit)).encode(batch(40))
    assert sent.rows.to_pylist() == counts
    sizes = [
        len(key) + len(value) + 36 for key, value in zip(sent.keys.to_pylist(), sent.values.to_pylist(), strict=True)
    ]
    assert max(sizes) <= limit
    assert len(rows_of(received(sent))) == 40


def test_a_change_that_is_too_large_is_refused_or_sent_by_its_key() -> None:
    rows = [Row(INSERT, 5, None, image(0, "small")), Row(DELETE, 6, image(1, "x" * 500), None)]
    small = replace(FORM, max_message_bytes=400)
    with pytest.raises(MessageTooLarge, match=r"max-message-bytes is 400.*change 2"):
        OpenProtocolEncoder(small).encode(as_batch(TABLE, rows))
    sent = OpenProtocolEncoder(replace(small, large_message_handle_option="handle-key-only")).encode(
        as_batch(TABLE, rows)
    )
    assert b'"ohk":true' in sent.keys[0].as_py()
    found = rows_of(received(sent))
    assert found[1]["before"] == {"b": None, "id": 1, "n": None, "v": None}
    with pytest.raises(ConfigError, match="store for the claims"):
        OpenProtocolEncoder(replace(small, large_message_handle_option="claim-check"))


def test_a_claim_is_stored_and_found_again() -> None:
    shelf = Shelf()
    options = replace(
        FORM, max_message_bytes=400, large_message_handle_option="claim-check", claim_check_storage_uri="s3://b/c/"
    )
    rows = as_batch(TABLE, [Row(INSERT, 5, None, image(0, "x" * 500)), Row(INSERT, 6, None, image(1))])
    sent = OpenProtocolEncoder(options, shelf, lambda: "one.json").encode(rows)
    assert b'"ccl":"s3://b/c/one.json"' in sent.keys[0].as_py()
    assert carried(rows_of(received(sent, shelf))) == carried(rows.data.to_pylist())
    with pytest.raises(DecodeError, match="claim store"):
        received(sent)


def test_events_stand_between_batches_and_a_new_version_begins_a_new_one() -> None:
    encoder = OpenProtocolEncoder(FORM)
    wider = TableSchema("s", "t", 1, 9, (*TABLE.columns, replace(TABLE.columns[3], id=9, name="z")), pk_is_handle=True)
    sent = [encoder.encode(batch(2)), encoder.encode(as_batch(wider, [Row(INSERT, 20, None, {**image(1), "z": 1})]))]
    event = DdlEvent(10, 10, 0, DdlType.ADD_COLUMN, "ALTER <t>", "s", "t")
    said, mark = encoder.ddl(event), encoder.watermark(11)
    assert said is not None and mark is not None
    keys = [*sent[0].keys.to_pylist(), said.key, mark.key, *sent[1].keys.to_pylist()]
    values = [*sent[0].values.to_pylist(), said.value, mark.value, *sent[1].values.to_pylist()]
    whole = Messages(pa.array(keys, pa.large_binary()), pa.array(values, pa.large_binary()), sent[0].rows)
    first, ddl, watermark, second = received(whole)
    assert isinstance(first, ChangeBatch) and first.num_rows == 2
    assert (ddl, watermark) == (event, Watermark(11))
    assert isinstance(second, ChangeBatch) and "z" in second.table.arrow_struct.names


def test_a_mutated_message_is_refused_or_is_one_that_encodes_again() -> None:
    sent = OpenProtocolEncoder(FORM).encode(as_batch(TABLE, ROWS))
    dice = random.Random(7)
    refused = 0
    for _ in range(300):
        key, value = bytearray(sent.keys[0].as_py()), bytearray(sent.values[0].as_py())
        which = dice.choice([key, value])
        for _ in range(dice.randint(1, 3)):
            which[dice.randrange(len(which))] = dice.choice(b'\x00\x01"\\{}[]:,0129aeu\x80\xff')
        held = [pa.array([bytes(each)], pa.large_binary()) for each in (key, value)]
        try:
            found = received(Messages(held[0], held[1], sent.rows))
        except DecodeError as wrong:
            refused += 1
            assert "topic t partition 0 offset 0" in str(wrong)
            continue
        for each in found:
            if isinstance(each, ChangeBatch):
                each.data.validate(full=True)
                OpenProtocolEncoder(FORM).encode(each)
    assert refused > 100


def test_malformed_rows_are_named_by_message_and_row() -> None:
    sent = OpenProtocolEncoder(FORM).encode(batch(3))
    value = sent.values[0].as_py().replace(b'"v":2}', b'"v":[}')
    with pytest.raises(DecodeError, match="offset 0 row 3"):
        received(Messages(sent.keys, pa.array([value], pa.large_binary()), sent.rows))
    assert json.loads(sent.values[0].as_py()[8:].split(b"}}}")[0] + b"}}}")["u"]["id"]["v"] == 0
