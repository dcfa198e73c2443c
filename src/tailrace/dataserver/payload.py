"""Payloads: the rows of a log record as bytes, in the form that suits their number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.dataserver.rows import FLAT_ROWS, Rows, from_arrow, from_flat
from tailrace.dataserver.wal import Form

_FLAT_BYTES = 64 << 10


def encode(rows: Rows) -> tuple[Form, memoryview]:
    if len(rows) <= FLAT_ROWS:
        flat = rows.to_flat()
        if len(flat) <= _FLAT_BYTES:
            return Form.FLAT, memoryview(flat)
    return Form.ARROW, memoryview(rows.to_arrow())


def decode(form: Form, count: int, data: bytes, place: str) -> Rows:
    if form == Form.ARROW:
        return from_arrow(pa.py_buffer(data), place)
    return from_flat(np.frombuffer(data, np.uint8), np.zeros(1, np.int64), np.array([count]))
