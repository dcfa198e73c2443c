"""Dispatching: which of a sink's `dispatchers` a table is under, and the topic that this means.

The first rule whose matcher matches decides both topic and partition; within a matcher the last pattern that matches
decides. A table under no rule goes to the default topic, with the default partition rule. Pure and immutable; how a
partition is chosen from a row is `partition`'s work.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.change.ddl import DdlEvent
from tailrace.config.values import DispatchDialect, DispatchRule
from tailrace.errors import ConfigError
from tailrace.route.filter import Matcher
from tailrace.route.partition import PartitionRule, parse_rule
from tailrace.route.topic import Topic, parse

_REST = (PartitionRule("table", where="the rule for all other tables"), None)


class Dispatch:
    """The rules of one sink, compiled; raises ConfigError naming the rule that is wrong."""

    __slots__ = ("_default", "_protocol", "_rules")

    def __init__(
        self,
        rules: Sequence[DispatchRule],
        case_sensitive: bool,
        default_topic: str,
        protocol: str = "",
        dialect: DispatchDialect = "tailrace",
    ) -> None:
        self._default, self._protocol = default_topic, protocol
        self._rules = tuple(
            (
                parse_rule(rule, dialect, f"sink.dispatchers[{number}]"),
                Matcher(rule.matcher, case_sensitive, f"sink.dispatchers[{number}].matcher"),
                parse(rule.topic, protocol, f"sink.dispatchers[{number}].topic") if rule.topic else None,
            )
            for number, rule in enumerate(rules)
        )

    def rule(self, schema: str, table: str) -> PartitionRule:
        return self._find(schema, table)[0]

    def check_topics(self, tables: Sequence[tuple[str, str]]) -> None:
        """Raises ConfigError where two tables would share a topic of avro, whose subjects hold one schema each."""
        taken: dict[str, tuple[str, str]] = {}
        for table in dict.fromkeys(tables) if self._protocol == "avro" else ():
            topic = self.topic(*table)
            other = taken.setdefault(topic, table)
            if other != table:
                raise ConfigError(
                    f"with avro a topic holds one table, and {topic!r} would hold {'.'.join(other)} and"
                    f" {'.'.join(table)}; give sink.dispatchers a topic with {{schema}} and {{table}} for them"
                )

    def topic(self, schema: str, table: str) -> str:
        topic = self._find(schema, table)[1]
        return topic.of(schema, table) if topic else self._default

    def ddl_topic(self, event: DdlEvent) -> str:
        """The topic of a DDL: that of the table before it; a database's is the default topic."""
        if not event.table_name:
            return self._default
        before = event.before
        return self.topic(before.schema, before.name) if before else self.topic(event.schema_name, event.table_name)

    def topics(self, tables: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Every topic that these tables (schema, name) need, in their order, the default one among them."""
        return tuple(dict.fromkeys([*(self.topic(*table) for table in tables), self._default]))

    def _find(self, schema: str, table: str) -> tuple[PartitionRule, Topic | None]:
        found = ((rule, topic) for rule, matcher, topic in self._rules if matcher.matches(schema, table))
        return next(found, _REST)
