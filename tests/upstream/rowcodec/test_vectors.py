"""Vectors must be 32-bit floats behind their count, and the text that TiDB shows."""

from __future__ import annotations

import pytest

from tailrace.upstream.rowcodec import vectors


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("[]", "00000000"),
        ("[1,2.5]", "02000000 0000803f 00002040"),
        ("[-0.1]", "01000000 cdccccbd"),
        ("[10000000000]", "01000000 f9021550"),
        ("[0.000001]", "01000000 bd378635"),
    ],
)
def test_vectors_are_these_bytes_and_this_text(text: str, data: str) -> None:
    assert vectors.pack(text) == bytes.fromhex(data)
    assert vectors.unpack(bytes.fromhex(data)) == text


@pytest.mark.parametrize("data", ["", "01000000", "01000000 0000", "01000000 0000c07f", "01000000 0000803f 00"])
def test_bytes_that_are_no_vector_are_refused(data: str) -> None:
    with pytest.raises(ValueError, match="vector"):
        vectors.unpack(bytes.fromhex(data))


@pytest.mark.parametrize("text", ["", "1", "[true]", '["1"]', "[NaN]", "[1e39]", "[" + "1," * 16383 + "1]"])
def test_texts_that_are_no_vector_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="."):
        vectors.pack(text)
