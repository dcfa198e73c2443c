"""TOML text -> a tree of tables whose every key is known and whose every value is of its kind.

After `read_toml` the getters of a `Table` cannot fail: what is wrong was a ConfigError that names the dotted key and
what it may be. A value of a secret key is never in a message.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import cast

from tailrace.config.duration import parse_duration
from tailrace.config.keys import ROOT, Kind, Tree
from tailrace.config.secret import is_secret_name
from tailrace.errors import ConfigError

_CHECKS: dict[Kind, Callable[[object], bool]] = {
    Kind.BOOL: lambda value: isinstance(value, bool),
    Kind.INT: lambda value: _is_int(value),
    Kind.UINT: lambda value: _is_int(value) and cast(int, value) >= 0,
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.TEXTS: lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
    Kind.UINTS: lambda value: isinstance(value, list) and all(_is_int(item) and item >= 0 for item in value),
    Kind.DURATION: lambda value: isinstance(value, str) or _is_int(value),
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the file; `path` is its dotted key, empty for the whole file."""

    path: str
    said: Mapping[str, object]

    def key(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def has(self, name: str) -> bool:
        return name in self.said

    def flag(self, name: str, default: bool = False) -> bool:
        return cast(bool, self.said.get(name, default))

    def number(self, name: str, default: int) -> int:
        return cast(int, self.said.get(name, default))

    def text(self, name: str, default: str = "") -> str:
        return cast(str, self.said.get(name, default))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(cast(list[str], self.said.get(name, [])))

    def numbers(self, name: str) -> tuple[int, ...]:
        return tuple(cast(list[int], self.said.get(name, [])))

    def duration(self, name: str, default: float) -> float:
        """Seconds; a bare number is nanoseconds, as in Go."""
        value = self.said.get(name)
        if value is None:
            return default
        return cast(int, value) / 1e9 if not isinstance(value, str) else duration_of(value, self.key(name))

    def table(self, name: str) -> Table:
        return Table(self.key(name), cast(Mapping[str, object], self.said.get(name, {})))

    def tables(self, name: str) -> tuple[Table, ...]:
        rows = cast(list[Mapping[str, object]], self.said.get(name, []))
        return tuple(Table(f"{self.key(name)}[{number}]", row) for number, row in enumerate(rows))

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        return choice_of(self.text(name, default), self.key(name), choices)


def read_toml(text: str) -> Table:
    """The file, checked against every key there is."""
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise ConfigError(f"the changefeed's configuration is not TOML: {broken}") from broken
    _check_tree(said, ROOT, "")
    return Table("", said)


def unknown(what: str, name: str, known: Iterable[str]) -> ConfigError:
    """The error for a name that is not among the known ones."""
    names = sorted(known)
    return ConfigError(f"{what} {name!r} is unknown; it may be one of {', '.join(names)}{_nearest(name, names)}")


def choice_of(value: str, key: str, choices: Sequence[str]) -> str:
    """`value`, when it is one of the choices."""
    if value not in choices:
        raise ConfigError(f"{key} is {value!r}; it may be {' or '.join(choices)}{_nearest(value, choices)}")
    return value


def _nearest(name: str, names: Sequence[str]) -> str:
    """The question whether another name was meant, whatever its case; empty when none is near."""
    lower = {each.lower(): each for each in names}
    found = get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    return f"; did you mean {lower[found[0]]}?" if found else ""


def duration_of(text: str, key: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as wrong:
        raise ConfigError(f"{key}: {wrong}") from wrong


def _check_tree(said: Mapping[str, object], tree: Tree, path: str) -> None:
    for name, value in said.items():
        key = f"{path}.{name}" if path else name
        if name not in tree:
            raise unknown(f"the key {key}:", name, tree)
        want = tree[name]
        if isinstance(want, Kind):
            if not _CHECKS[want](value):
                shown = "another value" if is_secret_name(name) else f"{value!r}"
                raise ConfigError(f"{key} is {want.value}, not {shown}")
        elif isinstance(want, list):
            if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
                raise ConfigError(f"{key} is an array of tables")
            for number, row in enumerate(value):
                _check_tree(row, want[0], f"{key}[{number}]")
        elif isinstance(value, dict):
            _check_tree(value, want, key)
        else:
            raise ConfigError(f"{key} is a table of the keys {', '.join(sorted(want))}")


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
