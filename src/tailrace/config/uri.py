"""Sink URIs: scheme, host, path and typed parameters.

A parameter is read by its type or refused by its name; a value of a secret one is never in a message. Which parameters
there may be is the sink's business (`SinkUri.refuse_others`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from tailrace.config.secret import masked_uri
from tailrace.config.table import choice_of, duration_of, unknown
from tailrace.errors import ConfigError

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


@dataclass(frozen=True, slots=True)
class SinkUri:
    """`parameters` in their order, the first of a name deciding. Its own text form must not be shown."""

    scheme: str
    authority: str
    path: str
    parameters: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f"SinkUri({self.scheme}://...)"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.parameters)

    def has(self, name: str) -> bool:
        """Whether it is given and says something."""
        return bool(self.text(name))

    def text(self, name: str, default: str = "") -> str:
        return next((value for known, value in self.parameters if known == name and value), default)

    def number(self, name: str, default: int) -> int:
        said = self.text(name)
        if not said:
            return default
        try:
            return int(said)
        except ValueError:
            raise ConfigError(f"the URI parameter {name} is a whole number, not {said!r}") from None

    def flag(self, name: str, default: bool) -> bool:
        said = self.text(name)
        if said and said not in _TRUE | _FALSE:
            raise ConfigError(f"the URI parameter {name} is true or false, not {said!r}")
        return said in _TRUE if said else default

    def duration(self, name: str, default: float) -> float:
        said = self.text(name)
        return duration_of(said, f"the URI parameter {name}") if said else default

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        return choice_of(self.text(name, default), f"the URI parameter {name}", choices)

    def refuse_others(self, known: Iterable[str], besides: Iterable[str] = ()) -> None:
        """Raises for a parameter that is not known; `besides` are names that are known too, but not proposed."""
        names, quiet = frozenset(known), frozenset(besides)
        for name in self.names:
            if name not in names | quiet:
                raise unknown(f"the parameter of a {self.scheme}:// URI", name, names)


def parse_uri(text: str) -> SinkUri:
    """The parts of a sink URI; the scheme in lower case, everything else with its escapes undone."""
    scheme, mark, _ = text.partition("://")
    if not mark or not scheme:
        raise ConfigError(
            "a sink URI begins with its scheme, such as file:///folder?protocol=csv or s3://bucket/prefix"
        )
    try:
        split = urlsplit(text)
        pairs = parse_qsl(split.query, keep_blank_values=True, strict_parsing=bool(split.query))
    except ValueError:
        # The reason may quote a part of a secret.
        shown = masked_uri(text).partition("?")[0]
        raise ConfigError(f"the sink URI {shown} can not be read; parameters are name=value, joined by &") from None
    if split.fragment:
        raise ConfigError(f"the sink URI of {scheme.lower()}:// has a #, and what follows it would be lost; write %23")
    return SinkUri(scheme.lower(), unquote(split.netloc), unquote(split.path), tuple(pairs))
