"""The words of `ignore-event`, and the DDL actions that are forwarded at all.

Numbers are TiDB's action codes. A word may stand for several actions; `alter table` stands for all that alter one.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tailrace.change.batch import DELETE, INSERT, UPDATE
from tailrace.errors import ConfigError

_CHANGES = {"insert": {INSERT}, "update": {UPDATE}, "delete": {DELETE}, "all dml": {INSERT, UPDATE, DELETE}}
_WHOLE = {
    "create schema": {1},
    "create database": {1},
    "drop schema": {2},
    "drop database": {2},
    "modify schema charset and collate": {26},
    "create table": {3, 60},
    "drop table": {4},
    "truncate table": {11},
    "recover table": {25},
    "create view": {21},
    "drop view": {24},
}
_ALTERS = {
    "rename table": {14, 47},
    "modify table comment": {17},
    "modify table charset and collate": {22},
    "add table partition": {19},
    "drop table partition": {20},
    "truncate table partition": {23},
    "exchange table partition": {42},
    "reorganize table partition": {64},
    "alter table partitioning": {71},
    "remove table partitioning": {72},
    "add column": {5, 37},
    "drop column": {6, 38},
    "modify column": {12},
    "set default value": {15},
    "rebase auto id": {13},
    "add primary key": {32},
    "drop primary key": {33},
    "create index": {7},
    "drop index": {8},
    "rename index": {18},
    "alter index visibility": {41},
    "alter ttl info": {65},
    "alter ttl remove": {67},
    "multi schema change": {61},
    "add foreign key": {9},
    "drop foreign key": {10},
}
_STATEMENTS = {**_WHOLE, **_ALTERS, "alter table": set().union(*_ALTERS.values())}
_FORWARDED = frozenset(set().union(*_STATEMENTS.values()))
_STATEMENTS["all ddl"] = set(_FORWARDED)


def is_forwarded(action: int) -> bool:
    """Whether a statement of this kind is one that a subscription sends; sequences, locks and the like are not."""
    return action in _FORWARDED


def check_words(words: Iterable[str], where: str) -> None:
    """Raises ConfigError for a word that is none."""
    known = sorted({*_CHANGES, *_STATEMENTS})
    for word in words:
        if word not in known:
            near = get_close_matches(word.lower(), known, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ConfigError(f"{where} has {word!r}; it may be {', '.join(known)}{hint}")


def ignored_changes(words: Iterable[str]) -> frozenset[int]:
    """The ops (`change.batch`) that the words leave out."""
    return frozenset(op for word in words for op in _CHANGES.get(word, ()))


def ignored_actions(words: Iterable[str]) -> frozenset[int]:
    """The DDL actions that the words leave out."""
    return frozenset(action for word in words for action in _STATEMENTS.get(word, ()))
