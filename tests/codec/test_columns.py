"""Kernels over columns do what a loop over their values would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.floats import fixed_text, float_text
from tailrace.codec.columns import first_refused, replace_in, shown
from tests.codec.csv.reference import FLOAT32, FLOAT64, TEXT, go_float


@settings(max_examples=80, deadline=None)
@given(st.lists(st.none() | FLOAT64, max_size=10))
def test_doubles_are_printed_as_go_prints_them(values: list[float | None]) -> None:
    want = [None if each is None else go_float(each, single=False) for each in values]
    assert float_text(pa.array(values, pa.float64())).to_pylist() == want


@settings(max_examples=80, deadline=None)
@given(st.lists(st.none() | FLOAT32, max_size=10))
def test_floats_are_printed_with_the_digits_of_32_bits(values: list[float | None]) -> None:
    want = [None if each is None else go_float(each, single=True) for each in values]
    assert float_text(pa.array(values, pa.float32())).to_pylist() == want


def test_floats_of_every_exponent_are_printed_as_go_prints_them() -> None:
    random = np.random.default_rng(3)
    doubles = np.ldexp(random.random(2046) + 1, np.arange(-1022, 1024)) * random.choice([-1.0, 1.0], 2046)
    assert float_text(pa.array(doubles)).to_pylist() == [go_float(each, False) for each in doubles.tolist()]
    singles = np.ldexp((random.random(254) + 1).astype(np.float32), np.arange(-126, 128))
    assert float_text(pa.array(singles)).to_pylist() == [go_float(each, True) for each in singles.tolist()]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999999.9, "999999.9"),
        (1e6, "1e+06"),
        (1000000.5, "1.0000005e+06"),
        (123456.7, "123456.7"),
        (0.00012345, "0.00012345"),
        (0.000012345, "1.2345e-05"),
        (-0.0, "-0"),
        (5e-324, "5e-324"),
        (1e300, "1e+300"),
        (100000.0, "100000"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_known_doubles(value: float, text: str) -> None:
    assert float_text(pa.array([value])).to_pylist() == [text]


def test_the_smallest_and_largest_of_32_bits() -> None:
    values = pa.array(np.array([3.4028235e38, 1.1754944e-38, 1e-45, 1e-4, 999999.94, 16777216], np.float32))
    want = ["3.4028235e+38", "1.1754944e-38", "1e-45", "0.0001", "999999.94", "1.6777216e+07"]
    assert float_text(values).to_pylist() == want


def test_fixed_text_has_no_exponent() -> None:
    assert fixed_text(pa.array([1e21, None, 1e-7, 2.5])).to_pylist() == [
        "1000000000000000000000",
        None,
        "0.0000001",
        "2.5",
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | TEXT, max_size=8), st.sampled_from(['"', "||", "\\", "é"]))
def test_replacing_touches_every_occurrence_and_no_null(texts: list[str | None], needle: str) -> None:
    column = pa.array(texts, pa.string())
    want = [None if each is None else each.replace(needle, "<>") for each in texts]
    assert replace_in(column, needle, "<>").to_pylist() == want


@pytest.mark.parametrize("place", range(7))
def test_the_first_value_that_cannot_be_cast_is_found(place: int) -> None:
    texts = ["1", None, "3", "4", "5", "6", "7"]
    texts[place] = "x"
    assert first_refused(pa.array([*texts, "y"], pa.string()), pa.int64()) == place


def test_any_bytes_can_be_shown() -> None:
    damaged = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"a\xff")]
    )
    assert shown(damaged, 0) == "'a\\\\xff'"
    assert len(shown(pa.array(["x" * 500]), 0)) < 80
