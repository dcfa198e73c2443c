"""The checksum of a column's name and value, as TiCDC hashes them.

A value is its text: numbers of ENUM, SET and BIT as numbers; floats with their shortest digits and never an exponent;
text, binary, times and decimals as they are; NULL is the word `null`. Over a whole column.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.floats import fixed_text
from tailrace.route.partition.checksum import Checksums, checksums
from tailrace.route.partition.integers import integer_checksums

NULL = b"null"


def column_checksums(name: str, values: pa.Array) -> Checksums:
    """One checksum for each row."""
    prefix = name.encode()
    if pa.types.is_integer(values.type):
        filled = pc.fill_null(values, 0) if values.null_count else values
        found = integer_checksums(prefix, filled.to_numpy(zero_copy_only=False))
    else:
        text = fixed_text(values) if pa.types.is_floating(values.type) else values
        filled = (
            pc.fill_null(text, pa.scalar(b"" if pa.types.is_binary(text.type) else "", text.type))
            if text.null_count
            else text
        )
        found = checksums(prefix, filled)
    if values.null_count:
        found[values.is_null().to_numpy(zero_copy_only=False)] = np.uint32(zlib.crc32(prefix + NULL))
    return found
