"""MySQL's text as tokens: names, words, strings, numbers and signs, each with its place in the text.

What stands in a comment of TiDB or MySQL that is meant to be run (`/*T![...] ... */`, `/*! ... */`) counts as text;
other comments do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tailrace.errors import DecodeError

Kind = Literal["name", "word", "string", "number", "sign"]

_TOKEN = re.compile(
    r"""(?P<space>\s+|/\*T!(?:\[[^\]]*\])?|/\*!\d*|\*/|/\*(?![T!]).*?\*/|--\s[^\n]*|\#[^\n]*)
    |(?P<name>`(?:[^`]|``)*`)
    |(?P<string>'(?:[^'\\]|''|\\.)*'|"(?:[^"\\]|""|\\.)*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w$]))
    |(?P<word>[\w$@]+)
    |(?P<sign><=>|<=|>=|<>|!=|:=|->>|->|\|\||&&|.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "0": "\0", "Z": "\x1a"}


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is what is meant: a name without its quotes, a string without quotes and escapes."""

    kind: Kind
    text: str
    begin: int
    end: int

    def says(self, *words: str) -> bool:
        return self.kind in ("word", "sign") and self.text.upper() in words


def tokens(text: str) -> list[Token]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise DecodeError(f"a statement that cannot be read from {text[at : at + 40]!r} on")
        at = match.end()
        kind = match.lastgroup
        if kind != "space":
            found.append(_token(kind, match))
    return found


def _token(kind: str, match: re.Match[str]) -> Token:
    text = match.group()
    if kind == "name":
        return Token("name", text[1:-1].replace("``", "`"), match.start(), match.end())
    if kind == "string":
        return Token("string", _unescaped(text), match.start(), match.end())
    plain: Kind = "number" if kind == "number" else "word" if kind == "word" else "sign"
    return Token(plain, text, match.start(), match.end())


def _unescaped(text: str) -> str:
    quote = text[0]

    def meant(match: re.Match[str]) -> str:
        found = match.group()
        return quote if found[0] == quote else _ESCAPES.get(found[1], found[1])

    return re.sub(rf"{quote}{quote}|\\.", meant, text[1:-1], flags=re.DOTALL)
