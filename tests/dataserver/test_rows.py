"""Rows: both forms give back what was put in, and sortable keys sort as the keys do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.dataserver.rows import Rows, ascending, from_arrow, from_flat, positions, sort_keys
from tailrace.errors import DecodeError, SchemaMismatch
from tests.dataserver.stores import key

Row = tuple[int, bytes, bytes | None, bytes | None]
ROW = st.tuples(
    st.integers(0, 2), st.binary(min_size=1, max_size=30), st.none() | st.binary(max_size=40), st.none() | st.binary()
)


def made(rows: list[Row]) -> Rows:
    op, *columns = zip(*rows, strict=True)
    return Rows(np.array(op, np.uint8), *(pa.array(column, pa.binary()) for column in columns))


def listed(rows: Rows) -> list[Row]:
    columns = (rows.key.to_pylist(), rows.value.to_pylist(), rows.before.to_pylist())
    return list(zip(rows.op.tolist(), *columns, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(ROW, min_size=1, max_size=7), min_size=1, max_size=8), st.binary(max_size=9))
def test_many_flat_payloads_are_read_at_once_whatever_lies_between_them(pages: list[list[Row]], junk: bytes) -> None:
    payloads = [made(page).to_flat() for page in pages]
    data = junk + junk.join(payloads)
    starts = np.cumsum([len(junk)] + [len(payload) + len(junk) for payload in payloads[:-1]])
    found = from_flat(np.frombuffer(data, np.uint8), starts, np.array([len(page) for page in pages]))
    assert listed(found) == [row for page in pages for row in page]


@settings(max_examples=30, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=9))
def test_the_arrow_form_gives_back_its_rows(page: list[Row]) -> None:
    assert listed(from_arrow(made(page).to_arrow(), "here")) == page


def test_a_page_that_is_not_arrow_is_refused_with_its_place() -> None:
    with pytest.raises(DecodeError, match="page 5"):
        from_arrow(b"nonsense", "page 5")


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1, max_size=20, unique=True))
def test_integer_keys_sort_as_their_handles(handles: list[int]) -> None:
    keys = sort_keys(pa.array([key(handle) for handle in handles]), common_handle=False)
    assert np.argsort(keys).tolist() == np.argsort(np.array(handles)).tolist()


@given(st.lists(st.binary(min_size=8, max_size=8).map(lambda head: head + b"\xff" * (head[0] % 5)), min_size=1))
def test_other_keys_sort_as_bytes(found: list[bytes]) -> None:
    keys = sort_keys(pa.array(sorted(found)), common_handle=True)
    assert np.array_equal(keys, np.sort(keys))
    assert ascending(keys) == (len(set(found)) == len(found))


def test_a_key_that_is_no_integer_handle_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="19 bytes"):
        sort_keys(pa.array([key(1), b"short"]), common_handle=False)


def test_positions_finds_what_is_there_and_nothing_else() -> None:
    within = np.array([2, 4, 4, 9], np.uint64)
    assert positions(within, np.array([1, 2, 4, 5, 9, 10], np.uint64)).tolist() == [-1, 0, 2, -1, 3, -1]
