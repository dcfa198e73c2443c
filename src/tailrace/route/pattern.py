"""Patterns: one name of a rule, in the language of TiDB's table filter.

A name is a wildcard (`*`, `?`, `[a-z]`, `[!a-z]`, `\\` before a special character), a name in double quotes or
backticks, or a regular expression between slashes. Wildcards and quoted names match the whole name; a regular
expression matches anywhere in it. Regular expressions are RE2's, as TiCDC's are, so look-arounds are refused and no
name can make one slow. Pure: a pattern holds text only, and errors say where in the rule they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.errors import ConfigError

_REGEXP = re.compile(r"/((?:\\.|[^/])+)/")
_QUOTED = {'"': re.compile(r'"((?:""|[^"])+)"'), "`": re.compile(r"`((?:``|[^`])+)`")}
_CLASS = re.compile(r"\[(!|(?!!))((?:\\[^0-9a-zA-Z]|[^\\\]])+)\]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """`literal` is the name itself; else `regexp` decides. `everything` is the lone `*`."""

    literal: str | None = None
    regexp: str = ""
    everything: bool = False

    def matches(self, name: str) -> bool:
        if self.everything:
            return True
        if self.literal is not None:
            return self.literal == name
        return _found(self.regexp, name)

    def lower(self) -> Pattern:
        """The pattern for names that `lower` has been applied to."""
        if self.literal is not None:
            return Pattern(literal=lower(self.literal))
        return self if self.everything else Pattern(regexp=f"(?i){self.regexp}")


@lru_cache(maxsize=1 << 16)
def _found(regexp: str, name: str) -> bool:
    """The same tables are asked for again and again, and the call costs more than the search."""
    return bool(pc.match_substring_regex(pa.array([name], pa.string()), regexp)[0].as_py())


def lower(name: str) -> str:
    """Lower case, character by character, whatever stands beside it."""
    return "".join(char.lower()[0] for char in name)


class PatternReader:
    """Reads patterns from one rule, from left to right; `where` names the rule in errors."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.at = 0
        self._where = where

    def error(self, message: str) -> ConfigError:
        return ConfigError(f"{self._where}: {message}, at character {self.at + 1} of {self.text!r}")

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def skip(self, char: str) -> bool:
        """Whether `char` comes next; it is then passed."""
        found = self.text.startswith(char, self.at)
        self.at += len(char) * found
        return found

    def pattern(self, dotted: bool = True) -> Pattern:
        """The next pattern. `dotted`: a dot ends a wildcard (else it must be quoted)."""
        if not self.rest:
            raise self.error("a pattern is missing")
        first = self.rest[0]
        if first == "/":
            found = self._match(_REGEXP, "a regular expression that no slash ends")
            return self._compiled(found[1], found)
        if first in _QUOTED:
            found = self._match(_QUOTED[first], f"a quoted name that no {first} ends")
            self.at = found.end()
            return Pattern(literal=found[1].replace(first * 2, first))
        return self._wildcard(dotted)

    def _match(self, form: re.Pattern[str], what: str) -> re.Match[str]:
        found = form.match(self.text, self.at)
        if found is None:
            raise self.error(what)
        return found

    def _compiled(self, regexp: str, found: re.Match[str]) -> Pattern:
        self._check(regexp)
        self.at = found.end()
        return Pattern(regexp=regexp)

    def _check(self, regexp: str) -> None:
        try:
            pc.match_substring_regex(pa.array([""], pa.string()), regexp)
        except pa.ArrowInvalid as refused:
            reason = str(refused).rpartition("Invalid regular expression: ")[2].splitlines()[0]
            raise self.error(f"an invalid regular expression ({reason})") from refused

    def _wildcard(self, dotted: bool) -> Pattern:
        start = self.at
        literal: list[str] = []
        parts: list[str] = []
        plain = True
        while self.rest and not (dotted and self.rest[0] == "."):
            char = self.rest[0]
            if char in "*?[":
                plain = False
                parts.append(self._class() if char == "[" else ".*" if char == "*" else ".")
                self.at += char != "["
                continue
            name = self._escaped() if char == "\\" else self._plain(char)
            literal.append(name)
            parts.append(_exactly(name))
        if plain:
            return Pattern(literal="".join(literal))
        if self.text[start : self.at] == "*":
            return Pattern(everything=True)
        regexp = f"(?s)^{''.join(parts)}$"
        self._check(regexp)
        return Pattern(regexp=regexp)

    def _plain(self, char: str) -> str:
        if char.isascii() and not char.isalnum() and char not in "$_":
            raise self.error(f"the special character {char!r} has to be quoted or escaped")
        self.at += 1
        return char

    def _escaped(self) -> str:
        char = self.text[self.at + 1 : self.at + 2]
        if not char:
            raise self.error("a \\ that stands at the end")
        if char.isascii() and char.isalnum():
            raise self.error(f"a letter or digit ({char}) can not be escaped")
        self.at += 2
        return char

    def _class(self) -> str:
        found = self._match(_CLASS, "a character class that is not complete")
        self.at = found.end()
        members = found[2]
        if found[1]:
            return f"[^{members}]"
        return f"[\\{members}]" if members.startswith("^") else f"[{members}]"


def _exactly(char: str) -> str:
    return f"\\x{{{ord(char):x}}}" if char.isascii() and not char.isalnum() else char
