"""Checksums of whole columns are those of the library, value by value."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.route.partition.checksum import WIDEST, checksums
from tailrace.route.partition.integers import integer_checksums
from tailrace.route.partition.values import column_checksums

BYTES = st.binary(max_size=40) | st.integers(WIDEST - 2, WIDEST + 2).map(lambda size: b"\xff" * size)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=9), st.lists(BYTES, max_size=20), st.integers(0, 5))
def test_every_value_has_the_checksum_of_its_bytes(prefix: bytes, values: list[bytes], skipped: int) -> None:
    column = pa.array(values, pa.binary()).slice(skipped)
    assert checksums(prefix, column).tolist() == [zlib.crc32(prefix + value) for value in values[skipped:]]


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=9), st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_every_signed_integer_has_the_checksum_of_its_text(prefix: bytes, values: list[int]) -> None:
    got = integer_checksums(prefix, np.array(values, np.int64))
    assert got.tolist() == [zlib.crc32(prefix + str(value).encode()) for value in values]


def test_integers_at_every_power_of_ten_have_the_checksum_of_their_text() -> None:
    near = [10**power + step for power in range(20) for step in (-1, 0, 1)] + [(1 << 64) - 1]
    got = integer_checksums(b"k", np.array(near, np.uint64))
    assert got.tolist() == [zlib.crc32(b"k" + str(value).encode()) for value in near]


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        ([1, None, -1], pa.int8(), ["1", "null", "-1"]),
        ([0, None, 65535], pa.uint16(), ["0", "null", "65535"]),
        ([1e21, None, -1e-6, 1.5], pa.float64(), ["1000000000000000000000", "null", "-0.000001", "1.5"]),
        ([3.14, None], pa.float32(), ["3.14", "null"]),
        (["", None, "null", "日本"], pa.string(), ["", "null", "null", "日本"]),
        (["\x00", None], pa.string(), ["\x00", "null"]),
    ],
)
def test_a_value_is_hashed_as_its_text(values: list[object], kind: pa.DataType, texts: list[str]) -> None:
    got = column_checksums("é", pa.array(values, kind))
    assert got.tolist() == [zlib.crc32(f"é{text}".encode()) for text in texts]


def test_a_column_longer_than_one_pass_is_hashed_to_its_end() -> None:
    numbers = np.arange(40_000) * 7919
    assert (
        column_checksums("n", pa.array(numbers)).tolist()
        == column_checksums("n", pa.array(numbers).cast(pa.string())).tolist()
    )
