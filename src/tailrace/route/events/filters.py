"""Event filters of one subscription: changes and statements that are left out though their table is in.

Every filter whose matcher matches is asked, and one that says so is enough. A matcher's names are in their own case,
always. A change is left out by its kind, by its start ts, or where the filter's expression is 1 over the row: before
the change for a delete and `update_old`, after it for an insert and `update_new`; NULL leaves nothing out. A statement
is left out by its kind or where a regular expression finds something in its text, in any case.

Everything that is wrong is a ConfigError that names the key: words, regular expressions and syntax when the filters
are made, columns and types when a table is compiled. In the dialect of TiCDC's code a filter with a regular expression
that is none does nothing, and syntax is looked at with the table. Never looks at a single row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.change.batch import DELETE, INSERT, UPDATE, ChangeBatch
from tailrace.change.ddl import DdlEvent
from tailrace.change.schema import TableSchema
from tailrace.config.values import DispatchDialect, EventFilter
from tailrace.errors import ConfigError
from tailrace.route.events.expression import Condition, compile_expression, parse_expression
from tailrace.route.events.words import check_words, ignored_actions, ignored_changes
from tailrace.route.filter import Matcher


@dataclass(frozen=True, slots=True)
class TableEvents:
    """The filters of one table version. `conditions`: op, whether the row before it, and what is left out then."""

    ops: frozenset[int]
    conditions: tuple[tuple[int, bool, Condition], ...]
    start_ts: tuple[int, ...]

    @property
    def passes_all(self) -> bool:
        return not (self.ops or self.conditions or self.start_ts)

    def kept(self, batch: ChangeBatch) -> ChangeBatch:
        """The changes that are not left out; the same object where all are kept."""
        if self.passes_all or not batch.num_rows:
            return batch
        dropped = self.dropped(batch)
        if not pc.any(dropped).as_py():
            return batch
        return ChangeBatch(batch.table, batch.data.filter(pc.invert(dropped)))

    def dropped(self, batch: ChangeBatch) -> pa.BooleanArray:
        """For each row, whether it is left out."""
        parts = [pc.is_in(batch.op, pa.array(sorted(self.ops), pa.uint8()))]
        if self.start_ts:
            parts.append(pc.is_in(batch.start_ts, pa.array(self.start_ts, pa.int64())))
        for op, before, condition in self.conditions:
            of_op = pc.equal(batch.op, op)
            if pc.any(of_op).as_py():
                image = batch.before if before else batch.after
                parts.append(pc.and_(pc.and_(of_op, image.is_valid()), condition(image)))
        return reduce(pc.or_, parts)


class EventFilters:
    """`ignored` answers for statements; `of` compiles the filters for a table version."""

    __slots__ = ("_dialect", "_filters", "_start_ts")

    def __init__(
        self,
        filters: Sequence[EventFilter],
        start_ts: Sequence[int] = (),
        dialect: DispatchDialect = "tailrace",
    ) -> None:
        self._start_ts, self._dialect = tuple(start_ts), dialect
        found = (_compiled(each, f"filter.event-filters[{at}]", dialect) for at, each in enumerate(filters))
        self._filters = tuple(each for each in found if each is not None)

    def ignored(self, event: DdlEvent) -> bool:
        """Whether a statement is left out: it is applied to what we know of the table, and not sent."""
        if event.start_ts in self._start_ts:
            return True
        schema, table = event.schema_name, event.table_name
        if event.before is not None and table:
            schema, table = event.before.schema, event.before.name
        return any(
            (each.matcher.matches(schema, table) if table else each.matcher.matches_schema(schema))
            and (event.type in each.actions or each.finds(event.query))
            for each in self._filters
        )

    def of(self, table: TableSchema) -> TableEvents:
        """Raises ConfigError for an expression that the table has no columns for, or not such ones."""
        matching = [each for each in self._filters if each.matcher.matches(table.schema, table.name)]
        conditions = [
            (op, before, compile_expression(text, table, where))
            for each in matching
            for op, before, text, where in each.expressions
        ]
        ops = frozenset(op for each in matching for op in each.ops)
        return TableEvents(ops, tuple(conditions), self._start_ts)


@dataclass(frozen=True, slots=True)
class _Filter:
    matcher: Matcher
    ops: frozenset[int]
    actions: frozenset[int]
    statements: tuple[str, ...]
    expressions: tuple[tuple[int, bool, str, str], ...]

    def finds(self, query: str) -> bool:
        text = pa.array([query])
        return any(pc.match_substring_regex(text, each, ignore_case=True)[0].as_py() for each in self.statements)


def _compiled(said: EventFilter, where: str, dialect: DispatchDialect) -> _Filter | None:
    check_words(said.ignore_event, f"{where}.ignore-event")
    matcher = Matcher(said.matcher, True, f"{where}.matcher")
    try:
        _check_statements(said.ignore_sql, f"{where}.ignore-sql")
    except ConfigError:
        if dialect == "ticdc":
            return None
        raise
    expressions = [
        (INSERT, False, said.insert, f"{where}.ignore-insert-value-expr"),
        (UPDATE, True, said.update_old, f"{where}.ignore-update-old-value-expr"),
        (UPDATE, False, said.update_new, f"{where}.ignore-update-new-value-expr"),
        (DELETE, True, said.delete, f"{where}.ignore-delete-value-expr"),
    ]
    given = tuple(each for each in expressions if each[2])
    for _, _, text, key in given if dialect == "tailrace" else ():
        parse_expression(text, key)
    ops, actions = ignored_changes(said.ignore_event), ignored_actions(said.ignore_event)
    return _Filter(matcher, ops, actions, said.ignore_sql, given)


def _check_statements(regexps: Sequence[str], where: str) -> None:
    for number, regexp in enumerate(regexps):
        try:
            pc.match_substring_regex(pa.array([""]), regexp)
        except pa.ArrowInvalid as refused:
            reason = str(refused).rpartition("Invalid regular expression: ")[2].splitlines()[0]
            raise ConfigError(f"{where}[{number}] is {regexp!r}, an invalid regular expression ({reason})") from refused
