"""The decoder gives back what was encoded, and refuses everything else by file and row."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.change.parse import parse_type
from tailrace.change.schema import Column, TableSchema
from tailrace.codec.canal_json import CanalJsonDecoder, CanalJsonEncoder, CanalJsonOptions
from tailrace.codec.canal_json.strict import BadRow, understood
from tailrace.errors import ConfigError, DecodeError
from tests.codec.canal_json.reference import OPTIONS, carried, line, written
from tests.codec.csv.reference import Row, as_batch, changes, tables

FORM = CanalJsonOptions(enable_tidb_extension=True, terminator="\n")


def decoded(data: bytes, table: TableSchema, options: CanalJsonOptions = FORM, block: int = 1 << 20) -> pa.Table:
    batches = list(CanalJsonDecoder(options, block).decode(pa.py_buffer(data), table, "f.json"))
    for batch in batches:
        batch.data.validate(full=True)
    return pa.Table.from_batches([batch.data for batch in batches], as_batch(table, []).data.schema).combine_chunks()


@settings(max_examples=60, deadline=None)
@given(st.data(), OPTIONS, st.sampled_from([1 << 20, 50]))
def test_what_was_encoded_comes_back(data: st.DataObject, options: CanalJsonOptions, block: int) -> None:
    table = data.draw(tables())
    rows = data.draw(changes(table))
    text = CanalJsonEncoder(options).encode(as_batch(table, rows)).to_pybytes()
    want = pa.Table.from_batches([as_batch(table, carried(table, rows, options)).data])
    assert decoded(text, table, options, block).to_pylist() == want.to_pylist()


TABLE = TableSchema(
    "s",
    "t",
    1,
    1,
    (
        Column(1, "id", parse_type("bigint"), False, True),
        Column(2, "v", parse_type("varchar(20)")),
        Column(3, "b", parse_type("varbinary(20)")),
        Column(4, "n", parse_type("int"), False),
    ),
    pk_is_handle=True,
)


def image(at: int, text: str | None = "x", held: bytes | None = b"\xff", number: int = 7) -> dict[str, Any]:
    return {"id": at, "v": text, "b": held, "n": number}


ROWS = [
    Row(INSERT, 440_000_000_000_000_001, None, image(1, 'a"b\\<\u2028🚀')),
    Row(UPDATE, 440_000_000_000_000_002, image(1, None, b"\0\x1f"), image(1, "", None)),
    Row(INSERT, 440_000_000_000_000_002, None, image(2, None, None, -5)),
    Row(DELETE, 440_000_000_000_000_003, image(2, "gone"), None),
]


def slow(text: bytes) -> list[tuple[Any, ...]] | None:
    """What the rows say when each is read alone by Python's parser; None: one of them is no row."""
    found = []
    for each in text.split(b"\n")[:-1] if text.endswith(b"\n") else text.split(b"\n"):
        try:
            row = understood(each, TABLE, stamped=True)
            old = {**row.data, **(row.old or {})} if row.type == "UPDATE" else None
            found.append((row.type, row.commit_ts, _values(row.data), old and _values(old)))
        except (BadRow, UnicodeEncodeError, ValueError):
            return None
    return found


def _values(said: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {"id": None, "v": None, "b": None, "n": None} | dict(said)
    for name in ("id", "n"):
        value: Any = whole[name]
        if (value is None and name in said) or (value is not None and str(int(value)) != value):
            raise ValueError(name)
        whole[name] = value and int(value)
    if not -(1 << 31) <= (whole["n"] or 0) < 1 << 31 or not -(1 << 63) <= (whole["id"] or 0) < 1 << 63:
        raise ValueError("range")
    whole["b"] = None if whole["b"] is None else whole["b"].encode("latin-1")
    return whole


def fast(text: bytes) -> list[tuple[Any, ...]] | None:
    try:
        rows = decoded(text, TABLE).to_pylist()
    except DecodeError:
        return None
    kinds = {INSERT: "INSERT", UPDATE: "UPDATE", DELETE: "DELETE"}
    return [
        (
            kinds[row["op"]],
            row["commit_ts"],
            row["before"] if row["op"] == DELETE else row["after"],
            row["before"] if row["op"] == UPDATE else None,
        )
        for row in rows
    ]


ALPHABET = b'{}[]",:\\0123456789null-truefalse uxb\n\r\t\x00\xff\xc3'


@settings(max_examples=600, deadline=None)
@given(st.data())
def test_a_mutated_text_is_refused_or_means_what_its_json_says(data: st.DataObject) -> None:
    text = bytearray(written(TABLE, ROWS, FORM))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        kind = data.draw(st.sampled_from(["set", "cut", "add", "swap"]))
        byte = data.draw(st.sampled_from(sorted(set(ALPHABET))))
        if kind == "set":
            text[at] = byte
        elif kind == "cut":
            del text[at : at + data.draw(st.sampled_from([1, 1, 2, 12]))]
        elif kind == "add":
            text.insert(at, byte)
        else:
            other = data.draw(st.integers(0, len(text) - 1))
            text[at], text[other] = text[other], text[at]
    found, said = fast(bytes(text)), slow(bytes(text))
    # the order of mysqlType means nothing, so nothing is read from it; all else is what its JSON says
    assert found == said or (found is not None and found == slow(_mended(bytes(text))))


def _mended(text: bytes) -> bytes:
    """The rows with the one map whose inside is only summed up put right again."""
    good = written(TABLE, ROWS, FORM).split(b'"mysqlType":')[1].split(b',"old"')[0]
    parts = text.split(b'"mysqlType":')
    return b'"mysqlType":'.join(
        [
            parts[0],
            *(good + b',"old"' + part.split(b',"old"', 1)[1] if b',"old"' in part else part for part in parts[1:]),
        ]
    )


def test_rows_of_another_layout_are_read_too() -> None:
    lines = [json.loads(each) for each in written(TABLE, ROWS, FORM).splitlines()]
    want = fast(written(TABLE, ROWS, FORM))
    shuffled = [dict(random.Random(at).sample(sorted(each.items()), len(each))) for at, each in enumerate(lines)]
    assert fast("\n".join(json.dumps(each) for each in shuffled).encode()) == want
    assert fast("\n".join(json.dumps(each, ensure_ascii=False, indent=None) for each in lines).encode()) == want
    mixed = [
        written(TABLE, [row], FORM).decode() if at % 2 else json.dumps(shuffled[at]) + "\n"
        for at, row in enumerate(ROWS)
    ]
    assert fast("".join(mixed).encode()) == want


def test_the_order_of_the_type_map_is_free() -> None:
    text = written(TABLE, ROWS, FORM).replace(
        b'"mysqlType":{"id":"bigint","v":"varchar"', b'"mysqlType":{"v":"varchar","id":"bigint"', 2
    )
    assert text != written(TABLE, ROWS, FORM)
    assert fast(text) == fast(written(TABLE, ROWS, FORM))


def test_the_last_row_may_lack_its_terminator() -> None:
    text = written(TABLE, ROWS, FORM)
    assert fast(text[:-1]) == fast(text)
    assert fast(b"") == []


def test_rows_that_were_written_twice_are_batches_of_their_own() -> None:
    text = written(TABLE, ROWS + ROWS, FORM)
    batches = list(CanalJsonDecoder(FORM).decode(pa.py_buffer(text), TABLE, "f"))
    assert [batch.num_rows for batch in batches] == [4, 4]


def test_an_update_has_the_old_values_that_were_left_out() -> None:
    options = CanalJsonOptions(enable_tidb_extension=True, only_output_updated_columns=True, terminator="\n")
    rows = [Row(UPDATE, 5 << 18, image(1, "same", b"1", 2), image(1, "same", None, 3))]
    got = decoded(written(TABLE, rows, options), TABLE, options).to_pylist()
    assert got[0]["before"] == image(1, "same", b"1", 2)
    rows = [Row(UPDATE, 5 << 18, image(1), image(1))]
    assert b'"old":[{}]' in written(TABLE, rows, options)
    assert decoded(written(TABLE, rows, options), TABLE, options).to_pylist()[0]["before"] == image(1)


GOOD = line(TABLE, ROWS[2], FORM)
WRONG: list[tuple[str, str, str]] = [
    ('"database":"s"', '"database":"other"', "database is 'other'"),
    ('"table":"t"', '"table":"u"', "table is 'u'"),
    ('"isDdl":false', '"isDdl":true', "type is 'INSERT' (isDdl True)"),
    ('"type":"INSERT"', '"type":"UPSERT"', "type is 'UPSERT'"),
    ('"type":"INSERT"', '"type":"UPDATE"', "old must be a list"),
    ('"old":null', '"old":[{"id":"2"}]', "old must be null"),
    ('"v":null,"b":null,', '"b":null,', "data has no column 'v'"),
    ('"v":null,', '"v":null,"v":null,', "the key 'v' is there twice"),
    ('"v":null,', '"v":null,"w":null,', "a column 'w', which the table does not have"),
    ('"v":null,', '"v":5,', "holds 5 in column v"),
    ('"v":null,', '"v":nul,', "it is no JSON"),
    ('"v":null,', '"v":"\\x",', "an escape is none of JSON"),
    ('"v":null,', '"v":"\\ud800",', "an escape is none of JSON"),
    ('"v":null,', '"v":"\x01",', "it is no JSON"),
    ('"b":null', '"b":"☃"', "a character is no byte"),
    ('"n":"-5"', '"n":null', "column n is NULL"),
    ('"n":"-5"', '"n":"2147483648"', "column n holds 2147483648"),
    ('"n":"-5"', '"n":"-05"', "column n holds '-05'"),
    ('"n":"-5"', '"n":"1.0"', "column n holds '1.0'"),
    ('"n":"-5"', '"n":""', "column n holds ''"),
    ('"id":"2"', '"id":"9223372036854775808"', "column id holds"),
    ('{"commitTs":440000000000000002}', '{"commitTs":"1"}', "commitTs is '1'"),
    ('{"commitTs":440000000000000002}', '{"commitTs":9999999999999999999}', "commitTs is larger than 64 bits hold"),
    ('{"commitTs":440000000000000002}', "{}", "commitTs is None"),
    ('{"commitTs":440000000000000002}', '{"commitTs":1,"onlyHandleKey":true}', "only the handle key"),
    (',"_tidb":{"commitTs":440000000000000002}', "", "_tidb.commitTs is missing"),
    ("}}", "}", "it is no JSON"),
    ("}}", "}}}", "it is no JSON"),
]


@pytest.mark.parametrize(("before", "after", "reason"), WRONG)
def test_a_damaged_row_is_refused_by_file_and_row(before: str, after: str, reason: str) -> None:
    bad = GOOD[: GOOD.rindex(before)] + after + GOOD[GOOD.rindex(before) + len(before) :]
    for text in (f"{GOOD}\n{bad}\n{GOOD}\n", f"{GOOD}\n" * 1 + bad):
        with pytest.raises(DecodeError) as caught:
            decoded(text.encode(), TABLE)
        assert reason in str(caught.value)
        assert "f.json row 2" in str(caught.value) and "s.t" in str(caught.value)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    text = GOOD.encode().replace(b'"v":null', b'"v":"\xff"')
    with pytest.raises(DecodeError, match="not UTF-8"):
        decoded(text, TABLE)


@pytest.mark.parametrize("text", [b"\n", b"null\n", b"[]\n", b"{\n", b"x", GOOD.encode()[:-30], b"[" * 100_000])
def test_what_is_no_row_is_refused(text: bytes) -> None:
    with pytest.raises(DecodeError, match="row 2"):
        decoded(GOOD.encode() + b"\n" + text, TABLE)


def test_members_must_be_those_of_the_column() -> None:
    columns = (Column(1, "e", parse_type("enum('a','b')")), Column(2, "s", parse_type("set('x','y')")))
    table = TableSchema("s", "t", 1, 1, columns)
    for good in ({"e": 0, "s": 0}, {"e": 2, "s": 3}, {"e": None, "s": None}):
        rows = [Row(INSERT, 5, None, good)]
        assert decoded(written(table, rows, FORM), table).to_pylist()[0]["after"] == good
    for bad in ({"e": 3, "s": 0}, {"e": 0, "s": 4}):
        with pytest.raises(DecodeError, match="it must be 0 to"):
            decoded(written(table, [Row(INSERT, 5, None, bad)], FORM), table)


@pytest.mark.parametrize("terminator", ["", "|", "end"])
def test_a_terminator_that_json_may_hold_is_refused(terminator: str) -> None:
    with pytest.raises(ConfigError, match=r"sink\.terminator"):
        CanalJsonDecoder(CanalJsonOptions(terminator=terminator))


def test_another_terminator_than_the_file_has_is_refused() -> None:
    text = written(TABLE, ROWS, FORM)
    with pytest.raises(DecodeError, match="row 1"):
        decoded(text, TABLE, CanalJsonOptions(terminator="\r\n"))
