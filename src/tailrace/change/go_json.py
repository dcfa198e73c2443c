"""JSON text as Go's encoding/json indents it, which TiCDC's schema files and their checksums are made of.

Guarantees the bytes of `MarshalIndent` with four spaces under Go 1.21: HTML escapes on, `\\u0008` and not `\\b`, each
byte that is not UTF-8 as `\\ufffd`. Bytes values are texts; keys keep their order. Reading JSON is left to `json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

Json = str | bytes | int | float | bool | None | Sequence["Json"] | Mapping[str, "Json"]

_SPECIAL = re.compile('[\x00-\x1f"\\\\<>&\u2028\u2029\ud800-\udfff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_STEP = "    "


def render(value: Json, indent: str = "") -> str:
    """The text of a value, without a line break at its end."""
    if isinstance(value, str | bytes):
        return quote(value)
    if isinstance(value, Mapping):
        return _block("{}", [f"{quote(key)}: {render(item, indent + _STEP)}" for key, item in value.items()], indent)
    if isinstance(value, Sequence):
        return _block("[]", [render(item, indent + _STEP) for item in value], indent)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def quote(text: str | bytes) -> str:
    """A string with its quotes; a byte that is not UTF-8 becomes the escape of U+FFFD."""
    plain = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    return f'"{_SPECIAL.sub(_escape, plain)}"'


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    if "\ud800" <= char <= "\udfff":
        return "\\ufffd"
    return _SHORT.get(char) or f"\\u{ord(char):04x}"


def _block(brackets: str, items: list[str], indent: str) -> str:
    if not items:
        return brackets
    inner = indent + _STEP
    return f"{brackets[0]}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{brackets[1]}"


def _number(value: float) -> str:
    """Go's form of a float64: digits only from 1e-6 up to below 1e21, else an exponent without leading zeros."""
    exact = Decimal(repr(value))
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = format(exact, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, _ = exact.normalize().as_tuple()
    fraction = "." + "".join(map(str, digits[1:])) if len(digits) > 1 else ""
    return f"{'-' if sign else ''}{digits[0]}{fraction}e{exact.adjusted():+d}"
