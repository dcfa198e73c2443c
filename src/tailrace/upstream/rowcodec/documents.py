"""Columns of JSON documents: text to binary form and back, whole groups of documents of one form at a time.

Most columns hold flat objects of few forms: the same keys, with integers, plain strings and literals as values. Such a
form is learnt from the first document that is not done yet, and all documents of that form are converted by kernels.
Every other document goes through `binary_json`, once for each distinct one; that module decides what is right, and
nothing here may give another answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.upstream.rowcodec import binary_json
from tailrace.upstream.rowcodec.binary_json import INT, LITERAL, OBJECT, STRING
from tailrace.upstream.rowcodec.cells import (
    Bytes,
    Cells,
    Flags,
    Ints,
    arrow_bytes,
    bytes_of,
    collected,
    gather,
    numbered,
)
from tailrace.upstream.rowcodec.distinct import convert_each

_FORMS = 4
_FEW = 16
_MOST_FIELDS = 32
_SHORT = 128
_HEAD, _KEY, _ENTRY = 9, 6, 5
_TOKEN = re.compile(r'\s*("[^"\\\x00-\x1f]*"|-?[0-9.eE+-]+|true|false|null|[{}:,])\s*')
_INTEGER = re.compile("0|-?[1-9][0-9]{0,17}")
_TEXT_INTEGER, _TEXT_STRING = "(0|-?[1-9][0-9]{0,17})", r'"([^"\\\x00-\x1f]*)"'
_LITERALS = {"null": 0, "true": 1, "false": 2}
_ESCAPED = '["\\\\\\x00-\\x1f\u2028\u2029]'
_UNUSUAL = np.array([code < 0x20 or code >= 0x80 or code in b'"\\' for code in range(256)])

Converted = tuple[Flags, pa.Array]


@dataclass(frozen=True, slots=True)
class Field:
    """A key and what kind of value it has; `word` is the literal's code."""

    key: bytes
    code: int
    word: int = 0


def pack(values: pa.Array) -> pa.Array:
    """The binary forms of texts."""
    return _by_forms(values, _pack_form, lambda rest: convert_each(binary_json.pack, rest, pa.large_binary()))


def unpack(values: pa.Array) -> pa.Array:
    """The texts of binary forms."""
    return _by_forms(values, _unpack_form, lambda rest: convert_each(binary_json.unpack, rest, pa.string()))


def _by_forms(
    values: pa.Array, convert: Callable[[pa.Array], Converted | None], each: Callable[[pa.Array], pa.Array]
) -> pa.Array:
    """Documents of the first forms together, the rest each by itself."""
    rest = np.arange(len(values))
    rows: list[NDArray[np.int64]] = []
    parts: list[pa.Array] = []
    for _ in range(_FORMS):
        if len(rest) < _FEW:
            break
        found = convert(values.take(pa.array(rest)) if rows else values)
        if found is None:
            break
        done, part = found
        rows.append(rest[done])
        parts.append(part)
        rest = rest[~done]
    if len(rest) or not rows:
        with numbered(rest):
            parts.append(each(values.take(pa.array(rest))))
        rows.append(rest)
    if len(parts) == 1:
        return parts[0]
    kind = parts[-1].type
    return pa.concat_arrays([part.cast(kind) for part in parts]).take(pa.array(np.argsort(np.concatenate(rows))))


def _pack_form(texts: pa.Array) -> Converted | None:
    """Documents of the form of the first one, in binary form."""
    learnt = _form_of(texts[0].as_py())
    if learnt is None:
        return None
    pattern, fields, slots = learnt
    if not slots:
        return None
    found = pc.extract_regex(texts, f"^{pattern}$")
    done = found.is_valid().to_numpy(zero_copy_only=False)
    for at, field in enumerate(slots):
        if field.code == STRING:
            sizes = pc.binary_length(found.field(f"v{at}")).fill_null(0).to_numpy(zero_copy_only=False)
            done = done & (sizes < _SHORT)
    if not done[0]:
        return None
    chosen = found.filter(pa.array(done))
    captured = {field.key: chosen.field(f"v{at}") for at, field in enumerate(slots)}
    return done, _packed(sorted(fields, key=lambda field: field.key), captured, len(chosen))


def _form_of(text: str) -> tuple[str, list[Field], list[Field]] | None:
    """The pattern of a flat object, its fields in the text's order, and those that the pattern captures."""
    place, pattern, key = 0, "", ""
    fields: list[Field] = []
    slots: list[Field] = []
    tokens: list[re.Match[str]] = []
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None or len(tokens) > 4 * _MOST_FIELDS + 1:
            return None
        tokens.append(token)
        place = token.end()
    words = [token[1] for token in tokens]
    if words[:1] != ["{"] or words[-1:] != ["}"] or len(words) % 4 != 1:
        return None
    for at, (token, word) in enumerate(zip(tokens, words, strict=True)):
        before, behind = re.escape(token[0][: token.start(1) - token.start()]), token[0][token.end(1) - token.start() :]
        middle = re.escape(word)
        if at % 4 == 1:
            key = word[1:-1]
            if word[0] != '"' or words[at + 1] != ":":
                return None
        if at % 4 == 3:
            field = _field(key, word)
            if field is None or words[at + 1] != ("}" if at == len(words) - 2 else ","):
                return None
            fields.append(field)
            if field.code != LITERAL:
                middle = (_TEXT_INTEGER if field.code == INT else _TEXT_STRING).replace("(", f"(?P<v{len(slots)}>", 1)
                slots.append(field)
        pattern += before + middle + re.escape(behind)
    return (pattern, fields, slots) if len({field.key for field in fields}) == len(fields) else None


def _field(key: str, word: str) -> Field | None:
    if word in _LITERALS:
        return Field(key.encode(), LITERAL, _LITERALS[word])
    if word[0] == '"':
        return Field(key.encode(), STRING)
    return Field(key.encode(), INT) if _INTEGER.fullmatch(word) else None


def _packed(fields: list[Field], captured: dict[bytes, pa.Array], rows: int) -> pa.Array:
    """Binary objects of sorted fields and the captured values."""
    names = b"".join(field.key for field in fields)
    free = np.full(rows, _HEAD - 1 + (_KEY + _ENTRY) * len(fields) + len(names), np.int64)
    place = int(free[0]) - len(names)
    heads = np.zeros((rows, int(free[0]) + 1), np.uint8)
    heads[:, 0] = OBJECT
    heads[:, 1:5] = _u32(np.array([len(fields)]))
    parts = []
    for at, field in enumerate(fields):
        key, entry = _HEAD + _KEY * at, _HEAD + _KEY * len(fields) + _ENTRY * at
        heads[:, key : key + 4] = _u32(np.array([place]))
        heads[:, key + 4 : key + 6] = _u32(np.array([len(field.key)]))[:, :2]
        place += len(field.key)
        heads[:, entry] = field.code
        heads[:, entry + 1 : entry + 5] = _u32(np.array([field.word]) if field.code == LITERAL else free)
        if field.code == INT:
            numbers = captured[field.key].cast(pa.int64()).to_numpy().astype("<i8").view(np.uint8)
            parts.append(arrow_bytes(numbers, np.full(rows, 8), pa.large_binary()))
            free = free + 8
        if field.code == STRING:
            text = captured[field.key].cast(pa.large_binary())
            sizes = np.diff(bytes_of(text)[1])
            parts += [arrow_bytes(sizes.astype(np.uint8), np.ones(rows, np.int64), pa.large_binary()), text]
            free = free + 1 + sizes
    heads[:, 5:9] = _u32(free)
    if names:
        heads[:, heads.shape[1] - len(names) :] = np.frombuffer(names, np.uint8)
    first = arrow_bytes(heads.reshape(-1), np.full(rows, heads.shape[1]), pa.large_binary())
    return pc.binary_join_element_wise(first, *parts, pa.scalar(b"", pa.large_binary()))


def _u32(values: NDArray[np.int64]) -> Bytes:
    return values.astype("<u4").view(np.uint8).reshape(-1, 4)


def _unpack_form(values: pa.Array) -> Converted | None:
    """Documents of the form of the first one, as text."""
    data, offsets = bytes_of(values)
    fields = _fields_of(bytes(data[offsets[0] : offsets[1]]))
    if fields is None:
        return None
    starts, ends = offsets[:-1], offsets[1:]
    size = _HEAD + sum(_KEY + _ENTRY + len(field.key) for field in fields)
    done = ends - starts >= size
    heads = np.zeros((len(starts), size), np.uint8)
    heads[done] = gather(data, starts[done], size)
    free = np.full(len(starts), size - 1, np.int64)
    values_of: list[Cells] = []
    entries = _HEAD + _KEY * len(fields)
    fixed = np.ones(size, np.bool_)
    fixed[5:9] = False
    for at, field in enumerate(fields):
        place = entries + _ENTRY * at + 1
        if field.code == LITERAL:
            continue
        fixed[place : place + 4] = False
        done = done & (_read_u32(heads, place) == free)
        begin = starts + 1 + free
        if field.code == STRING:
            done = done & (begin < ends)
            sizes = np.where(done, data[np.where(done, begin, 0)], 0).astype(np.int64)
            done = done & (sizes < _SHORT)
            begin, step = begin + 1, 1 + sizes
        else:
            sizes = step = np.full(len(starts), 8, np.int64)
        done = done & (begin + sizes <= ends)
        values_of.append(Cells(data, begin, begin + sizes))
        free = free + step
    done = done & (free + 1 == ends - starts) & (_read_u32(heads, 5) == free)
    done = done & (heads[:, fixed] == heads[0, fixed]).all(axis=1)
    if not done[0]:
        return None
    return _text(fields, values_of, done)


def _fields_of(document: bytes) -> list[Field] | None:
    """The fields of a flat object of integers, strings and literals."""
    count = int.from_bytes(document[1:5], "little")
    if document[:1] != bytes([OBJECT]) or not 0 < count <= _MOST_FIELDS:
        return None
    fields = []
    place = _HEAD + (_KEY + _ENTRY) * count
    for at in range(count):
        key, entry = document[_HEAD + _KEY * at :][:_KEY], document[_HEAD + _KEY * count + _ENTRY * at :][:_ENTRY]
        size = int.from_bytes(key[4:6], "little")
        good = (
            len(entry) == _ENTRY
            and entry[0] in (INT, STRING, LITERAL)
            and int.from_bytes(key[:4], "little") == place - 1
        )
        if not good or (entry[0] == LITERAL and entry[1] not in _LITERALS.values()) or place + size > len(document):
            return None
        fields.append(Field(document[place : place + size], entry[0], entry[1] if entry[0] == LITERAL else 0))
        place += size
    try:
        return fields if all(field.key.decode() is not None for field in fields) else None
    except UnicodeDecodeError:
        return None


def _text(fields: list[Field], values_of: list[Cells], done: Flags) -> Converted | None:
    """The texts of documents; those with a string that needs escapes are left to the other way."""
    rows = np.flatnonzero(done)
    clean = np.ones(len(rows), np.bool_)
    captured = []
    for cells, field in zip(values_of, [field for field in fields if field.code != LITERAL], strict=True):
        chosen = cells.select(rows)
        if field.code == INT:
            captured.append(pa.array(chosen.words().view(np.int64)).cast(pa.string()))
            continue
        text = collected(chosen)
        try:
            clean &= _plain(text)
            captured.append(text.cast(pa.string()))
        except pa.ArrowInvalid:
            return None
    if not clean.all():
        captured = [text.filter(pa.array(clean)) for text in captured]
        done = done.copy()
        done[rows[~clean]] = False
    return (done, _joined(fields, captured)) if captured and done[0] else None


def _joined(fields: list[Field], captured: list[pa.Array]) -> pa.Array:
    """Texts of the fields' keys and literals and the captured values."""
    words = {code: word for word, code in _LITERALS.items()}
    parts: list[str | pa.Array] = []
    ahead = "{"
    values = iter(captured)
    for field in fields:
        ahead += f"{binary_json.quoted(field.key.decode())}: "
        if field.code == LITERAL:
            ahead += f"{words[field.word]}, "
            continue
        quote = '"' if field.code == STRING else ""
        parts += [ahead + quote, next(values)]
        ahead = f"{quote}, "
    return pc.binary_join_element_wise(*parts, f"{ahead[:-2]}}}", "")


def _plain(values: pa.Array) -> Flags:
    """Which strings hold nothing that JSON text escapes; ArrowInvalid where one is no UTF-8."""
    data, offsets = bytes_of(values)
    if not _UNUSUAL[data[offsets[0] : offsets[-1]]].any():
        return np.ones(len(values), np.bool_)
    escaped = pc.match_substring_regex(values.cast(pa.string()), _ESCAPED)
    return ~np.asarray(escaped.to_numpy(zero_copy_only=False), np.bool_)


def _read_u32(matrix: Bytes, place: int) -> Ints:
    return np.ascontiguousarray(matrix[:, place : place + 4]).view("<u4").ravel().astype(np.int64)
