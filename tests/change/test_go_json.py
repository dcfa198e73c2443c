"""JSON as Go writes it: escapes, numbers, layout."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.change.go_json import Json, quote, render

_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(_values)
def test_any_reader_of_json_gets_the_value_back(value: Json) -> None:
    assert json.loads(render(value)) == value


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("\n\r\t", '"\\n\\r\\t"'),
        ("\b\f\x00\x1f", '"\\u0008\\u000c\\u0000\\u001f"'),
        ("<&>", '"\\u003c\\u0026\\u003e"'),
        ("\u2028\u2029", '"\\u2028\\u2029"'),
        ("/\x7fé表😀", '"/\x7fé表😀"'),
        (b"a\xffb\xc3\xa9", '"a\\ufffdbé"'),
        (b"\xe4\xb8", '"\\ufffd\\ufffd"'),
        ("\ufffd", '"\ufffd"'),
    ],
)
def test_strings_are_escaped_as_go_escapes_them(text: str | bytes, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (12345678.0, "12345678"),
        (3.14, "3.14"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-7"),
        (1e-6, "0.000001"),
        (-2.5e300, "-2.5e+300"),
        (0.1, "0.1"),
    ],
)
def test_numbers_have_gos_form(number: float, text: str) -> None:
    assert render(number) == text


def test_the_layout_is_four_spaces_and_no_line_break_at_the_end() -> None:
    assert render({"a": [1, None], "b": [], "c": {}}) == (
        '{\n    "a": [\n        1,\n        null\n    ],\n    "b": [],\n    "c": {}\n}'
    )
