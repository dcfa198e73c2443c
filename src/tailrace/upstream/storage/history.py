"""History: which tables there are at a ts, under which names, and the DDL events between, all from schema files.

A *lineage* is one table from its birth to its end, through all its names: a rename does not change who it is. The
schema files of one version are one statement: renames among them happen at once, so circles and chains need no order.
A table whose first schema file has no CREATE was there before the changefeed: it exists from the beginning on.

Guarantees: the same schema files give the same lineages, ids and events, in whatever order they were found; a schema
file that comes late with an old version changes no id. `late` is added to a version to give the ts at which a DDL
counts: 1 for TiCDC, whose `metadata` covers rows up to it but DDLs only below it, so that one bound serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import xxhash

from tailrace.change.ddl import DdlEvent, DdlType
from tailrace.change.schema import TableSchema
from tailrace.change.tso import MAX_TS, Ts
from tailrace.errors import DecodeError
from tailrace.upstream.storage.paths import Folder
from tailrace.upstream.storage.schemas import Remembered, SchemaEntry

Name = tuple[str, str]

_BIRTHS = (DdlType.CREATE_TABLE, 60, DdlType.CREATE_VIEW, 25)
_ENDS = (DdlType.DROP_TABLE, DdlType.DROP_VIEW)


@dataclass(slots=True)
class Period:
    """While a table lay in a folder: versions from `begin` on, below `end`."""

    folder: Folder
    name: Name
    begin: Ts
    end: Ts = MAX_TS


@dataclass(slots=True)
class Lineage:
    id: int
    implied: bool
    birth: Ts
    is_view: bool = False
    end: Ts = MAX_TS
    periods: list[Period] = field(default_factory=list)
    versions: dict[Ts, TableSchema] = field(default_factory=dict)
    remembered: Remembered = field(default_factory=Remembered)

    def exists(self, version: Ts) -> bool:
        """Whether the table is there once everything up to a version was done."""
        return self.birth <= version < self.end

    def at(self, version: Ts) -> TableSchema:
        """The table's schema after everything up to a version; the first one there is, where that is later."""
        known = [each for each in self.versions if each <= version]
        return self.versions[max(known) if known else min(self.versions)]

    @property
    def newest(self) -> TableSchema:
        return self.versions[max(self.versions)]


class History:
    def __init__(self, entries: Sequence[SchemaEntry], late: int) -> None:
        self.late = late
        self.lineages: dict[int, Lineage] = {}
        self.events: list[DdlEvent] = []
        self._alive: dict[Name, Lineage] = {}
        self._ended: dict[Name, Ts] = {}
        ordered = sorted(entries, key=lambda entry: (entry.version, entry.schema, entry.table, entry.path))
        for _, group in groupby(ordered, lambda entry: entry.version):
            self._follow(_distinct(list(group)))

    def tables(self, at: Ts) -> list[TableSchema]:
        """The tables, without views, that exist once the events up to `at` are done."""
        version = at - self.late
        return [each.at(version) for each in self.lineages.values() if each.exists(version) and not each.is_view]

    def _follow(self, entries: list[SchemaEntry]) -> None:
        renames = [entry for entry in entries if entry.type == DdlType.RENAME_TABLE]
        before = self._rename(renames)
        for seq, entry in enumerate([*renames, *(each for each in entries if each.type != DdlType.RENAME_TABLE)]):
            event = self._apply(entry, seq, entries, before.get(entry.path))
            if event is not None:
                self.events.append(event)

    def _rename(self, entries: list[SchemaEntry]) -> dict[str, TableSchema]:
        """All renames of a version at once; the tables as they were, by path."""
        moved: list[tuple[SchemaEntry, Lineage]] = []
        for entry in entries:
            old = self._old_name(entry)
            lineage = self._alive.pop(old, None) or self._born(old, entry, implied=True)
            self._alive.pop(old, None)
            moved.append((entry, lineage))
        before = {}
        for entry, lineage in moved:
            period = lineage.periods[-1]
            known = lineage.newest if lineage.versions else lineage.remembered.table(entry, lineage.id)
            before[entry.path] = replace(known, schema=period.name[0], name=period.name[1])
            self._end(entry.schema, entry.table, entry.version)
            period.end = entry.version
            lineage.periods.append(Period(entry.folder, (entry.schema, entry.table), entry.version))
            self._alive[entry.schema, entry.table] = lineage
            self._shape(lineage, entry)
        return before

    def _old_name(self, entry: SchemaEntry) -> Name:
        """The name that a rename takes away; without a schema, where the new name is first."""
        renames = entry.statement.renames if entry.statement else ()
        if not renames:
            raise DecodeError(f"a rename whose query is {entry.query!r}; it should say from what", position=entry.path)
        fits = [old for old, new in renames if new.table == entry.table] or [renames[0][0]]
        old = fits[0]
        if old.schema:
            return (old.schema, old.table)
        if (entry.schema, old.table) in self._alive:
            return (entry.schema, old.table)
        others = [name for name in self._alive if name[1] == old.table]
        return others[0] if len(others) == 1 else (entry.schema, old.table)

    def _apply(
        self, entry: SchemaEntry, seq: int, beside: list[SchemaEntry], before: TableSchema | None
    ) -> DdlEvent | None:
        if not entry.table:
            if entry.type == DdlType.DROP_SCHEMA:
                for schema, table in [name for name in self._alive if name[0] == entry.schema]:
                    self._end(schema, table, entry.version)
            return self._event(entry, seq, None, None) if entry.query else None
        lineage = self._of(entry)
        old = lineage.newest if lineage.versions else None
        if entry.type != DdlType.RENAME_TABLE:
            self._shape(lineage, entry)
        if entry.type in _ENDS:
            self._end(entry.schema, entry.table, entry.version)
        if entry.type == DdlType.EXCHANGE_PARTITION:
            plain = next((each for each in beside if not each.query), None)
            old = self._of(plain).newest if plain is not None and self._of(plain).versions else None
        if not entry.query:
            return None
        return self._event(entry, seq, lineage.versions[entry.version], before or old)

    def _of(self, entry: SchemaEntry) -> Lineage:
        """The lineage that a schema file speaks of, born here where it is new."""
        name = (entry.schema, entry.table)
        known = self._alive.get(name)
        if entry.type in _BIRTHS and entry.query and (known is None or entry.version not in known.versions):
            if known is not None:
                self._end(*name, entry.version)
            known = self._born(name, entry, implied=False)
        return known or self._born(name, entry, implied=True)

    def _born(self, name: Name, entry: SchemaEntry, implied: bool) -> Lineage:
        """Ids depend on the name and on what ended or began it last, never on how many files were seen."""
        mark = self._ended.get(name, 0) if implied else entry.version
        text = "\0".join([*name, str(mark), "implied" if implied else "created"])
        lineage = Lineage(xxhash.xxh3_64_intdigest(text.encode()) >> 1, implied, mark)
        lineage.is_view = entry.type in (DdlType.CREATE_VIEW, DdlType.DROP_VIEW)
        folder = entry.folder if not entry.folder.schema else Folder(*name)
        lineage.periods.append(Period(folder, name, mark))
        self.lineages[lineage.id] = lineage
        self._alive[name] = lineage
        return lineage

    def _end(self, schema: str, table: str, version: Ts) -> None:
        self._ended[schema, table] = version
        lineage = self._alive.pop((schema, table), None)
        if lineage is not None:
            lineage.end = lineage.periods[-1].end = version

    def _shape(self, lineage: Lineage, entry: SchemaEntry) -> None:
        if entry.statement is not None:
            if entry.statement.like is not None:
                other = self._alive.get((entry.statement.like.schema or entry.schema, entry.statement.like.table))
                lineage.remembered = other.remembered if other else lineage.remembered
            lineage.remembered = lineage.remembered.after(entry.statement)
        lineage.versions[entry.version] = lineage.remembered.table(entry, lineage.id)

    def _event(self, entry: SchemaEntry, seq: int, table: TableSchema | None, before: TableSchema | None) -> DdlEvent:
        at = entry.version + self.late
        return DdlEvent(at, entry.version, seq, entry.type, entry.query, entry.schema, entry.table, table, before)


def _distinct(entries: list[SchemaEntry]) -> list[SchemaEntry]:
    """One schema file a table and version: the one with a query, where a second one was written beside it."""
    found: dict[Name, SchemaEntry] = {}
    for entry in entries:
        known = found.get((entry.schema, entry.table))
        if known is None or (entry.query and not known.query):
            found[entry.schema, entry.table] = entry
    return list(found.values())
