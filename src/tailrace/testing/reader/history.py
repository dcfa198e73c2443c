"""Which table a name means over time: creates, drops, truncates and renames, version after version.

A table keeps its rows under a new name. The renames of one version are one statement, whose parts come in no order
that the files record: a part goes first if its new name is free, and those that only swap names go together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tailrace.change.ddl import DdlType
from tailrace.change.schema import TableSchema
from tailrace.errors import DecodeError
from tailrace.testing.reader.contents import State

Name = tuple[str, str]

_PART = r"(?:`(?:[^`]|``)+`|[^\s`.,;()]+)"
_RENAME = re.compile(rf"\s*(?:RENAME|ALTER)\s+TABLE\s+(?:({_PART})\s*\.\s*)?({_PART})\s+(?:TO|RENAME)\b", re.IGNORECASE)
# What takes rows away by partition: a schema file does not say which rows those are.
_BY_PARTITION = {DdlType.DROP_PARTITION, DdlType.TRUNCATE_PARTITION, DdlType.EXCHANGE_PARTITION}
_EMPTIED = {DdlType.CREATE_TABLE, DdlType.TRUNCATE_TABLE}
_VIEWS = {DdlType.CREATE_VIEW, DdlType.DROP_VIEW}


@dataclass(frozen=True, slots=True)
class Step:
    """A schema file as it bears on names: `table` is None for a database's."""

    name: Name
    type: int
    query: str
    place: str
    table: TableSchema | None
    key: tuple[str, ...]


@dataclass(slots=True)
class Names:
    """The tables that exist, by name."""

    states: dict[Name, State] = field(default_factory=dict)

    def follow(self, steps: list[Step]) -> None:
        """Apply all schema files of one version."""
        for step in self._in_order([step for step in steps if step.type == DdlType.RENAME_TABLE]):
            self._shape(step)
        for step in steps:
            if step.type in _BY_PARTITION:
                raise DecodeError(f"this reader does not follow {step.query!r}", position=step.place)
            if step.table is None:
                if step.type == DdlType.DROP_SCHEMA:
                    self.states = {name: state for name, state in self.states.items() if name[0] != step.name[0]}
            elif step.type == DdlType.DROP_TABLE:
                self.states.pop(step.name, None)
            elif step.type in _EMPTIED:
                self.states[step.name] = State.empty(step.table, step.key)
            elif step.type not in _VIEWS | {DdlType.RENAME_TABLE}:
                self._shape(step)

    def _shape(self, step: Step) -> None:
        """Bring a table to the columns of a schema file."""
        if step.table is None:
            return
        state = self.states.get(step.name)
        if state is None:
            self.states[step.name] = State.empty(step.table, step.key)
            return
        changed = {}
        before, after = state.table.row_columns, step.table.row_columns
        if step.type == DdlType.MODIFY_COLUMN and len(before) == len(after):
            lost = [column.name for column in before if step.table.column(column.name) is None]
            won = [column.name for column in after if state.table.column(column.name) is None]
            changed = dict(zip(lost, won, strict=True))
        self.states[step.name] = state.under(step.table, step.key, changed)

    def _in_order(self, renames: list[Step]) -> Iterator[Step]:
        pending = list(renames)
        while pending:
            free = [step for step in pending if step.name not in self.states and self._old(step) in self.states]
            moved = free[:1] or pending
            found = [(step, self.states.pop(self._known(step))) for step in moved]
            for step, state in found:
                self.states[step.name] = state
            yield from moved
            pending = [step for step in pending if step not in moved]

    def _old(self, step: Step) -> Name | None:
        """The name that a rename takes away; one without a schema is looked for where the new name is first."""
        parsed = _RENAME.match(step.query)
        if parsed is None:
            raise DecodeError(f"a rename whose query is {step.query!r}; it should be RENAME TABLE", position=step.place)
        schema, table = (_plain(part) if part else "" for part in parsed.groups())
        if schema:
            return (schema, table)
        if (step.name[0], table) in self.states:
            return (step.name[0], table)
        others = [name for name in self.states if name[1] == table]
        return others[0] if len(others) == 1 else None

    def _known(self, step: Step) -> Name:
        old = self._old(step)
        if old is None or old not in self.states:
            raise DecodeError(f"{step.query!r} renames a table that is not there", position=step.place)
        return old


def _plain(part: str) -> str:
    return part[1:-1].replace("``", "`") if part.startswith("`") else part
