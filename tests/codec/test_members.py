"""Members of enums and sets: text and numbers say the same, or one is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.change.types import ColumnType
from tailrace.codec.members import enum_numbers, enum_text, set_masks, set_text
from tailrace.errors import EncodeError
from tests.codec.csv.reference import FLAGS, MEMBERS

ENUM = ColumnType("enum", elems=MEMBERS)
SET = ColumnType("set", elems=FLAGS)
WIDEST = ColumnType("set", elems=tuple(f"m{at}" for at in range(64)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.integers(1, len(MEMBERS)), max_size=9))
def test_an_enum_comes_back_from_its_text(numbers: list[int | None]) -> None:
    text = enum_text(pa.array(numbers, pa.uint16()), ENUM, "e")
    assert text.to_pylist() == [None if each is None else MEMBERS[each - 1] for each in numbers]
    assert enum_numbers(text, ENUM).to_pylist() == numbers


@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.integers(0, (1 << 64) - 1), max_size=9))
def test_a_set_of_64_members_comes_back_from_its_text(masks: list[int | None]) -> None:
    text = set_text(pa.array(masks, pa.uint64()), WIDEST, "s")
    assert set_masks(text, WIDEST).to_pylist() == masks


def test_a_set_is_its_members_in_the_order_of_the_definition() -> None:
    assert set_text(pa.array([0, 5, None, 2], pa.uint64()), SET, "s").to_pylist() == ["", 'a,c"', None, "b b"]


@pytest.mark.parametrize("text", ["x", "a,x", "b b,a", "a,a", ",a", "a,", ","])
def test_text_that_is_no_set_of_members_is_null(text: str) -> None:
    assert set_masks(pa.array([text]), SET).to_pylist() == [None]


def test_text_that_is_no_member_is_null() -> None:
    assert enum_numbers(pa.array(["RED", "red", "red ", None]), ENUM).to_pylist() == [None, 1, None, None]


def test_a_number_without_a_member_is_refused() -> None:
    with pytest.raises(EncodeError, match="column e holds member 0"):
        enum_text(pa.array([1, 0], pa.uint16()), ENUM, "e")
    with pytest.raises(EncodeError, match="column e holds member 8"):
        enum_text(pa.array([8, None], pa.uint16()), ENUM, "e")
    with pytest.raises(EncodeError, match="column s holds the bits 0x20"):
        set_text(pa.array([32], pa.uint64()), SET, "s")
