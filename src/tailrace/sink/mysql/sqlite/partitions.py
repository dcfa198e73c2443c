"""Partitions in a database that has none: which rows are a partition's, as a condition.

RANGE, LIST and HASH are computed from the definition; rows of KEY cannot be told apart and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tailrace.change.statement import Part, Partitioning, PartitionStep
from tailrace.errors import SinkRefused

_ENDLESS = "MAXVALUE"
_CHARSET = re.compile(r"\b_[A-Za-z0-9]+(?=')")


def condition(partitioning: Partitioning | None, names: Sequence[str], table: str) -> str:
    """The SQL condition that holds for exactly the rows of these partitions."""
    if partitioning is None:
        raise SinkRefused(
            "the target does not know how the table is partitioned, because its CREATE TABLE was not among the files",
            table=table,
        )
    wanted = {name.lower() for name in names}
    if wanted == {"all"}:
        return "1"
    parts = [_of(partitioning, number, part, table) for number, part in enumerate(_parts(partitioning), 0)]
    chosen = [text for (name, text) in parts if name.lower() in wanted]
    if len(chosen) != len(wanted):
        raise SinkRefused(f"the target knows no partition {', '.join(names)} of the table", table=table)
    return " OR ".join(f"({text})" for text in chosen)


def after(partitioning: Partitioning | None, step: PartitionStep) -> Partitioning | None:
    """How the table is partitioned once a step is done."""
    if partitioning is None or step.verb in ("truncate", "exchange"):
        return partitioning
    if step.verb == "remove":
        return None
    parts = list(partitioning.parts)
    names = {name.lower() for name in step.names}
    if step.verb == "add":
        parts += step.parts
    elif step.verb == "drop":
        parts = [part for part in parts if part.name.lower() not in names]
    elif step.verb == "reorganize":
        places = [at for at, part in enumerate(parts) if part.name.lower() in names]
        parts = [part for part in parts if part.name.lower() not in names]
        at = min(places, default=len(parts))
        parts[at:at] = step.parts
    count = partitioning.count + step.count if step.verb == "add" else partitioning.count - step.count
    return replace(partitioning, parts=tuple(parts), count=count)


def _plain(text: str) -> str:
    """Without the character set that TiDB writes before a string."""
    return _CHARSET.sub("", text)


def _parts(partitioning: Partitioning) -> Sequence[Part]:
    if partitioning.parts:
        return partitioning.parts
    return [Part(f"p{number}") for number in range(partitioning.count)]


def _of(partitioning: Partitioning, number: int, part: Part, table: str) -> tuple[str, str]:
    by, part = _plain(partitioning.by), replace(part, bound=_plain(part.bound))
    if partitioning.kind == "hash":
        return part.name, f"abs(coalesce({by}, 0)) % {len(_parts(partitioning))} = {number}"
    if partitioning.kind == "list":
        bound = part.bound
        nullable = any(each.strip().upper() == "NULL" for each in bound.split(","))
        return part.name, f"({by}) IN ({bound})" + (f" OR ({by}) IS NULL" if nullable else "")
    if partitioning.kind != "range":
        raise SinkRefused(
            f"rows of a partition by {partitioning.kind.upper()} cannot be told apart in this target", table=table
        )
    below = _plain(partitioning.parts[number - 1].bound) if number else ""
    texts = [] if part.bound.strip("() ").upper() == _ENDLESS else [f"({by}) < ({part.bound})"]
    if below:
        texts.append(f"({by}) >= ({below})")
    text = " AND ".join(texts) or "1"
    return part.name, text if below else f"({text}) OR ({by}) IS NULL"
