"""Messages: one a change, DDL and watermarks between them, small stand-ins for the large ones, and the way back."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.codec.base import Decoded, Watermark
from tailrace.codec.canal_json import CanalJsonMessageDecoder, CanalJsonMessageEncoder, CanalJsonOptions
from tailrace.codec.sending import RECORD_OVERHEAD
from tailrace.errors import ConfigError, DecodeError, MessageTooLarge
from tests.codec.canal_json.reference import NOW, line
from tests.codec.canal_json.test_decode import ROWS, TABLE, image
from tests.codec.csv.reference import Row, as_batch, changes, tables

FORM = CanalJsonOptions(enable_tidb_extension=True)


class Offsets:
    """Where messages of a topic are."""

    def of(self, message: int) -> str:
        return f"topic t partition 0 offset {message}"


@dataclass
class Shelf:
    """A claim store in memory."""

    held: dict[str, bytes] = field(default_factory=dict)

    def put(self, names: Sequence[str], contents: pa.LargeBinaryArray) -> None:
        self.held |= zip(names, contents.to_pylist(), strict=True)

    def get(self, name: str) -> bytes:
        return self.held[name]


def now() -> int:
    return NOW


def values_of(*messages: bytes) -> pa.LargeBinaryArray:
    return pa.array(messages, pa.large_binary())


def received(
    values: pa.LargeBinaryArray, options: CanalJsonOptions = FORM, shelf: Shelf | None = None
) -> list[Decoded]:
    decoder = CanalJsonMessageDecoder(options, shelf)
    return list(decoder.decode(pa.nulls(len(values), pa.large_binary()), values, Offsets()))


def rows_of(found: Sequence[Decoded]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for each in found:
        assert isinstance(each, ChangeBatch)
        each.data.validate(full=True)
        rows += each.data.to_pylist()
    return rows


@settings(max_examples=60, deadline=None)
@given(st.data(), st.booleans(), st.integers(0, 2))
def test_what_was_sent_comes_back(data: st.DataObject, compatible: bool, skipped: int) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    options = replace(FORM, content_compatible=compatible)
    sent = CanalJsonMessageEncoder(options, clock=now).encode(as_batch(table, rows))
    assert sent.values.to_pylist() == [line(table, row, options).encode() for row in rows]
    assert (sent.keys.null_count, sent.rows.to_pylist()) == (len(rows), [1] * len(rows))
    found = received(sent.values.slice(skipped), options)
    assert rows_of(found) == as_batch(table, rows[skipped:]).data.to_pylist()


def test_tables_ddl_and_watermarks_come_in_the_order_of_their_messages() -> None:
    encoder = CanalJsonMessageEncoder(FORM, clock=now)
    other = replace(TABLE, name="u")
    ddl = DdlEvent(7 << 18, 6 << 18, 0, DdlType.CREATE_TABLE, "create table `x` (\u2028 int)", "s", "x")
    made, mark = encoder.ddl(ddl), encoder.watermark(9 << 18)
    assert made is not None and mark is not None and made.value is not None and mark.value is not None
    lines = [line(table, row, FORM).encode() for row in ROWS for table in (TABLE, TABLE, other)]
    found = received(values_of(*lines[:6], made.value, *lines[6:], mark.value, mark.value))
    shapes = [(each.table.name, each.num_rows) if isinstance(each, ChangeBatch) else each for each in found]
    event = shapes[4]
    assert isinstance(event, DdlEvent) and (event.commit_ts, event.type, event.query) == (7 << 18, 3, ddl.query)
    assert (event.schema_name, event.table_name) == ("s", "x")
    pairs = [("t", 2), ("u", 1)] * 2
    assert shapes == [*pairs, event, *pairs, Watermark(9 << 18), Watermark(9 << 18)]
    batches = [each for each in found if isinstance(each, ChangeBatch) and each.table.name == "u"]
    assert rows_of(batches) == as_batch(other, ROWS).data.to_pylist()


def test_a_commit_ts_that_goes_back_begins_another_batch() -> None:
    lines = [line(TABLE, row, FORM).encode() for row in ROWS + ROWS]
    assert [each.num_rows for each in received(values_of(*lines)) if isinstance(each, ChangeBatch)] == [4, 4]


def test_a_column_of_another_type_is_another_version_of_the_table() -> None:
    wide = replace(TABLE, columns=(*TABLE.columns[:3], replace(TABLE.columns[3], type=TABLE.columns[0].type)))
    lines = [line(each, ROWS[0], FORM).encode() for each in (TABLE, wide, TABLE)]
    found = [each for each in received(values_of(*lines)) if isinstance(each, ChangeBatch)]
    assert [str(each.after.type.field("n").type) for each in found] == ["int32", "int64", "int32"]


def test_messages_of_another_layout_are_read_too() -> None:
    lines = [json.dumps(dict(reversed(json.loads(line(TABLE, row, FORM)).items()))).encode() for row in ROWS]
    lines.insert(2, line(TABLE, ROWS[1], FORM).encode())
    want = as_batch(TABLE, [*ROWS[:2], ROWS[1], *ROWS[2:]]).data.to_pylist()
    assert rows_of(received(values_of(*lines))) == want


def test_without_the_extension_there_are_no_watermarks_and_ddl_has_its_millisecond() -> None:
    encoder = CanalJsonMessageEncoder(CanalJsonOptions(), clock=now)
    assert encoder.watermark(5) is None
    message = encoder.ddl(DdlEvent((9 << 18) + 5, 0, 0, DdlType.DROP_SCHEMA, "drop database d", "d"))
    assert message is not None and message.value is not None and b"_tidb" not in message.value
    (event,) = received(values_of(message.value), CanalJsonOptions())
    assert isinstance(event, DdlEvent) and (event.commit_ts, event.type) == (9 << 18, 0)


LONG = Row(UPDATE, 5 << 18, image(1, "x" * 400), image(1, "y" * 400))
SHORT = Row(INSERT, 5 << 18, None, image(2))
GONE = Row(DELETE, 6 << 18, image(1, "y" * 900), None)
LIMIT = len(line(TABLE, SHORT, FORM)) + RECORD_OVERHEAD + 60


def test_a_message_of_exactly_the_limit_passes_and_one_more_byte_is_refused() -> None:
    size = len(line(TABLE, LONG, FORM).encode()) + RECORD_OVERHEAD
    batch = as_batch(TABLE, [SHORT, LONG])
    for limit in (size, size + 1):
        CanalJsonMessageEncoder(replace(FORM, max_message_bytes=limit)).encode(batch)
    with pytest.raises(
        MessageTooLarge, match=rf"{size} bytes.*max-message-bytes is {size - 1} \[table s.t, .*change 2"
    ):
        CanalJsonMessageEncoder(replace(FORM, max_message_bytes=size - 1)).encode(batch)


def test_a_large_message_holds_the_handle_key_alone() -> None:
    options = replace(FORM, max_message_bytes=LIMIT, large_message_handle_option="handle-key-only")
    sent = CanalJsonMessageEncoder(options, clock=now).encode(as_batch(TABLE, [SHORT, LONG, SHORT, GONE]))
    want = [line(TABLE, row, FORM, only_keys=row in (LONG, GONE)).encode() for row in (SHORT, LONG, SHORT, GONE)]
    assert sent.values.to_pylist() == want
    with pytest.raises(DecodeError, match=r"only the handle key.*offset 1"):
        received(sent.values)
    rows = rows_of(received(sent.values.filter(pa.array([True, False, True, True]))))
    assert rows[-1]["before"] == {"id": 1, "v": None, "b": None, "n": None}


def test_a_handle_key_that_is_too_large_is_refused() -> None:
    options = replace(FORM, max_message_bytes=100, large_message_handle_option="handle-key-only")
    with pytest.raises(MessageTooLarge, match="even with its handle key alone"):
        CanalJsonMessageEncoder(options).encode(as_batch(TABLE, [SHORT]))
    keyless = replace(TABLE, columns=tuple(replace(each, pk=False) for each in TABLE.columns))
    with pytest.raises(MessageTooLarge, match="no handle key"):
        CanalJsonMessageEncoder(options).encode(as_batch(keyless, [SHORT]))


@pytest.mark.parametrize("raw", [False, True])
def test_a_large_message_can_be_claimed(raw: bool) -> None:
    options = replace(
        FORM,
        max_message_bytes=LIMIT + 60,
        large_message_handle_option="claim-check",
        claim_check_storage_uri="s3://bucket/claims?a=1&b=2/",
        claim_check_raw_value=raw,
    )
    shelf, numbers = Shelf(), count()
    encoder = CanalJsonMessageEncoder(options, shelf, now, lambda: f"{next(numbers)}.json")
    rows = [SHORT, LONG, SHORT, GONE]
    sent = encoder.encode(as_batch(TABLE, rows))
    small = json.loads(sent.values[1].as_py())
    assert small["_tidb"] == {"commitTs": 5 << 18, "claimCheckLocation": "s3://bucket/claims?a=1&b=2/0.json"}
    assert (small["data"], small["old"]) == ([{"id": "1"}], [{"id": "1"}])
    assert b"a=1\\u0026b=2" in sent.values[1].as_py()
    whole = line(TABLE, LONG, FORM).encode()
    text = base64.b64encode(whole).decode()
    assert shelf.held["0.json"] == (whole if raw else f'{{"key":null,"value":"{text}"}}'.encode())
    assert rows_of(received(sent.values, options, shelf)) == as_batch(TABLE, rows).data.to_pylist()
    with pytest.raises(DecodeError, match=r"claim store is known.*offset 1"):
        received(sent.values, options)


def test_a_damaged_claim_is_refused() -> None:
    for content in (b"", b"{}", b'{"key":null,"value":"?"}'):
        shelf = Shelf({"0.json": content})
        message = b'{"_tidb":{"commitTs":1,"claimCheckLocation":"x/0.json"}}'
        with pytest.raises(DecodeError, match="claim cannot be read"):
            received(values_of(message), shelf=shelf)


def test_large_messages_need_the_extension_and_claims_a_store() -> None:
    with pytest.raises(ConfigError, match="enable-tidb-extension"):
        CanalJsonMessageEncoder(CanalJsonOptions(large_message_handle_option="handle-key-only"))
    with pytest.raises(ConfigError, match="store for the claims"):
        CanalJsonMessageEncoder(replace(FORM, large_message_handle_option="claim-check"))


GOOD = line(TABLE, ROWS[2], FORM).encode()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "it is no JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "no JSON object"),
        (b"{}", "mysqlType must be an object"),
        (GOOD[:-1], "it is no JSON"),
        (GOOD.replace(b'"varchar"', b'"varchar2"'), "which is no type"),
        (GOOD.replace(b'"varchar"', b"7"), "mysqlType must be"),
        (GOOD.replace(b'"database":"s"', b'"database":5'), "both must be names"),
        (GOOD.replace(b'"n":"-5"', b'"n":"x"'), "column n holds 'x'"),
        (GOOD.replace(b'"v":null,', b""), "data has no column 'v'"),
        (GOOD.replace(b'"isDdl":false', b'"isDdl":true').replace(b'"sql":""', b'"sql":null'), "must be text"),
        (b'{"type":"TIDB_WATERMARK","es":"x"}', "must tell a time"),
    ],
)
def test_a_damaged_message_is_refused_by_its_place(message: bytes, reason: str) -> None:
    for before in (GOOD, line(TABLE, ROWS[0], FORM).encode()):
        with pytest.raises(DecodeError) as caught:
            received(values_of(before, message, before))
        assert reason in str(caught.value) and "offset 1" in str(caught.value)


def test_a_message_that_does_not_show_its_table_is_refused() -> None:
    with pytest.raises(DecodeError, match="pkNames is None"):
        received(values_of(GOOD.replace(b'["id"]', b"null")))


def test_a_message_without_a_value_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"NULL.*offset 1"):
        received(pa.array([GOOD, None], pa.large_binary()))


def test_no_messages_are_nothing() -> None:
    assert received(values_of()) == []
