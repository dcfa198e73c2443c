"""TiDB's row format v2 and keys for one row at a time, written from the format's description and nothing else.

Slow and obvious on purpose: the columnar code is checked against it. Values are those of the Arrow columns.
"""

from __future__ import annotations

import json
import struct
from typing import Any

from tailrace.change.schema import Column, TableSchema
from tailrace.change.types import ColumnType


def encode_row(table: TableSchema, row: dict[str, Any]) -> bytes:
    """The value of one row; TIMESTAMP in UTC."""
    present: list[tuple[int, bytes]] = []
    nulls: list[int] = []
    for column in sorted(table.row_columns, key=lambda column: column.id):
        if only_in_key(table, column):
            continue
        value = row[column.name]
        if value is not None:
            present.append((column.id, encode_cell(column.type, value)))
        elif column.default is not None or column.origin_default is not None:
            nulls.append(column.id)
    data = b"".join(cell for _, cell in present)
    ids = [number for number, _ in present] + nulls
    large = len(data) > 65535 or any(number > 255 for number in ids)
    out = struct.pack("<BBHH", 128, 1 if large else 0, len(present), len(nulls))
    out += struct.pack(f"<{len(ids)}{'I' if large else 'B'}", *ids)
    end = 0
    for _, cell in present:
        end += len(cell)
        out += struct.pack("<I" if large else "<H", end)
    return out + data


def decode_row(table: TableSchema, value: bytes) -> dict[str, Any]:
    """What the value of one row holds: column name to value, or None for NULL; absent columns are left out."""
    version, flags, present, nulls = struct.unpack_from("<BBHH", value)
    assert version == 128
    width, step = (4, 4) if flags & 1 else (1, 2)
    place = 6
    ids = [int.from_bytes(value[place + i * width :][:width], "little") for i in range(present + nulls)]
    place += width * len(ids)
    ends = [int.from_bytes(value[place + i * step :][:step], "little") for i in range(present)]
    data = value[place + step * present :]
    kinds = {column.id: column for column in table.row_columns}
    found: dict[str, Any] = {}
    for i, number in enumerate(ids):
        if number in kinds and i < present:
            cell = data[ends[i - 1] if i else 0 : ends[i]]
            found[kinds[number].name] = decode_cell(kinds[number].type, cell)
        elif number in kinds:
            found[kinds[number].name] = None
    return found


def encode_key(table: TableSchema, row: dict[str, Any], physical_id: int, row_id: int = 0) -> bytes:
    head = b"t" + sign_turned(physical_id) + b"_r"
    if not table.common_handle:
        pk = next((column for column in table.columns if column.pk), None)
        handle = row[pk.name] if table.pk_is_handle and pk else row_id
        return head + sign_turned(handle if handle < 1 << 63 else handle - (1 << 64))
    index = next(index for index in table.indexes if index.primary)
    prefixes = index.prefixes or (-1,) * len(index.columns)
    parts = b""
    for name, prefix in zip(index.columns, prefixes, strict=True):
        column = table.column(name)
        assert column is not None
        value = row[name] if prefix < 0 else row[name][:prefix]
        parts += encode_key_part(column.type, value)
    return head + parts.ljust(9, b"\0")


def encode_key_part(kind: ColumnType, value: Any) -> bytes:
    if kind.is_text or kind.is_binary:
        raw = value if kind.is_binary else value.rstrip(" ").encode()
        groups = [raw[i : i + 8] for i in range(0, len(raw) + 1, 8)]
        return b"\x01" + b"".join(group.ljust(8, b"\0") + bytes([247 + len(group)]) for group in groups)
    if kind.name == "decimal":
        return b"\x06" + encode_cell(kind, value)
    if kind.name in ("float", "double"):
        return b"\x05" + encode_cell(kind, value)
    if kind.name == "time":
        return b"\x07" + sign_turned(nanoseconds(value))
    if kind.name in ("date", "datetime", "timestamp"):
        return b"\x04" + struct.pack(">Q", packed_time(value))
    if (kind.is_integer and not kind.unsigned) or kind.name == "year":
        return b"\x03" + sign_turned(value)
    return b"\x04" + struct.pack(">Q", value)


def only_in_key(table: TableSchema, column: Column) -> bool:
    if column.id == -1:
        return True
    if table.pk_is_handle:
        return column.pk
    if not table.common_handle:
        return False
    index = next(index for index in table.indexes if index.primary)
    if column.name not in index.columns:
        return False
    prefix = dict(zip(index.columns, index.prefixes or (-1,) * len(index.columns), strict=True))[column.name]
    plain = not column.type.is_text or (column.type.name == "char" and column.type.collation.endswith("_bin"))
    return prefix < 0 and (plain or column.type.collation == "utf8mb4_0900_bin")


def sign_turned(value: int) -> bytes:
    return struct.pack(">Q", value + (1 << 63))


def encode_cell(kind: ColumnType, value: Any) -> bytes:
    if kind.is_text:
        return bytes(value.encode())
    if kind.is_binary:
        return bytes(value)
    if kind.name == "json":
        return encode_json(json.loads(value))
    if kind.name == "vector":
        numbers = json.loads(value)
        return struct.pack(f"<I{len(numbers)}f", len(numbers), *numbers)
    if kind.name in ("float", "double"):
        bits = struct.unpack(">Q", struct.pack(">d", value))[0]
        turned = bits | 1 << 63 if value >= 0 else ~bits & (1 << 64) - 1
        return struct.pack(">Q", turned)
    if kind.name == "decimal":
        return encode_decimal(value, kind.length, max(kind.scale, 0))
    if kind.name in ("date", "datetime", "timestamp"):
        return unsigned(packed_time(value))
    if kind.name == "time":
        return signed(nanoseconds(value))
    if (kind.is_integer and not kind.unsigned) or kind.name == "year":
        return signed(value)
    return unsigned(value)


def decode_cell(kind: ColumnType, cell: bytes) -> Any:
    if kind.is_text:
        return cell.decode()
    if kind.is_binary:
        return cell
    if kind.name == "json":
        return json.dumps(decode_json(cell[0], cell[1:]), ensure_ascii=False)
    if kind.name == "vector":
        (count,) = struct.unpack_from("<I", cell)
        return "[" + ",".join(f"{number:g}" for number in struct.unpack_from(f"<{count}f", cell, 4)) + "]"
    if kind.name in ("float", "double"):
        bits = struct.unpack(">Q", cell)[0]
        turned = bits & ~(1 << 63) if bits >> 63 else ~bits & (1 << 64) - 1
        number = struct.unpack(">d", struct.pack(">Q", turned))[0]
        # A FLOAT is stored as the double of a float; what is no such double is read as the float next to it.
        return struct.unpack("f", struct.pack("f", number))[0] if kind.name == "float" else number
    if kind.name == "decimal":
        return decode_decimal(cell, max(kind.scale, 0))
    if kind.name in ("date", "datetime", "timestamp"):
        return time_text(int.from_bytes(cell, "little"), kind.name != "date", kind.fraction)
    if kind.name == "time":
        return duration_text(int.from_bytes(cell, "little", signed=True), kind.fraction)
    is_signed = (kind.is_integer and not kind.unsigned) or kind.name == "year"
    return int.from_bytes(cell, "little", signed=is_signed)


def signed(value: int) -> bytes:
    width = next(width for width in (1, 2, 4, 8) if -(1 << 8 * width - 1) <= value < 1 << 8 * width - 1)
    return value.to_bytes(width, "little", signed=True)


def unsigned(value: int) -> bytes:
    return value.to_bytes(next(width for width in (1, 2, 4, 8) if value < 1 << 8 * width), "little")


WORD_BYTES = {0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 5: 3, 6: 3, 7: 4, 8: 4, 9: 4}


def encode_decimal(text: str, precision: int, scale: int) -> bytes:
    minus = text.startswith("-")
    whole, _, part = text.lstrip("-").partition(".")
    whole = whole.lstrip("0").rjust(precision - scale, "0") if precision > scale else ""
    out = bytearray()
    for word in words_of(whole, part):
        out += int(word).to_bytes(WORD_BYTES[len(word)], "big")
    if minus:
        out = bytearray(byte ^ 0xFF for byte in out)
    out[0] ^= 0x80
    return bytes([precision, scale]) + bytes(out)


def words_of(whole: str, part: str) -> list[str]:
    head = len(whole) % 9
    words = [whole[:head]] if head else []
    words += [whole[i : i + 9] for i in range(head, len(whole), 9)]
    return words + [part[i : i + 9] for i in range(0, len(part), 9)]


def decode_decimal(cell: bytes, scale: int) -> str:
    precision, own_scale = cell[0], cell[1]
    raw = bytearray(cell[2:])
    raw[0] ^= 0x80
    minus = raw[0] >= 0x80
    if minus:
        raw = bytearray(byte ^ 0xFF for byte in raw)
    digits, place = "", 0
    for word in words_of("0" * (precision - own_scale), "0" * own_scale):
        width = WORD_BYTES[len(word)]
        digits += str(int.from_bytes(raw[place : place + width], "big")).rjust(len(word), "0")
        place += width
    whole, part = digits[: precision - own_scale], digits[precision - own_scale :]
    text = (whole.lstrip("0") or "0") + (f".{part.ljust(scale, '0')}" if scale else "")
    return ("-" if minus else "") + text


def packed_time(text: str) -> int:
    date, _, clock = text.partition(" ")
    year, month, day = map(int, date.split("-"))
    plain, _, part = (clock or "00:00:00").partition(".")
    hour, minute, second = map(int, plain.split(":"))
    ymd = (year * 13 + month) << 5 | day
    return (ymd << 17 | hour << 12 | minute << 6 | second) << 24 | int(part.ljust(6, "0"))


def time_text(packed: int, clock: bool, fraction: int) -> str:
    micros, hms, ymd = packed % (1 << 24), packed >> 24 & (1 << 17) - 1, packed >> 41
    date = f"{(ymd >> 5) // 13:04}-{(ymd >> 5) % 13:02}-{ymd & 31:02}"
    if not clock:
        return date
    text = f"{date} {hms >> 12:02}:{hms >> 6 & 63:02}:{hms & 63:02}"
    return f"{text}.{f'{micros:06}'[:fraction]}" if fraction else text


def nanoseconds(text: str) -> int:
    plain, _, part = text.lstrip("-").partition(".")
    hour, minute, second = map(int, plain.split(":"))
    total = (hour * 3600 + minute * 60 + second) * 1_000_000_000 + int(part.ljust(9, "0"))
    return -total if text.startswith("-") else total


def duration_text(nanos: int, fraction: int) -> str:
    seconds, rest = divmod(abs(nanos), 1_000_000_000)
    text = f"{'-' if nanos < 0 else ''}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{f'{rest:09}'[:fraction]}" if fraction else text


def encode_json(value: Any) -> bytes:
    if value is None or isinstance(value, bool):
        return bytes([4, {None: 0, True: 1, False: 2}[value]])
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return b"\x09" + struct.pack("<q", value)
    if isinstance(value, int) and value < 1 << 64 and value > 0:
        return b"\x0a" + struct.pack("<Q", value)
    if isinstance(value, int | float):
        return b"\x0b" + struct.pack("<d", value)
    if isinstance(value, str):
        raw, size = value.encode(), b""
        left = len(raw)
        while left > 127:
            size += bytes([left & 127 | 128])
            left >>= 7
        return b"\x0c" + size + bytes([left]) + raw
    keys = sorted((key.encode(), key) for key in value) if isinstance(value, dict) else []
    items = [value[key] for _, key in keys] if isinstance(value, dict) else value
    offset = 8 + 6 * len(keys) + 5 * len(items)
    heads = b""
    for raw, _ in keys:
        heads += struct.pack("<IH", offset, len(raw))
        offset += len(raw)
    entries, bodies = b"", b""
    for item in items:
        encoded = encode_json(item)
        inline = encoded[0] == 4
        entries += bytes([encoded[0]]) + struct.pack("<I", encoded[1] if inline else offset + len(bodies))
        bodies += b"" if inline else encoded[1:]
    body = heads + entries + b"".join(raw for raw, _ in keys) + bodies
    code = b"\x01" if isinstance(value, dict) else b"\x03"
    return code + struct.pack("<II", len(items), 8 + len(body)) + body


def decode_json(code: int, body: bytes) -> Any:
    if code == 4:
        return {0: None, 1: True, 2: False}[body[0]]
    if code in (9, 10, 11):
        return struct.unpack_from({9: "<q", 10: "<Q", 11: "<d"}[code], body)[0]
    if code == 12:
        size = shift = place = 0
        while True:
            size |= (body[place] & 127) << shift
            shift, place = shift + 7, place + 1
            if body[place - 1] < 128:
                return body[place : place + size].decode()
    (count,) = struct.unpack_from("<I", body)
    keys = [struct.unpack_from("<IH", body, 8 + 6 * i) for i in range(count)] if code == 1 else []
    first = 8 + 6 * len(keys)
    items = []
    for i in range(count):
        kind, offset = struct.unpack_from("<BI", body, first + 5 * i)
        items.append(decode_json(kind, bytes([offset & 255]) if kind == 4 else body[offset:]))
    if code == 3:
        return items
    return {body[o : o + n].decode(): item for (o, n), item in zip(keys, items, strict=True)}
