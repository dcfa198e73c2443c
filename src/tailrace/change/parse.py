"""MySQL's text of a type to a `ColumnType`, and back.

`parse_type` takes what a column definition, `SHOW COLUMNS` or a schema file says, in any case and by any alias, and
gives every length that was left out the value that TiDB gives it. `parse_type(type_text(kind)) == kind` for every kind
that it returns. Inside a member of an enum or set a quote is doubled and a backslash is a backslash; resolving the
escapes of an SQL literal is the statement parser's work. It never guesses: an unknown word is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailrace.change.types import BLOB_NAMES, INTEGER_BITS, TEXT_NAMES, TYPE_NAMES, ColumnType
from tailrace.errors import ConfigError, Terminal

DEFAULT_CHARSET = "utf8mb4"
_ALIASES = {
    "int1": "tinyint",
    "int2": "smallint",
    "int3": "mediumint",
    "middleint": "mediumint",
    "int4": "int",
    "integer": "int",
    "int8": "bigint",
    "dec": "decimal",
    "numeric": "decimal",
    "fixed": "decimal",
    "real": "double",
    "double precision": "double",
    "float4": "float",
    "float8": "double",
    "character": "char",
    "varcharacter": "varchar",
    "char varying": "varchar",
    "character varying": "varchar",
    "long": "mediumtext",
    "long varchar": "mediumtext",
    "long varbinary": "mediumblob",
    "nchar": "char",
    "national char": "char",
    "national character": "char",
    "nvarchar": "varchar",
    "nchar varchar": "varchar",
    "nchar varying": "varchar",
    "national varchar": "varchar",
    "national char varying": "varchar",
    "national character varying": "varchar",
}
_WIDTHS = {"tinyint": (4, 3), "smallint": (6, 5), "mediumint": (9, 8), "int": (11, 10), "bigint": (20, 20)}
_FLOAT_WIDTHS = {"float": 12, "double": 22}
_BLOB_SIZES = {"tiny": 255, "": 65535, "medium": 16777215, "long": 4294967295}
_MOMENT_WIDTHS = {"date": 10, "time": 10, "datetime": 19, "timestamp": 19}
_AS_BINARY = {"char": "binary", "varchar": "varbinary", "var_string": "varbinary"} | {
    f"{size}text": f"{size}blob" for size in _BLOB_SIZES
}
_COLLATIONS = {
    "utf8mb4": "utf8mb4_bin",
    "utf8": "utf8_bin",
    "ascii": "ascii_bin",
    "latin1": "latin1_bin",
    "gbk": "gbk_chinese_ci",
    "gb18030": "gb18030_chinese_ci",
    "binary": "binary",
}
_MOST_BYTES = {"utf8mb4": 4, "utf8": 3, "ascii": 1, "latin1": 1, "gbk": 2, "gb18030": 4, "binary": 1}
_TOKEN = re.compile(r"\s*(?:([A-Za-z_][A-Za-z_0-9]*)|'((?:[^']|'')*)'|(\d+)|([(),]))")
_BEGINS = frozenset(" ".join(alias.split()[:size]) for alias in _ALIASES for size in range(1, len(alias.split()) + 1))
_NAME_WORDS = frozenset(word for alias in _ALIASES for word in alias.split()) | TYPE_NAMES | {"bool", "boolean"}


class _Wrong(Exception):
    """What is wrong with a type's text; `parse_type` adds the text."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A type's text, taken apart: its words, what stood in parentheses, and the attributes."""

    name: str
    numbers: tuple[int, ...]
    elems: tuple[str, ...]
    attributes: tuple[str, ...]


def parse_type(
    text: str, charset: str = DEFAULT_CHARSET, collation: str = "", *, error: type[Terminal] = ConfigError
) -> ColumnType:
    """The type that a text means, in a table of this character set; raises `error`, which names the text."""
    try:
        return _typed(_apart(text), charset, collation)
    except _Wrong as wrong:
        raise error(f"the column type {text!r} cannot be: {wrong}") from None


def type_text(kind: ColumnType, *, with_charset: bool = False) -> str:
    """The type as TiDB's `SHOW COLUMNS` prints it; a character set is printed only where asked for."""
    text = kind.name
    if kind.elems:
        text += "(" + ",".join("'" + elem.replace("'", "''") + "'" for elem in kind.elems) + ")"
    elif kind.name in _FLOAT_WIDTHS:
        text += f"({kind.length},{kind.scale})" if kind.scale >= 0 else ""
    elif kind.name == "decimal":
        text += f"({kind.length},{kind.fraction})"
    elif kind.name in _MOMENT_WIDTHS:
        text += f"({kind.scale})" if kind.scale > 0 else ""
    elif _has_length(kind.name) and kind.length >= 0:
        text += f"({kind.length})"
    text += " unsigned" if kind.unsigned else ""
    text += " zerofill" if kind.zerofill else ""
    if with_charset and kind.charset and kind.charset != "binary":
        text += f" character set {kind.charset} collate {kind.collation}"
    return text


def _has_length(name: str) -> bool:
    return name in INTEGER_BITS or name in (
        "bit",
        "year",
        "char",
        "varchar",
        "var_string",
        "binary",
        "varbinary",
        "vector",
    )


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _Wrong(f"it cannot be read from {text[at:]!r} on")
        word, quoted, number, sign = match.groups()
        if word is not None:
            found.append(("word", word.lower()))
        elif quoted is not None:
            found.append(("text", quoted.replace("''", "'")))
        else:
            found.append(("number", number) if number is not None else ("sign", sign))
        at = match.end()
    return found


def _apart(text: str) -> _Parts:
    tokens = _tokens(text)
    words: list[str] = []
    while tokens and tokens[0][0] == "word" and tokens[0][1] in _NAME_WORDS:
        if words and " ".join([*words, tokens[0][1]]) not in _BEGINS:
            break
        words.append(tokens.pop(0)[1])
    name = " ".join(words)
    if not name:
        raise _Wrong(f"it must begin with the name of a type, such as {', '.join(sorted(TYPE_NAMES))}")
    given: list[tuple[str, str]] = []
    if tokens and tokens[0] == ("sign", "("):
        if ("sign", ")") not in tokens:
            raise _Wrong("a parenthesis is not closed")
        close = tokens.index(("sign", ")"))
        given, tokens = tokens[1:close], tokens[close + 1 :]
    attributes = tuple(value for kind, value in tokens if kind != "sign")
    if len(attributes) != len(tokens):
        raise _Wrong("there is something after its parentheses that is no attribute")
    numbers, elems = _arguments(given)
    return _Parts(name, numbers, elems, attributes)


def _arguments(given: Sequence[tuple[str, str]]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    values, commas = given[0::2], given[1::2]
    if any(comma != ("sign", ",") for comma in commas) or len(values) != len(commas) + bool(given):
        raise _Wrong("what stands in parentheses must be separated by commas")
    kinds = {kind for kind, _ in values}
    if kinds <= {"number"}:
        return tuple(int(value) for _, value in values), ()
    if kinds == {"text"}:
        return (), tuple(value for _, value in values)
    raise _Wrong("in parentheses there must be numbers, or quoted members")


def _typed(parts: _Parts, charset: str, collation: str) -> ColumnType:
    name = _ALIASES.get(parts.name, parts.name)
    numbers = parts.numbers
    if name in ("bool", "boolean"):
        name, numbers = "tinyint", _at_most(numbers, 0, "bool") or (1,)
    if name not in TYPE_NAMES:
        raise _Wrong(f"{parts.name} is no type")
    if parts.elems and name not in ("enum", "set"):
        raise _Wrong(f"{name} has no members")
    if parts.name.startswith("n") and name in TEXT_NAMES:
        charset, collation = "utf8", ""
    charset, collation, rest = _character_set(parts.attributes, charset, collation)
    unsigned, zerofill = _signs(rest, name)
    if name in INTEGER_BITS:
        (width,) = _at_most(numbers, 1, name) or (_WIDTHS[name][unsigned],)
        return ColumnType(name, _within(width, 0, 255, "the width"), 0, unsigned, zerofill)
    if name in _FLOAT_WIDTHS or name == "decimal":
        return replace(_number(name, numbers), unsigned=unsigned, zerofill=zerofill)
    if name in ("enum", "set"):
        return _of_members(name, parts, charset, collation)
    if name in TEXT_NAMES or name in BLOB_NAMES:
        return _string(name, numbers, charset, collation)
    return _plain(name, numbers)


def _signs(words: list[str], name: str) -> tuple[bool, bool]:
    if name in ("bit", "year"):  # both are without a sign in any case, and schema files say so
        return False, False
    numeric = name in INTEGER_BITS or name in _FLOAT_WIDTHS or name == "decimal"
    unknown = [word for word in words if word not in ("unsigned", "signed", "zerofill") or not numeric]
    if unknown:
        raise _Wrong(f"{name} has no attribute {unknown[0]}")
    return "unsigned" in words or "zerofill" in words, "zerofill" in words


def _character_set(attributes: Sequence[str], charset: str, collation: str) -> tuple[str, str, list[str]]:
    """The character set and collation that count, and the attributes that are none of their words."""
    words, rest = list(attributes), []
    given_charset = given_collation = ""
    binary = False
    while words:
        word = words.pop(0)
        if word == "character" and words[:1] == ["set"] and len(words) > 1:
            given_charset = words[1]
            del words[:2]
        elif word == "charset" and words:
            given_charset = words.pop(0)
        elif word == "collate" and words:
            given_collation = words.pop(0)
        elif word in ("ascii", "unicode", "byte"):
            given_charset = {"ascii": "latin1", "unicode": "ucs2", "byte": "binary"}[word]
        elif word == "binary":
            binary = True
        else:
            rest.append(word)
    charset, collation = _agreed(given_charset, given_collation, charset, collation)
    return charset, f"{charset}_bin" if binary and charset != "binary" else collation, rest


def _agreed(given_charset: str, given_collation: str, charset: str, collation: str) -> tuple[str, str]:
    if given_charset or given_collation:
        charset = given_charset or given_collation.split("_")[0]
        collation = given_collation
    charset = "utf8" if charset.lower() in ("utf8mb3", "utf8") else charset.lower()
    collation = re.sub("^utf8mb3_", "utf8_", collation.lower())
    if charset not in _COLLATIONS:
        raise _Wrong(f"the character set {charset} is not one of {', '.join(sorted(_COLLATIONS))}")
    if collation and collation.split("_")[0] != charset:
        raise _Wrong(f"the collation {collation} does not belong to the character set {charset}")
    return charset, collation or _COLLATIONS[charset]


def _string(name: str, numbers: tuple[int, ...], charset: str, collation: str) -> ColumnType:
    if charset == "binary":
        name = _AS_BINARY.get(name, name)
    if name in BLOB_NAMES:
        charset = collation = "binary"
    size = name.removesuffix("text").removesuffix("blob")
    if size in _BLOB_SIZES:
        (length,) = _at_most(numbers, 1, name) or (0,)
        return ColumnType(*_fitting(name, size, length * _MOST_BYTES[charset]), 0, charset=charset, collation=collation)
    given = _at_most(numbers, 1, name)
    if not given and name in ("varchar", "varbinary", "var_string"):
        raise _Wrong(f"{name} needs a length")
    (length,) = given or (1,)
    most = 255 if name in ("char", "binary") else 65535
    return ColumnType(name, _within(length, 0, most, "the length"), 0, charset=charset, collation=collation)


def _fitting(name: str, size: str, length: int) -> tuple[str, int]:
    """A text or blob that was declared with a length becomes the smallest that holds it."""
    if not length or size:
        return name, _BLOB_SIZES[size]
    chosen = next((label for label, most in _BLOB_SIZES.items() if length <= most), None)
    if chosen is None:
        raise _Wrong("the length is more than any blob holds")
    return chosen + name, _BLOB_SIZES[chosen]


def _number(name: str, numbers: tuple[int, ...]) -> ColumnType:
    given = _at_most(numbers, 2, name)
    if name == "decimal":
        length, scale = ((*given, 0) if len(given) == 1 else given) or (10, 0)
        length = _within(length or 10, 1, 65, "the precision")
        return ColumnType(name, length, _within(scale, 0, min(30, length), "the scale"))
    if len(given) == 2:
        length = _within(given[0], 0, 255, "the width")
        return ColumnType(name, length, _within(given[1], 0, min(30, length), "the scale"))
    if given:
        name = "double" if _within(given[0], 0, 53, "the precision") > 24 or name == "double" else "float"
    return ColumnType(name, _FLOAT_WIDTHS[name], -1)


def _of_members(name: str, parts: _Parts, charset: str, collation: str) -> ColumnType:
    elems = parts.elems
    if not elems or (name == "set" and len(elems) > 64):
        raise _Wrong(f"{name} must have at least one member" + (", and at most 64" if name == "set" else ""))
    if len(set(elems)) < len(elems):
        raise _Wrong("a member stands there twice")
    if name == "set" and any("," in elem for elem in elems):
        raise _Wrong("the members of a set must not hold commas")
    sizes = [len(elem.encode()) for elem in elems]
    length = max(sizes) if name == "enum" else sum(sizes) + len(sizes) - 1
    return ColumnType(name, length, 0, charset=charset, collation=collation, elems=elems)


def _plain(name: str, numbers: tuple[int, ...]) -> ColumnType:
    given = _at_most(numbers, 0 if name in ("date", "json") else 1, name)
    if name in _MOMENT_WIDTHS:
        scale = _within(given[0], 0, 6, "the digits of a second") if given else 0
        return ColumnType(name, _MOMENT_WIDTHS[name] + (scale + 1 if scale else 0), scale)
    if name == "bit":
        return ColumnType(name, _within(given[0] if given else 1, 1, 64, "the number of bits"), 0)
    if name == "year":
        return ColumnType(name, _within(given[0] if given else 4, 4, 4, "the digits of a year"), 0)
    if name == "json":
        return ColumnType(name, 4294967295, 0)
    return ColumnType(name, _within(given[0], 1, 16383, "the dimension") if given else -1, -1)


def _at_most(numbers: tuple[int, ...], count: int, name: str) -> tuple[int, ...]:
    if len(numbers) > count:
        raise _Wrong(f"{name} takes at most {count} numbers in parentheses")
    return numbers


def _within(value: int, low: int, high: int, what: str) -> int:
    if not low <= value <= high:
        raise _Wrong(f"{what} is {value}; it must be {low} to {high}")
    return value
