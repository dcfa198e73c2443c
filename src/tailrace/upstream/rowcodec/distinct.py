"""Values that are converted one by one, but once for each distinct value of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.upstream.rowcodec.cells import BadCell


def convert_each(convert: Callable[[Any], Any], values: pa.Array, kind: pa.DataType) -> pa.Array:
    """`convert` of every value; a ValueError becomes the BadCell of the first cell that has the value."""
    coded = values.dictionary_encode()
    results = []
    for number, value in enumerate(coded.dictionary.to_pylist()):
        try:
            results.append(convert(value))
        except (ValueError, RecursionError) as error:
            raise BadCell(pc.index(coded.indices, number).as_py(), str(error)) from error
    return pa.array(results, kind).take(coded.indices)
