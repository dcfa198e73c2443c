"""JSON must be TiDB's bytes and TiDB's text, and bytes that are no document must be refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.upstream.rowcodec import binary_json


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("null", "04 00"),
        ("true", "04 01"),
        ("false", "04 02"),
        ("3", "09 0300000000000000"),
        ("-1", "09 ffffffffffffffff"),
        ("18446744073709551615", "0a ffffffffffffffff"),
        ("3.0", "0b 0000000000000840"),
        ('"hello"', "0c 05 68656c6c6f"),
        ("[]", "03 00000000 08000000"),
        ("{}", "01 00000000 08000000"),
        ('{"a": 1}', "01 01000000 1c000000 13000000 0100 09 14000000 61 0100000000000000"),
        ("[true, 1]", "03 02000000 1a000000 04 01000000 09 12000000 0100000000000000"),
    ],
)
def test_documents_are_these_bytes_and_this_text(text: str, data: str) -> None:
    assert binary_json.pack(text) == bytes.fromhex(data)
    assert binary_json.unpack(bytes.fromhex(data)) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e15, "1e15"),
        (123456789012345.0, "123456789012345.0"),
        (1.5e300, "1.5e300"),
        (1e-15, "0.000000000000001"),
        (9.9e-16, "9.9e-16"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e308"),
    ],
)
def test_doubles_are_written_as_tidb_writes_them(number: float, text: str) -> None:
    assert binary_json.unpack(b"\x0b" + struct.pack("<d", number)) == text


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x0d\x0f\x03abc", '"base64:type15:YWJj"'),
        (b"\x0e" + struct.pack("<Q", 2020 << 50 | 2 << 46 | 3 << 41), '"2020-02-03"'),
        (
            b"\x0f" + struct.pack("<Q", 2020 << 50 | 2 << 46 | 3 << 41 | 4 << 36 | 5 << 30 | 6 << 24 | 7 << 4),
            '"2020-02-03 04:05:06.000007"',
        ),
        (b"\x11" + struct.pack("<qI", -3_723_000_000_500, 6), '"-01:02:03.000000"'),
    ],
)
def test_values_that_json_text_has_no_word_for(data: bytes, text: str) -> None:
    assert binary_json.unpack(data) == text


def test_keys_are_sorted_by_their_bytes_and_the_last_of_a_name_wins() -> None:
    assert binary_json.unpack(binary_json.pack('{"b":1,"aa":2,"ä":3,"b":4,"":5}')) == '{"": 5, "aa": 2, "b": 4, "ä": 3}'


def test_text_is_escaped_as_go_escapes_it() -> None:
    text = '"\\"\\\\/\\n\\r\\t\\b\\f\\u0001\\u001f\x7f<>&\\u2028 ä🚀"'
    assert binary_json.unpack(binary_json.pack(text)) == text
    assert binary_json.unpack(binary_json.pack('"\\ud800x"')) == '"\ufffdx"'


@pytest.mark.parametrize("text", ["", "{", "nul", "NaN", "Infinity", "1e999", "[1,]", "1 2", '{"a":1,}', "01", "'a'"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        binary_json.pack(text)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda tail: b"\x01\x01\0\0\0\x1c\0\0\0" + tail))
def test_random_bytes_are_refused_or_are_a_document(data: bytes) -> None:
    try:
        text = binary_json.unpack(data)
    except ValueError:
        return
    assert isinstance(text, str)


def test_containers_that_share_their_bytes_are_refused() -> None:
    inner = b"\x03" + struct.pack("<II", 0, 8)
    entry = b"\x03" + struct.pack("<I", 18)
    document = b"\x03" + struct.pack("<II", 2, 26) + entry + entry + inner[1:]
    with pytest.raises(ValueError, match="outside of"):
        binary_json.unpack(document)


def test_a_document_deeper_than_tidb_allows_is_refused() -> None:
    assert binary_json.pack("[" * 100 + "]" * 100)
    with pytest.raises(ValueError, match="deeper than 100"):
        binary_json.pack("[" * 101 + "]" * 101)
