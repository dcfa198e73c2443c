"""The inside of JSON strings is what a writer of one string at a time makes of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.go_json import quote
from tailrace.codec import escapes
from tailrace.codec.escapes import escaped, latin1_escaped, needing_escape

ODD = st.sampled_from(
    ['"', "\\", "<", ">", "&", "\n", "\t", "\x00", "\x1f", "\x7f", "\u2027", "\u2028", "\u2029", "🚀", "é"]
)
TEXT = st.text(st.one_of(ODD, st.characters(exclude_categories=["Cs"])), max_size=12)


def inside(value: str | bytes | None) -> bytes | None:
    return None if value is None else quote(value)[1:-1].encode()


def column(values: list[bytes | None]) -> pa.StringArray:
    """A string column whose bytes nobody has checked."""
    held = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(held), held.buffers())


def rewritten(text: pa.Array) -> list[bytes | None]:
    """What an encoder makes of a column: values that need no escape as they are."""
    places = needing_escape(text)
    whole = text.cast(pa.binary()).to_pylist() if len(text) else []
    for place, value in zip(places.tolist(), escaped(text.take(pa.array(places))).to_pylist(), strict=True):
        whole[place] = value
    return whole


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | TEXT, max_size=8), st.integers(0, 3))
def test_text_is_escaped_as_one_value_at_a_time(values: list[str | None], skipped: int) -> None:
    text = pa.array(values, pa.string()).slice(skipped)
    want = [inside(each) for each in values[skipped:]]
    assert rewritten(text) == want
    assert escaped(text).to_pylist() == want


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.binary(max_size=8) | TEXT.map(str.encode), max_size=8))
def test_bytes_that_are_not_utf8_become_the_replacement(values: list[bytes | None]) -> None:
    assert rewritten(column(values)) == [inside(each) for each in values]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.none() | st.binary(max_size=12), max_size=8), st.integers(0, 3))
def test_bytes_are_characters_of_the_same_number(values: list[bytes | None], skipped: int) -> None:
    want = [None if each is None else inside(each.decode("latin-1")) for each in values[skipped:]]
    assert latin1_escaped(pa.array(values, pa.binary()).slice(skipped)).to_pylist() == want


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_the_size_of_blocks_changes_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(escapes, "_BLOCK", block)
    values = ["", 'a"b', "\u2028", "x" * 9, "", "\n\n", "é<", ""]
    assert escaped(pa.array(values)).to_pylist() == [inside(each) for each in values]
    assert rewritten(pa.array(values)) == [inside(each) for each in values]


def test_values_longer_than_a_block() -> None:
    random = np.random.default_rng(2)
    values = [random.bytes(300_000), b"", random.bytes(140_000), b"<" * 131_072]
    assert latin1_escaped(pa.array(values)).to_pylist() == [inside(each.decode("latin-1")) for each in values]
    text = ["ab&" * 100_000, "\u2029" * 50_000]
    assert rewritten(pa.array(text)) == [inside(each) for each in text]


def test_most_values_need_nothing() -> None:
    plain = pa.array(["plain", "日本語", None, "", "a'b/c", 'quo"te', "≠"])
    assert 5 in needing_escape(plain) and not {0, 1, 2, 3, 4} & set(needing_escape(plain).tolist())
