"""Objects of JSON, one a row, to columns: read by Arrow against the schema that they must have.

Strict: a key that the schema does not have, a key that is there twice, a value of another kind, a control character
and bytes that are no UTF-8 are Malformed and name the row. A missing key and a NULL are the same here. Nothing here
loops over rows; what fails is looked for by halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json as arrow_json

from tailrace.codec.grid import Malformed

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.integer[Any]]
_SPARE = 8


def read_rows(data: Bytes, starts: Places, ends: Places, schema: pa.Schema) -> pa.Table:
    """A row for each text from its start to its end."""
    text, borders = _lines(data, starts, ends)
    _check_bytes(text, borders)
    try:
        return _read(text, schema, len(starts))
    except pa.ArrowInvalid:
        pass
    low, size = 0, len(starts)
    while size > 1:
        half = size // 2
        try:
            _read(text[borders[low] : borders[low + half]], schema, half)
        except pa.ArrowInvalid:
            size = half
        else:
            low, size = low + half, size - half
    try:
        _read(text[borders[low] : borders[low + 1]], schema, 1)
    except pa.ArrowInvalid as wrong:
        why = str(wrong).partition(" in row ")[0].removeprefix("JSON parse error: ")
        raise Malformed(low, f"its JSON cannot be read: {why}") from None
    raise Malformed(low, "its JSON cannot be read together with that of its neighbours")


def _read(text: Bytes, schema: pa.Schema, rows: int) -> pa.Table:
    if not rows:
        return schema.empty_table()
    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
    reading = arrow_json.ReadOptions(use_threads=False, block_size=min(len(text) + _SPARE, (1 << 31) - 1))
    found = arrow_json.read_json(pa.BufferReader(pa.py_buffer(text)), reading, options)
    if found.num_rows != rows:
        raise pa.ArrowInvalid(f"{found.num_rows} objects where {rows} should be")
    return found.select(schema.names).combine_chunks()


def _lines(data: Bytes, starts: Places, ends: Places) -> tuple[Bytes, Places]:
    """The texts, a line break behind each, and where each begins."""
    sizes = ends - starts
    borders = np.concatenate([[0], np.cumsum(sizes + 1)])
    text = np.full(int(borders[-1]), ord("\n"), np.uint8)
    inside = np.ones(len(text), np.bool_)
    inside[borders[1:] - 1] = False
    if len(starts) and (gap := _even_gap(starts, ends)) is not None:
        source = data[int(starts[0]) : int(ends[-1])]
        if gap == 0:
            text[inside] = source
        else:
            kept = np.ones(len(source), np.bool_)
            for at in range(gap):
                kept[ends[:-1] - starts[0] + at] = False
            text[inside] = source[kept]
    else:
        shift = np.repeat(starts - borders[:-1], sizes + 1)
        places = (np.arange(len(text)) + shift)[inside]
        text[inside] = data[places]
    return text, borders


def _even_gap(starts: Places, ends: Places) -> int | None:
    gaps = starts[1:] - ends[:-1]
    if not len(gaps):
        return 0
    first = int(gaps[0])
    return first if 0 <= first <= _SPARE and (gaps == first).all() else None


def _check_bytes(text: Bytes, borders: Places) -> None:
    controls = np.flatnonzero(text < 0x20)
    if len(controls) >= len(borders):
        strange = np.setdiff1d(controls, borders[1:] - 1, assume_unique=True)
        row = int(np.searchsorted(borders, strange[0], "right")) - 1
        raise Malformed(row, "it holds a control character, which JSON has only as an escape")
    buffers = [None, pa.py_buffer(np.array([0, len(text)])), pa.py_buffer(text)]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except pa.ArrowInvalid:
        _refuse(text, borders)


def _refuse(text: Bytes, borders: Places) -> None:
    """Names the row of the first byte that is no UTF-8; the caller knows that there is one."""
    try:
        text.tobytes().decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise Malformed(int(np.searchsorted(borders, wrong.start, "right")) - 1, "it is not UTF-8") from None
