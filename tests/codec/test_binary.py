"""base64 and hex of columns are those of the standard library, value by value, and only canonical text comes back."""

from __future__ import annotations

import base64

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.codec.binary import base64_bytes, base64_text, hex_bytes, hex_text

VALUES = st.lists(st.none() | st.binary(max_size=10), max_size=12)


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(0, 5))
def test_base64_of_a_column_is_that_of_each_value(values: list[bytes | None], skipped: int) -> None:
    column = pa.array(values, pa.binary()).slice(min(skipped, len(values)))
    want = [None if each is None else base64.b64encode(each).decode() for each in column.to_pylist()]
    text = base64_text(column)
    assert text.to_pylist() == want
    back, wrong = base64_bytes(text.cast(pa.binary()))
    assert wrong == -1
    assert back.to_pylist() == column.to_pylist()


@settings(max_examples=60, deadline=None)
@given(VALUES, st.integers(0, 5))
def test_hex_of_a_column_is_that_of_each_value(values: list[bytes | None], skipped: int) -> None:
    column = pa.array(values, pa.binary()).slice(min(skipped, len(values)))
    text = hex_text(column)
    assert text.to_pylist() == [None if each is None else each.hex() for each in column.to_pylist()]
    back, wrong = hex_bytes(text.cast(pa.binary()))
    assert wrong == -1
    assert back.to_pylist() == column.to_pylist()


@pytest.mark.parametrize(
    "bad", [b"Zm9", b"Zm9vY", b"Zm 9", b"Zm9-", b"====", b"Z===", b"=m9v", b"Zm=v", b"Zh==", b"Zm9="]
)
@pytest.mark.parametrize("around", [[b"Zm9v"], [b"", b"Zg=="], []])
def test_what_is_no_canonical_base64_is_named_by_its_place(bad: bytes, around: list[bytes]) -> None:
    _, wrong = base64_bytes(pa.array([*around, bad, *around], pa.binary()))
    assert wrong == len(around)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text("AZaz09+/=-", max_size=8), min_size=1, max_size=4))
def test_base64_is_taken_exactly_where_its_encoding_is_the_same_text(texts: list[str]) -> None:
    good = []
    for text in texts:
        try:
            good.append(base64.b64encode(base64.b64decode(text, validate=True)).decode() == text)
        except ValueError:
            good.append(False)
    _, wrong = base64_bytes(pa.array([text.encode() for text in texts], pa.binary()))
    assert (wrong == -1) == all(good)
    assert wrong == -1 or not good[wrong]


@pytest.mark.parametrize("bad", [b"0", b"0g", b"AB", b"0x", b"1 "])
def test_what_is_no_lower_case_hex_is_named_by_its_place(bad: bytes) -> None:
    _, wrong = hex_bytes(pa.array([b"00", b"", bad, b"ff"], pa.binary()))
    assert wrong == 2
