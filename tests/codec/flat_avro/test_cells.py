"""Kernels of short values, each against the obvious code for one value."""

from __future__ import annotations

import struct
from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.codec.flat_avro.cells import decimal_cells, fixed_cells, unsigned_cells, varint_cells, zigzag
from tests.codec.flat_avro.reference import counted, varint

_EDGES = [bound + near for size in range(64) for bound in (1 << size, -(1 << size)) for near in (-1, 0, 1)]
_LONGS = st.sampled_from([each for each in _EDGES if -(1 << 63) <= each < 1 << 63]) | st.integers(
    -(1 << 63), (1 << 63) - 1
)
_HEADS = st.sampled_from([None, 0, 2])


def odd(cells: pa.BinaryArray) -> list[bytes]:
    cells.validate(full=True)
    values: list[bytes] = cells.to_pylist()
    return values[1::2]


def heads_of(head: int | None, count: int) -> np.ndarray | None:
    return None if head is None else np.full(count, head, np.uint8)


@given(st.lists(_LONGS, max_size=30) | st.lists(st.integers(-300, 300), max_size=30), _HEADS)
def test_varints_are_those_of_one_number_at_a_time(values: list[int], head: int | None) -> None:
    cells = varint_cells(zigzag(np.array(values, np.int64)), heads_of(head, len(values)))
    before = b"" if head is None else bytes([head])
    assert odd(cells) == [before + varint(value) for value in values]


def test_every_length_of_a_varint_is_written() -> None:
    values = [each for each in _EDGES if -(1 << 63) <= each < 1 << 63]
    assert odd(varint_cells(zigzag(np.array(values, np.int64)))) == [varint(value) for value in values]
    assert {len(varint(value)) for value in values} == set(range(1, 11))


@given(st.lists(st.sampled_from([0, 255, 256, (1 << 64) - 1]) | st.integers(0, (1 << 64) - 1), max_size=20), _HEADS)
def test_unsigned_numbers_are_their_shortest_bytes(values: list[int], head: int | None) -> None:
    cells = unsigned_cells(np.array(values, np.uint64), heads_of(head, len(values)))
    before = b"" if head is None else bytes([head])
    shortest = [value.to_bytes(max((value.bit_length() + 7) // 8, 1), "big") for value in values]
    assert odd(cells) == [before + counted(each) for each in shortest]


@given(st.data(), st.sampled_from([(18, 6), (38, 0), (38, 38), (65, 30)]), _HEADS)
def test_decimals_are_their_shortest_twos_complement(
    data: st.DataObject, kind: tuple[int, int], head: int | None
) -> None:
    precision, scale = kind
    top = 10**precision - 1
    edges = [each for size in range(0, 216, 4) for each in (1 << size, -(1 << size), ~(1 << size)) if abs(each) <= top]
    numbers = data.draw(st.lists(st.sampled_from(edges) | st.integers(-top, top), max_size=20))
    wanted = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    exact = Context(prec=80)
    values = pa.array([exact.scaleb(Decimal(number), -scale) for number in numbers], wanted)
    cells = decimal_cells(values, heads_of(head, len(numbers)))
    before = b"" if head is None else bytes([head])
    shortest = [
        number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)
        for number in numbers
    ]
    assert odd(cells) == [before + counted(each) for each in shortest]
    assert odd(decimal_cells(values[1:], heads_of(head, len(values[1:])))) == [
        before + counted(e) for e in shortest[1:]
    ]


@given(st.lists(st.floats(width=32), max_size=20), _HEADS)
def test_floats_are_their_little_endian_bytes(values: list[float], head: int | None) -> None:
    before = b"" if head is None else bytes([head])
    heads = heads_of(head, len(values))
    assert odd(fixed_cells(np.array(values, np.float32), heads)) == [
        before + struct.pack("<f", each) for each in values
    ]
    assert odd(fixed_cells(np.array(values, np.float64), heads)) == [
        before + struct.pack("<d", each) for each in values
    ]
