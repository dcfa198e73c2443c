"""The text of floats, as Go prints them: dispatching hashes it and the codecs write it.

Guarantees the shortest digits that read back as the same float of the same width. Kernels over a whole column; NULLs
stay NULL, and NaN and infinity, which no column of a database holds, are not looked after.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_FLOAT_PARTS = r"^(?P<sign>-?)(?P<whole>\d+)\.?(?P<part>\d*)(?:e(?P<power>[+-]?\d+))?$"


def is_plain_float(values: pa.Array) -> pa.BooleanArray:
    """Where Go prints a float without an exponent, which is where Arrow's own text is Go's."""
    size = pc.abs(values)
    low, high = pa.scalar(1e-4, pa.float64()).cast(values.type), pa.scalar(1e6, values.type)
    plain = pc.and_(pc.greater_equal(size, low), pc.less(size, high))
    return pc.or_(plain, pc.equal(size, pa.scalar(0, values.type)))


def float_text(values: pa.Array) -> pa.StringArray:
    """Floats as Go's `%v` prints them: shortest digits, an exponent below 1e-4 and from 1e6 on."""
    text = values.cast(pa.string())
    odd = pc.fill_null(pc.invert(is_plain_float(values)), False)
    if not pc.any(odd).as_py():
        return text
    return pc.replace_with_mask(text, odd, _scientific(text.filter(odd)))


def fixed_text(values: pa.Array) -> pa.StringArray:
    """Floats without an exponent, however long that gets: Go's `'f'` with the shortest digits of their width."""
    text, size = values.cast(pa.string()), pc.abs(values)
    low, high = pa.scalar(1e-5, pa.float64()).cast(values.type), pa.scalar(1e9, values.type)
    odd = pc.or_(pc.less(size, low), pc.greater_equal(size, high))
    odd = pc.fill_null(pc.and_(odd, pc.not_equal(size, pa.scalar(0, values.type))), False)
    if not pc.any(odd).as_py():
        return text
    return pc.replace_with_mask(text, odd, _positional(text.filter(odd)))


def json_float_text(values: pa.Array) -> pa.StringArray:
    """Floats as Go's encoding/json prints them: those of `float_json_text`, no zero leading in an exponent."""
    return pc.replace_substring(float_json_text(values), "e-0", "e-")


def float_json_text(values: pa.Array) -> pa.StringArray:
    """Floats with the shortest digits, an exponent below 1e-6 and from 1e21 on."""
    size = pc.abs(values)
    low, high = pa.scalar(1e-6, pa.float64()).cast(values.type), pa.scalar(1e21, pa.float64()).cast(values.type)
    odd = pc.or_(pc.less(size, low), pc.greater_equal(size, high))
    odd = pc.fill_null(pc.and_(odd, pc.not_equal(size, pa.scalar(0, values.type))), False)
    if not pc.any(odd).as_py():
        return fixed_text(values)
    plain = fixed_text(pc.if_else(odd, pa.scalar(0, values.type), values))
    powers = _scientific(values.filter(odd).cast(pa.string()))
    return pc.replace_with_mask(plain, odd, powers)


def _positional(text: pa.StringArray) -> pa.StringArray:
    """The same digits, with as many zeros around them as their exponent asks for."""
    sign, digits, exponent = _digits(text)
    ahead = pc.subtract(-1, pc.min_element_wise(exponent, 0))
    behind = pc.max_element_wise(pc.subtract(exponent, pc.subtract(pc.binary_length(digits), 1)), 0)
    zeros = pa.array(["0" * count for count in range(350)], pa.string())
    small = pc.binary_join_element_wise("0.", zeros.take(pc.max_element_wise(ahead, 0)), digits, "")
    whole = pc.binary_join_element_wise(digits, zeros.take(behind), "")
    inside = pc.less(exponent, pc.subtract(pc.binary_length(digits), 1))
    for place in pc.unique(exponent.filter(pc.and_(inside, pc.greater_equal(exponent, 0)))).to_pylist():
        here = pc.and_(inside, pc.equal(exponent, place))
        some = digits.filter(here)
        first, rest = pc.utf8_slice_codeunits(some, 0, place + 1), pc.utf8_slice_codeunits(some, place + 1)
        whole = pc.replace_with_mask(whole, here, pc.binary_join_element_wise(first, rest, "."))
    return pc.binary_join_element_wise(sign, pc.if_else(pc.less(exponent, 0), small, whole), "")


def _digits(text: pa.StringArray) -> tuple[pa.StringArray, pa.StringArray, pa.Int32Array]:
    """Sign, digits without zeros around them, and the power of ten of the first digit."""
    sign, whole, part, power = pc.extract_regex(text, _FLOAT_PARTS).flatten()
    run = pc.binary_join_element_wise(whole, part, "")
    digits = pc.ascii_ltrim(run, "0")
    leading = pc.subtract(pc.binary_length(run), pc.binary_length(digits))
    given = pc.if_else(pc.equal(power, ""), "0", power)
    given = pc.ascii_ltrim(given, "+").cast(pa.int32())
    exponent = pc.add(pc.subtract(pc.subtract(pc.binary_length(whole), 1), leading), given)
    return sign, pc.ascii_rtrim(digits, "0"), exponent


def _scientific(text: pa.StringArray) -> pa.StringArray:
    """The same digits, laid out as `d.ddde+XX`."""
    sign, digits, exponent = _digits(text)
    first, rest = pc.utf8_slice_codeunits(digits, 0, 1), pc.utf8_slice_codeunits(digits, 1)
    point = pc.if_else(pc.equal(rest, ""), "", ".")
    letter = pc.if_else(pc.less(exponent, 0), "e-", "e+")
    size = pc.abs(exponent).cast(pa.string())
    size = pc.if_else(pc.less(pc.binary_length(size), 2), pc.binary_join_element_wise("0", size, ""), size)
    return pc.binary_join_element_wise(sign, first, point, rest, letter, size, "")
