"""Table filters: which tables a subscription, a dispatcher or a selector means.

Rules are tried from the last to the first, and the first that matches decides; a table that none matches is out. A
`TableFilter` is a subscription's: no rules at all mean every table, and the system's own schemas are always out.
Pure and immutable. Rules that name a file to import are refused, because a configuration must say what it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.errors import ConfigError
from tailrace.route.pattern import Pattern, PatternReader, lower

SYSTEM_SCHEMAS = frozenset(
    {
        "information_schema",
        "performance_schema",
        "metrics_schema",
        "inspection_schema",
        "mysql",
        "sys",
        "workload_schema",
        "dm_heartbeat",
        "tidb_cdc",
        "lightning_task_info",
    }
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: a pattern of schemas, one of tables, and whether what matches is in or out."""

    schema: Pattern
    table: Pattern
    positive: bool

    def lower(self) -> Rule:
        return Rule(self.schema.lower(), self.table.lower(), self.positive)


class Matcher:
    """Rules in the order of their lines, without a meaning of their own for "no rules"."""

    __slots__ = ("_case_sensitive", "_rules", "lines")

    def __init__(self, lines: Sequence[str], case_sensitive: bool = False, key: str = "filter.rules") -> None:
        self.lines = tuple(lines)
        self._case_sensitive = case_sensitive
        read = (_rule(line, f"{key}[{number}]") for number, line in enumerate(lines))
        rules = [rule if case_sensitive else rule.lower() for rule in read if rule is not None]
        self._rules = tuple(reversed(rules))

    def matches(self, schema: str, table: str) -> bool:
        schema, table = self._name(schema), self._name(table)
        hit = next((rule for rule in self._rules if rule.schema.matches(schema) and rule.table.matches(table)), None)
        return hit is not None and hit.positive

    def matches_schema(self, schema: str) -> bool:
        """Whether some table of the schema could match: only a rule that excludes all its tables excludes it."""
        schema = self._name(schema)
        telling = (rule for rule in self._rules if rule.positive or rule.table.everything)
        hit = next((rule for rule in telling if rule.schema.matches(schema)), None)
        return hit is not None and hit.positive

    def _name(self, name: str) -> str:
        return name if self._case_sensitive else lower(name)


class TableFilter:
    """The tables of a subscription (`upstream.base.TableRules`)."""

    __slots__ = ("_matcher",)

    def __init__(self, rules: Sequence[str], case_sensitive: bool = False) -> None:
        self._matcher = Matcher(tuple(rules) or ("*.*",), case_sensitive)

    @property
    def rules(self) -> tuple[str, ...]:
        return self._matcher.lines

    def matches(self, schema: str, table: str) -> bool:
        return not is_system(schema) and self._matcher.matches(schema, table)

    def matches_schema(self, schema: str) -> bool:
        return not is_system(schema) and self._matcher.matches_schema(schema)


def is_system(schema: str) -> bool:
    return schema.lower() in SYSTEM_SCHEMAS


def _rule(line: str, where: str) -> Rule | None:
    """The rule of a line; None for an empty line or a comment."""
    text = line.strip(" \t")
    if not text or text.startswith("#"):
        return None
    if text.startswith("@"):
        raise ConfigError(f"{where}: rules can not be imported from a file ({text!r}); write them here")
    reader = PatternReader(text, where)
    positive = not reader.skip("!")
    schema = reader.pattern()
    if not reader.rest:
        raise reader.error("a rule is SCHEMA.TABLE, the table is missing")
    if not reader.skip("."):
        raise reader.error("a dot is missing between schema and table")
    table = reader.pattern()
    if reader.rest:
        raise reader.error("nothing may stand behind the table")
    return Rule(schema, table, positive)
