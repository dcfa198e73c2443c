"""JSON documents: TiDB's text and TiDB's binary form, a type code and then the value.

    object  = count u32, size u32, keys (offset u32, length u16) each, values (code, offset u32) each, keys, values
    array   = count u32, size u32, values (code, offset u32) each, values
    string  = length as a varint, UTF-8;  opaque = field type, length as a varint, bytes
    i64, u64, f64, date and time 8 bytes, duration 12 bytes, little-endian;  literals stand inside their entry

Keys are sorted by their bytes, offsets count from the start of their object or array. The text has ", " and ": ".
A document is converted by itself; its caller does that once for each distinct document. Bytes that point outside
of their document, or codes that are unknown, are errors.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

OBJECT, ARRAY, LITERAL, INT, UINT, FLOAT, STRING = 0x01, 0x03, 0x04, 0x09, 0x0A, 0x0B, 0x0C
OPAQUE, DATE, DATETIME, TIMESTAMP, DURATION = 0x0D, 0x0E, 0x0F, 0x10, 0x11
MAX_DEPTH = 100
_LITERALS: dict[int, str] = {0: "null", 1: "true", 2: "false"}
_HEAD = struct.Struct("<II")
_KEY = struct.Struct("<IH")
_ENTRY = struct.Struct("<BI")
_ESCAPES = {ord(c): t for c, t in zip('"\\\n\r\t\b\f', ('\\"', "\\\\", "\\n", "\\r", "\\t", "\\b", "\\f"), strict=True)}
_ESCAPES = {i: f"\\u{i:04x}" for i in range(32)} | _ESCAPES | {0x2028: "\\u2028", 0x2029: "\\u2029"}


def pack(text: str) -> bytes:
    """The binary form of a document's text; ValueError where it is none."""
    document = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_refuse)
    code, value = _packed(document, 0)
    return bytes([code]) + value


def unpack(data: bytes) -> str:
    """The text of a document's binary form; ValueError where it is none."""
    if not data:
        raise ValueError("an empty JSON document")
    try:
        text, end = _text(data[0], data, 1, 0)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"a JSON document that breaks off or is no UTF-8 ({error})") from error
    if end != len(data):
        raise ValueError(f"a JSON document of {end} bytes in {len(data)}")
    return text


def _integer(digits: str) -> int | float:
    """TiDB's choice: signed, unsigned, else double. A minus zero is the text of a double only."""
    if digits == "-0":
        return -0.0
    number = int(digits) if len(digits) < 21 else 1 << 64
    return number if -(1 << 63) <= number < 1 << 64 else _finite(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the JSON number {digits[:40]} is out of range")
    return number


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _packed(value: object, depth: int) -> tuple[int, bytes]:
    """The type code and the bytes of a parsed value."""
    if value is None or isinstance(value, bool):
        return LITERAL, bytes([0 if value is None else 1 if value else 2])
    if isinstance(value, str):
        data = _utf8(value)
        return STRING, _varint(len(data)) + data
    if isinstance(value, int):
        return (INT, struct.pack("<q", value)) if value < 1 << 63 else (UINT, struct.pack("<Q", value))
    if isinstance(value, float):
        return FLOAT, struct.pack("<d", value)
    if depth >= MAX_DEPTH:
        raise ValueError(f"a JSON document deeper than {MAX_DEPTH}")
    if isinstance(value, list):
        return ARRAY, _container([], value, depth)
    assert isinstance(value, dict)
    fields = sorted(((_utf8(key), item) for key, item in value.items()), key=lambda field: field[0])
    return OBJECT, _container([key for key, _ in fields], [item for _, item in fields], depth)


def _container(keys: list[bytes], values: list[object], depth: int) -> bytes:
    """An array, or an object of as many keys."""
    names = b"".join(keys)
    offset = _HEAD.size + _KEY.size * len(keys) + _ENTRY.size * len(values)
    heads, entries, bodies = [], [], []
    for key in keys:
        if len(key) > 0xFFFF:
            raise ValueError(f"a JSON key of {len(key)} bytes is longer than 65535")
        heads.append(_KEY.pack(offset, len(key)))
        offset += len(key)
    for value in values:
        code, body = _packed(value, depth + 1)
        entries.append(_ENTRY.pack(code, body[0] if code == LITERAL else offset))
        if code != LITERAL:
            bodies.append(body)
            offset += len(body)
    return b"".join([_HEAD.pack(len(values), offset), *heads, *entries, names, *bodies])


def _text(code: int, data: bytes, start: int, depth: int) -> tuple[str, int]:
    """The text of the value at `start`, and where it ends."""
    if code in (OBJECT, ARRAY):
        return _container_text(code, data, start, depth)
    if code == LITERAL:
        return _literal(data[start]), start + 1
    if code in (STRING, OPAQUE):
        size, body = _read_varint(data, start + (code == OPAQUE))
        if body + size > len(data):
            raise IndexError(f"a string of {size} bytes")
        raw = data[body : body + size]
        plain = quoted(raw.decode()) if code == STRING else _opaque(data[start], raw)
        return plain, body + size
    if code == DURATION:
        nanos, _ = struct.unpack_from("<qI", data, start)
        return _duration(nanos), start + 12
    if code in _FIXED:
        layout, write = _FIXED[code]
        return write(struct.unpack_from(layout, data, start)[0]), start + 8
    raise ValueError(f"the JSON type code {code:#x} is unknown")


def _container_text(code: int, data: bytes, base: int, depth: int) -> tuple[str, int]:
    """An object's or array's text. Its values stand in order and do not overlap, so that no bytes are read twice."""
    if depth >= MAX_DEPTH:
        raise ValueError(f"a JSON document deeper than {MAX_DEPTH}")
    count, size = _HEAD.unpack_from(data, base)
    keys = count if code == OBJECT else 0
    entry = base + _HEAD.size + _KEY.size * keys
    free, end = entry + _ENTRY.size * count, base + size
    if end > len(data) or free > end:
        raise IndexError(f"{count} values in {size} bytes")
    names = []
    for i in range(keys):
        offset, length = _KEY.unpack_from(data, base + _HEAD.size + _KEY.size * i)
        free = _inside(base + offset, free, end) + length
        names.append(quoted(data[base + offset : free].decode()) + ": ")
    parts = []
    for i in range(count):
        kind, offset = _ENTRY.unpack_from(data, entry + _ENTRY.size * i)
        if kind == LITERAL:
            parts.append(_literal(offset & 0xFF))
            continue
        text, free = _text(kind, data, _inside(base + offset, free, end), depth + 1)
        parts.append(text)
    if free > end:
        raise IndexError(f"values end {free - end} bytes behind their container")
    if code == ARRAY:
        return f"[{', '.join(parts)}]", end
    return f"{{{', '.join(map(''.join, zip(names, parts, strict=True)))}}}", end


def _inside(place: int, free: int, end: int) -> int:
    if not free <= place <= end:
        raise IndexError(f"an offset to {place} outside of {free} to {end}")
    return place


def _utf8(text: str) -> bytes:
    """UTF-8; half a surrogate pair becomes U+FFFD, as in Go."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("a JSON length of more than 64 bits")


def quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _literal(code: int) -> str:
    if code not in _LITERALS:
        raise ValueError(f"the JSON literal {code:#x} is unknown")
    return _LITERALS[code]


def _opaque(kind: int, raw: bytes) -> str:
    return f'"base64:type{kind}:{base64.b64encode(raw).decode()}"'


def _float(value: float) -> str:
    """The shortest digits that read back the same, with an exponent outside of 1e-6 to 1e21, as ECMAScript has it."""
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"the JSON number {value} is out of range")
    exact = Decimal(repr(value)).normalize()
    if not value or 1e-6 <= abs(value) < 1e21:
        return f"{exact:f}"
    digits, _, exponent = f"{exact:e}".partition("e")
    return f"{digits}e{int(exponent):+}"


def _clock(bits: int) -> tuple[str, str]:
    """Date and clock of TiDB's core time, which is a field of bits and not the packed form of a column."""
    year, month, day = bits >> 50, bits >> 46 & 15, bits >> 41 & 31
    hour, minute, second, micros = bits >> 36 & 31, bits >> 30 & 63, bits >> 24 & 63, bits >> 4 & 0xFFFFF
    return f"{year:04}-{month:02}-{day:02}", f"{hour:02}:{minute:02}:{second:02}.{micros:06}"


def _date(bits: int) -> str:
    return f'"{_clock(bits)[0]}"'


def _datetime(bits: int) -> str:
    return '"{} {}"'.format(*_clock(bits))


def _duration(nanos: int) -> str:
    seconds, rest = divmod(abs(nanos), 1_000_000_000)
    sign = "-" if nanos < 0 else ""
    return f'"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest // 1000:06}"'


_FIXED: dict[int, tuple[str, Callable[[Any], str]]] = {
    INT: ("<q", str),
    UINT: ("<Q", str),
    FLOAT: ("<d", _float),
    DATE: ("<Q", _date),
    DATETIME: ("<Q", _datetime),
    TIMESTAMP: ("<Q", _datetime),
}
