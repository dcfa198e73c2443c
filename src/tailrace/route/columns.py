"""Column selectors: which columns of a table leave, for sinks of messages.

The first selector whose matcher matches decides. Its patterns are those of a table filter for one name, in any case;
the last one that matches a column decides, `!` leaves out, and a column that none matches stays behind. Guarantees that
what leaves still tells rows apart: the whole primary key, or all columns of a unique index. Compiled once per table
version into a `Selection`, which narrows batches without touching a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.change.batch import ChangeBatch, batch_schema
from tailrace.change.schema import TableSchema
from tailrace.config.values import ColumnSelector
from tailrace.errors import ConfigError
from tailrace.route.filter import Matcher
from tailrace.route.pattern import Pattern, PatternReader, lower


@dataclass(frozen=True, slots=True)
class Selection:
    """`table` is what encoders see of it: fewer columns, and no key that lost one."""

    table: TableSchema
    dropped: tuple[str, ...]

    def narrowed(self, batch: ChangeBatch) -> ChangeBatch:
        """The batch with the selected columns; the same object where all are."""
        if not self.dropped:
            return batch
        images = [_narrowed(image, self.table) for image in (batch.after, batch.before)]
        columns = [batch.op, batch.commit_ts, batch.start_ts, *images]
        return ChangeBatch(self.table, pa.RecordBatch.from_arrays(columns, schema=batch_schema(self.table)))


class ColumnSelectors:
    """The selectors of one sink, compiled; raises ConfigError naming the selector that is wrong."""

    __slots__ = ("_selectors",)

    def __init__(self, selectors: Sequence[ColumnSelector], case_sensitive: bool) -> None:
        self._selectors = tuple(
            (
                f"sink.column-selectors[{number}]",
                Matcher(each.matcher, case_sensitive, f"sink.column-selectors[{number}].matcher"),
                _patterns(each.columns, f"sink.column-selectors[{number}].columns"),
            )
            for number, each in enumerate(selectors)
        )

    def of(self, table: TableSchema) -> Selection:
        """Raises ConfigError when no key of the table would survive."""
        for where, matcher, patterns in self._selectors:
            if matcher.matches(table.schema, table.name):
                return _selection(table, patterns, where)
        return Selection(table, ())


def _selection(table: TableSchema, patterns: Sequence[tuple[Pattern, bool]], where: str) -> Selection:
    shown = [column for column in table.columns if not column.hidden]
    dropped = tuple(column.name for column in shown if not _selected(column.name, patterns))
    kept = {column.name for column in shown} - set(dropped)
    uniques = [index.columns for index in table.indexes if index.unique]
    primary = next((index.columns for index in table.indexes if index.primary), ())
    primary = primary or tuple(column.name for column in table.columns if column.pk)
    if not kept.issuperset(primary) and not any(kept.issuperset(unique) for unique in uniques):
        raise ConfigError(
            f"{where}.columns leaves {', '.join(sorted(kept)) or 'nothing'}; it has to leave the primary key"
            f" ({', '.join(primary)}) or all columns of a unique index",
            table=table.full_name,
        )
    return Selection(_narrow(table, dropped) if dropped else table, dropped)


def _narrow(table: TableSchema, dropped: Sequence[str]) -> TableSchema:
    """Other indexes stay as they are: formats tell of a column's part in them, even when another part is gone."""
    gone = set(dropped)
    lost = any(column.pk for column in table.columns if column.name in gone)
    return replace(
        table,
        columns=tuple(column for column in table.columns if column.name not in gone),
        indexes=tuple(index for index in table.indexes if not (index.primary and gone & set(index.columns))),
        pk_is_handle=table.pk_is_handle and not lost,
        common_handle=table.common_handle and not lost,
    )


def _narrowed(image: pa.StructArray, table: TableSchema) -> pa.StructArray:
    fields = list(table.arrow_struct)
    arrays = [image.field(image.type.get_field_index(field.name)) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=image.is_null())


def _patterns(lines: Sequence[str], where: str) -> tuple[tuple[Pattern, bool], ...]:
    """The patterns, the last one first, each with whether what matches it leaves."""
    found = []
    for number, line in enumerate(lines):
        text = line.strip(" \t")
        if not text or text.startswith("#"):
            continue
        if text.startswith("@"):
            raise ConfigError(f"{where}[{number}]: rules can not be imported from a file ({text!r}); write them here")
        reader = PatternReader(text, f"{where}[{number}]")
        positive = not reader.skip("!")
        pattern = reader.pattern(dotted=False)
        if reader.rest:
            raise reader.error("nothing may stand behind the column")
        found.append((pattern.lower(), positive))
    return tuple(reversed(found))


def _selected(name: str, patterns: Sequence[tuple[Pattern, bool]]) -> bool:
    return next((positive for pattern, positive in patterns if pattern.matches(lower(name))), False)
