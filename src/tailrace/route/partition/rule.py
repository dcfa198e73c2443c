"""Partition rules as they are written: what `partition` (or its old name `dispatcher`) of a dispatcher says.

Two dialects. `tailrace` is the seed design: `pk` is `rowid`, a number is a fixed partition, `[a, b]` are columns, and
what is none of the rules fails the creation. `ticdc` is what TiCDC's code does: those three, as any unknown word, mean
`default` without a word. In both, words may be of any case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from tailrace.config.values import DispatchDialect, DispatchRule
from tailrace.errors import ConfigError

Kind = Literal["table", "ts", "index", "columns", "fixed"]

_WORDS: dict[str, Kind] = {
    "": "table",
    "default": "table",
    "table": "table",
    "ts": "ts",
    "index-value": "index",
    "rowid": "index",
    "columns": "columns",
}
_OURS: dict[str, Kind] = {**_WORDS, "pk": "index"}
_LIST = re.compile(r"\[(.*)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """A checked rule; made by `parse_rule`. `index` empty: the handle key. `where` names the rule in errors."""

    kind: Kind
    index: str = ""
    columns: tuple[str, ...] = ()
    number: int = 0
    exact: bool = False
    where: str = "partition"


def parse_rule(
    rule: DispatchRule, dialect: DispatchDialect = "tailrace", where: str = "sink.dispatchers"
) -> PartitionRule:
    """Raises ConfigError naming `where` and what it may be. `exact`: names are looked up in their own case."""
    said, exact = rule.partition.strip(), dialect == "ticdc"
    word = said.lower()
    if exact:
        kind = _WORDS.get(word, "table")
        return PartitionRule(kind, rule.index, rule.columns, exact=True, where=where)
    listed = _LIST.fullmatch(said)
    if listed:
        return PartitionRule("columns", columns=_listed(listed[1], rule, where), where=where)
    if said.isdecimal() and said.isascii():
        return PartitionRule("fixed", number=int(said), where=where)
    if word not in _OURS:
        raise _unknown(said, where)
    kind = _OURS[word]
    if kind == "columns" and not rule.columns:
        raise ConfigError(f"{where}.columns is missing; partition = {said!r} needs the names of columns")
    return PartitionRule(kind, rule.index, rule.columns, where=where)


def _listed(text: str, rule: DispatchRule, where: str) -> tuple[str, ...]:
    names = tuple(name.strip().strip("`") for name in text.split(","))
    if not all(names):
        raise ConfigError(f"{where}.partition is {rule.partition!r}; a list of columns is as [a, b], each with a name")
    if rule.columns:
        raise ConfigError(f"{where} has columns and a list in partition, which mean the same; keep one of them")
    return names


def _unknown(said: str, where: str) -> ConfigError:
    words = sorted(word for word in _OURS if word)
    near = get_close_matches(said.lower(), words, n=1, cutoff=0.5)
    return ConfigError(
        f"{where}.partition is {said!r}; it may be {', '.join(words)}, a list of columns as [a, b],"
        f" or the number of a partition, from 0 on" + (f"; did you mean {near[0]}?" if near else "")
    )
