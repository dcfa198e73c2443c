"""ENUM and SET: member numbers and bit masks to text, and back.

Text is never truncated or guessed: a number without a member is an EncodeError, a text that is no member becomes NULL
for the caller to refuse. Sets are walked once per distinct value.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.types import ColumnType
from tailrace.errors import EncodeError


def enum_text(values: pa.UInt16Array, kind: ColumnType, name: str) -> pa.StringArray:
    """The members' names; a number without a member, 0 among them, is an EncodeError."""
    span = pc.min_max(values).as_py()
    if span["min"] is not None and not 1 <= span["min"] <= span["max"] <= len(kind.elems):
        wrong = span["min"] if span["min"] < 1 else span["max"]
        raise EncodeError(f"column {name} holds member {wrong} of an enum that has members 1 to {len(kind.elems)}")
    return pa.array(kind.elems, pa.string()).take(pc.subtract(values, pa.scalar(1, pa.uint16())))


def set_text(values: pa.UInt64Array, kind: ColumnType, name: str) -> pa.StringArray:
    """The members' names in the order of the definition, joined by commas; a bit without a member is an EncodeError."""
    coded = values.dictionary_encode()
    top = pc.max(coded.dictionary).as_py()
    if top is not None and top >> len(kind.elems):
        raise EncodeError(f"column {name} holds the bits {top:#x} of a set that has {len(kind.elems)} members")
    texts = [_chosen(mask, kind.elems) for mask in coded.dictionary.to_pylist()]
    return pa.array(texts, pa.string()).take(coded.indices)


def _chosen(mask: int, elems: tuple[str, ...]) -> str:
    return ",".join(member for at, member in enumerate(elems) if mask >> at & 1)


def enum_numbers(text: pa.StringArray, kind: ColumnType) -> pa.UInt16Array:
    """The members' numbers; NULL for what is no member."""
    return pc.add(pc.index_in(text, value_set=pa.array(kind.elems, pa.string())), 1).cast(pa.uint16())


def set_masks(text: pa.StringArray, kind: ColumnType) -> pa.UInt64Array:
    """The bit masks; NULL for what is no set of members, each once and in their order."""
    coded = text.dictionary_encode()
    bits = {member: 1 << at for at, member in enumerate(kind.elems)}
    return pa.array([_mask(each, bits) for each in coded.dictionary.to_pylist()], pa.uint64()).take(coded.indices)


def _mask(text: str, bits: dict[str, int]) -> int | None:
    mask = 0
    for member in text.split(",") if text else ():
        bit = bits.get(member, 0)
        if bit <= mask:
            return None
        mask |= bit
    return mask
