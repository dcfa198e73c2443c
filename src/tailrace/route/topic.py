"""Topic expressions: the topic of a table's messages, from `{schema}` and `{table}` and plain text.

An expression is text of letters, digits, `.`, `_` and `-` with each placeholder at most once, `{schema}` first. A name
is put in with every other character as `_`; a topic never gets longer than Kafka allows and is never `.` or `..`.
Text without a placeholder is one topic for all and is used as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tailrace.errors import ConfigError

_TEXT = r"[A-Za-z0-9._-]*"
_FIXED = re.compile(r"[A-Za-z0-9._-]+")
_EXPRESSION = re.compile(rf"{_TEXT}(\{{schema\}})?{_TEXT}(\{{table\}})?{_TEXT}")
_OTHER = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 249


@dataclass(frozen=True, slots=True)
class Topic:
    """A checked expression; made by `parse`."""

    expression: str
    fixed: bool

    def of(self, schema: str, table: str) -> str:
        if self.fixed:
            return self.expression
        topic = self.expression.replace("{schema}", _OTHER.sub("_", schema))
        topic = topic.replace("{table}", _OTHER.sub("_", table))[:_LONGEST]
        return {".": "_", "..": "__"}.get(topic, topic)


def parse(expression: str, protocol: str = "", key: str = "topic") -> Topic:
    """The expression; `key` names it in errors. Avro needs both placeholders, because subjects are per table."""
    if _FIXED.fullmatch(expression):
        return Topic(expression, True)
    found = _EXPRESSION.fullmatch(expression)
    if found is None or (protocol == "avro" and not (found[1] and found[2])):
        both = " (both, with avro)" if protocol == "avro" else ""
        raise ConfigError(
            f"{key} is {expression!r}; it may be letters, digits, dot, _ and -"
            f" with {{schema}} and then {{table}}{both} in between"
        )
    return Topic(expression, False)
