"""JSON strings are read as Python's own reader reads one at a time."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.codec.escapes import escaped, latin1_escaped
from tailrace.codec.unescape import latin1_bytes, unescaped

SIMPLE = ["a", "é", "🚀", "u0041", "\\\\", '\\"', "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\\\u0041"]
CODES = ["\\u0041", "\\u00fF", "\\u2028", "\\ufffd", "\\ud83d\\ude00", "\\u0000"]
PART = st.sampled_from(SIMPLE + CODES)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(PART, max_size=6).map("".join), max_size=6))
def test_every_escape_is_undone(values: list[str]) -> None:
    found, wrong = unescaped(pa.array([each.encode() for each in values], pa.binary()))
    assert wrong == -1
    assert found.to_pylist() == [json.loads(f'"{each}"').encode() for each in values]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=10), max_size=6))
def test_what_was_escaped_comes_back(values: list[str]) -> None:
    found, wrong = unescaped(escaped(pa.array(values, pa.string())))
    assert (found.to_pylist(), wrong) == ([each.encode() for each in values], -1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=10), max_size=6))
def test_bytes_come_back(values: list[bytes]) -> None:
    text, _ = unescaped(latin1_escaped(pa.array(values, pa.binary())))
    found, wrong = latin1_bytes(text)
    assert (found.to_pylist(), wrong) == (values, -1)


@pytest.mark.parametrize(
    "value", ["\\", "a\\", "\\x", "\\u", "\\u12", "\\u12g4", "\\ud83d", "\\ude00", "\\ud83dx\\ude00", "\\\\\\", "\\'"]
)
def test_what_is_no_escape_is_named(value: str) -> None:
    values = pa.array([b"\\n", b"fine", value.encode(), b"u0041\\n"])
    assert unescaped(values)[1] == 2


@pytest.mark.parametrize("value", ["Ā", "a☃", "🚀"])
def test_characters_that_are_no_bytes_are_named(value: str) -> None:
    assert latin1_bytes(pa.array([b"a", "ÿ".encode(), value.encode(), b""]))[1] == 2


def test_damaged_utf8_is_no_bytes() -> None:
    for value in (b"\xc3", b"\x80", b"\xc0\x80", b"\xc3\xc3", b"\xff"):
        assert latin1_bytes(pa.array([b"\xc3\xbf", value, b"\x62"]))[1] == 1
    split = pa.array([b"\xc3", b"\xbf"])
    assert latin1_bytes(split)[1] in (0, 1)


def test_nulls_stay() -> None:
    values = pa.array([None, "ÿ".encode(), None, b"x"])
    assert latin1_bytes(values)[0].to_pylist() == [None, b"\xff", None, b"x"]
    assert latin1_bytes(values.slice(1))[0].to_pylist() == [b"\xff", None, b"x"]
