"""Partitions: PARTITION BY of a table, and the steps that ALTER TABLE takes on partitions."""

from __future__ import annotations

from tailrace.change.statement.cursor import Cursor
from tailrace.change.statement.values import Part, Partitioning, PartitionStep


def partitioning_of(cursor: Cursor) -> Partitioning:
    """What follows PARTITION BY."""
    cursor.take("LINEAR")
    kind = cursor.name().lower()
    of_columns = cursor.take("COLUMNS") or kind == "key"
    by = cursor.inner().source()
    count = int(cursor.next().text) if cursor.take("PARTITIONS") else 0
    parts = parts_of(cursor.inner()) if cursor.peek("(") else ()
    return Partitioning(kind, by, of_columns, parts, count or len(parts))


def parts_of(inner: Cursor) -> tuple[Part, ...]:
    found = []
    for part in inner.parts():
        part.take("PARTITION")
        name, bound = part.name(), ""
        if part.take("VALUES"):
            part.take("IN")
            part.take("LESS", "THAN")
            bound = part.inner().source() if part.peek("(") else part.next().text
        found.append(Part(name, bound))
    return tuple(found)


def step_of(cursor: Cursor) -> PartitionStep | None:
    """The change of partitions that a clause of ALTER TABLE is, if it is one."""
    if cursor.take("REMOVE", "PARTITIONING"):
        return PartitionStep("remove")
    verbs = ("ADD", "DROP", "TRUNCATE", "REORGANIZE", "EXCHANGE", "COALESCE")
    verb = next((verb for verb in verbs if cursor.take(verb, "PARTITION")), None)
    if verb is None:
        return None
    if cursor.take("IF"):
        cursor.take("NOT")
        cursor.take("EXISTS")
    if verb == "ADD":
        return _added(cursor)
    if verb == "COALESCE":
        return PartitionStep("coalesce", count=int(cursor.next().text))
    names = tuple(part.name() for part in cursor.until("INTO", "WITH").parts())
    if verb == "REORGANIZE" and cursor.take("INTO"):
        return PartitionStep("reorganize", names, parts_of(cursor.inner()))
    if verb == "EXCHANGE" and cursor.take("WITH", "TABLE"):
        return PartitionStep("exchange", names, table=cursor.table())
    return PartitionStep(verb.lower(), names)


def _added(cursor: Cursor) -> PartitionStep:
    if cursor.take("PARTITIONS"):
        return PartitionStep("add", count=int(cursor.next().text))
    return PartitionStep("add", parts=parts_of(cursor.inner()))
