"""The text of a row's handle: what TiDB calls `kv.Handle.String()`.

An integer key is its signed number; a clustered key of several columns, or of other types, is `{a, b}` with the text
of what stands in the *key* (a collation's weights, a date as the packed number); any other table has a hidden row id,
which a batch carries in a hidden column where its upstream knows it. What cannot be told from the row is an
EncodeError, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.floats import fixed_text
from tailrace.change.schema import Column, TableSchema
from tailrace.errors import EncodeError

_PADDED = frozenset({"utf8mb4_bin", "utf8_bin", "ascii_bin", "latin1_bin"})
_EXACT = frozenset({"binary", "utf8mb4_0900_bin"})
_GENERAL = frozenset({"utf8mb4_general_ci", "utf8_general_ci"})


def handle_text(table: TableSchema, image: Mapping[str, pa.Array]) -> pa.BinaryArray:
    """The handles of rows, from the columns of the image that identifies them."""
    if table.common_handle:
        return _common(table, image)
    key = table.handle_key[0] if table.pk_is_handle and table.handle_key else ""
    hidden = next((column.name for column in table.row_columns if column.hidden), "")
    if not key and not hidden:
        raise EncodeError(
            "rows of a table without a clustered key have a handle only where a hidden column carries their row id; "
            "leave output-handle-key off",
            table=table.full_name,
        )
    values = image[key or hidden]
    signed = values.view(pa.int64()) if pa.types.is_uint64(values.type) else values
    return signed.cast(pa.string()).cast(pa.binary())


def _common(table: TableSchema, image: Mapping[str, pa.Array]) -> pa.BinaryArray:
    index = next((index for index in table.indexes if index.primary), None)
    if index is None:
        raise EncodeError("the clustered key of the table is not in its schema", table=table.full_name)
    parts: list[pa.Array | pa.Scalar] = []
    for name, size in zip(index.columns, index.prefixes or (-1,) * len(index.columns), strict=True):
        column = table.column(name)
        assert column is not None
        parts += [pa.scalar(b", " if parts else b"{"), _key_text(table, column, image[name], size)]
    return pc.binary_join_element_wise(*parts, pa.scalar(b"}"), pa.scalar(b""))


def _key_text(table: TableSchema, column: Column, values: pa.Array, size: int) -> pa.BinaryArray:
    kind = column.type
    if kind.is_binary:
        return values if size < 0 else pc.binary_slice(values, 0, size)
    if kind.is_text:
        text = values if size < 0 else pc.utf8_slice_codeunits(values, 0, size)
        if kind.collation in _PADDED | _EXACT:
            return (text if kind.collation in _EXACT else pc.ascii_rtrim(text, " ")).cast(pa.binary())
        if kind.collation in _GENERAL and pc.all(pc.string_is_ascii(text)).as_py() is not False:
            return _general_weights(pc.ascii_rtrim(text, " "))
    elif kind.name in _TEXTS:
        return _TEXTS[kind.name](values).cast(pa.binary())
    elif pa.types.is_integer(values.type) or kind.name == "decimal":
        return values.cast(pa.string()).cast(pa.binary())
    what = f"collation {kind.collation}" if kind.is_text else f"type {kind.name}"
    raise EncodeError(
        f"the handle holds column {column.name}, of a {what} that it has no text for", table=table.full_name
    )


def _general_weights(text: pa.StringArray) -> pa.BinaryArray:
    """Two bytes a character; for ASCII that is the capital letter behind a zero."""
    return pc.replace_substring_regex(pc.ascii_upper(text).cast(pa.binary()), b"(?s)(.)", b"\0\\1")


def _packed_moment(text: pa.StringArray) -> pa.StringArray:
    """A date's or datetime's number in a key: `((year * 13 + month) << 5 | day) << 17 | time`, then microseconds."""
    year, month, day, hour, minute, second, micro = (
        pc.if_else(pc.equal(part, ""), "0", part).cast(pa.int64()) for part in pc.extract_regex(text, _MOMENT).flatten()
    )
    micro = pc.multiply(micro, _power(text))
    days = pc.add(pc.shift_left(pc.add(pc.multiply(year, 13), month), 5), day)
    clock = pc.add(pc.add(pc.shift_left(hour, 12), pc.shift_left(minute, 6)), second)
    return pc.add(pc.shift_left(pc.add(pc.shift_left(days, 17), clock), 24), micro).cast(pa.string())


def _power(text: pa.StringArray) -> pa.Int64Array:
    """What a fraction's digits must be multiplied with to be microseconds."""
    digits = pc.max_element_wise(pc.subtract(pc.binary_length(text), 20), 0)
    return pa.array([10 ** (6 - count) for count in range(7)], pa.int64()).take(digits)


def _six_digits(text: pa.StringArray) -> pa.StringArray:
    """A time with all six digits after the point."""
    zeros = pa.array(["000000"[count:] if count else ".000000" for count in range(7)])
    return pc.binary_join_element_wise(
        text, zeros.take(pc.binary_length(pc.extract_regex(text, _FRACTION).field(0))), ""
    )


def _key_float(values: pa.Array) -> pa.StringArray:
    """A key holds every float as one of 64 bits."""
    return fixed_text(values.cast(pa.float64()))


_MOMENT = r"^(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?: (?P<h>\d\d):(?P<i>\d\d):(?P<s>\d\d)(?:\.(?P<f>\d+))?)?$"
_FRACTION = r"^[^.]*\.?(?P<f>\d*)$"
_TEXTS: dict[str, Callable[[pa.Array], pa.StringArray]] = {
    "date": _packed_moment,
    "datetime": _packed_moment,
    "time": _six_digits,
    "float": _key_float,
    "double": _key_float,
}
