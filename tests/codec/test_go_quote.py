"""Quoting bytes as Go does loses nothing, and is what obvious code for one value makes."""

from __future__ import annotations

import json
import unicodedata

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.codec.go_quote import go_quoted, go_unquoted

_SHORT = {"\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}
_SHORT |= {'"': '\\"', "\\": "\\\\"}
BYTES = st.binary(max_size=20) | st.text(max_size=8).map(lambda text: text.encode("utf-8", "ignore"))


def quoted(value: bytes) -> str:
    text = ""
    for char in value.decode("utf-8", "surrogateescape"):
        if "\udc80" <= char <= "\udcff":
            text += f"\\x{ord(char) - 0xDC00:02x}"
        elif char in _SHORT:
            text += _SHORT[char]
        elif char == " " or unicodedata.category(char)[0] in "LMNPS":
            text += char
        elif ord(char) < 0x80:
            text += f"\\x{ord(char):02x}"
        else:
            text += f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
    return text


@given(st.lists(st.none() | BYTES, max_size=6))
def test_any_bytes_are_quoted_as_one_by_one_and_come_back(values: list[bytes | None]) -> None:
    made = go_quoted(pa.array([b"before", *values], pa.binary())[1:])
    texts = [None if each is None else json.loads(b'"' + each + b'"') for each in made.to_pylist()]
    assert texts == [None if each is None else quoted(each) for each in values]
    back, wrong = go_unquoted(pa.array(texts, pa.string()).cast(pa.binary()))
    assert wrong == -1 and back.to_pylist() == values


@given(st.lists(st.text(alphabet='\\xuUab0f"n', max_size=12), min_size=1, max_size=4))
def test_a_text_that_go_does_not_write_is_refused_or_means_bytes(texts: list[str]) -> None:
    back, wrong = go_unquoted(pa.array(texts, pa.string()).cast(pa.binary()))
    if wrong >= 0:
        assert "\\" in texts[wrong]
        return
    back.validate(full=True)
    again, fine = go_unquoted(pa.array([quoted(each) for each in back.to_pylist()]).cast(pa.binary()))
    assert fine == -1 and again.to_pylist() == back.to_pylist()
