"""VECTOR values: a count and as many 32-bit floats, little-endian; their text is [1,2.5], without exponents.

A value is converted by itself; its caller does that once for each distinct value.
"""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal

import numpy as np

MAX_DIMENSIONS = 16_383


def pack(text: str) -> bytes:
    """The binary form of a vector's text; ValueError where it is none."""
    values = json.loads(text, parse_constant=_refuse)
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ValueError("a vector is written as a list of numbers")
    if len(values) > MAX_DIMENSIONS:
        raise ValueError(f"a vector has at most {MAX_DIMENSIONS} dimensions")
    try:
        return struct.pack(f"<I{len(values)}f", len(values), *values)
    except (OverflowError, struct.error) as error:
        raise ValueError(f"a number of a vector does not fit 32 bits ({error})") from error


def unpack(data: bytes) -> str:
    """The text of a vector's binary form; ValueError where it is none."""
    if len(data) < 4 or len(data) != 4 + 4 * struct.unpack_from("<I", data)[0]:
        raise ValueError(f"a vector of {len(data)} bytes does not hold what its count says")
    return f"[{','.join(map(_plain, np.frombuffer(data, '<f4', offset=4)))}]"


def _plain(value: np.float32) -> str:
    if not math.isfinite(value):
        raise ValueError(f"{value} in a vector")
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    return f"{Decimal(str(value)).normalize():f}"


def _refuse(word: str) -> float:
    raise ValueError(f"{word} in a vector")
