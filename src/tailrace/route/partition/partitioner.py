"""A partition rule compiled for one version of one table: the partition of every change of a batch.

The hash is TiCDC's: the CRC-32 of schema and table name, and, XORed to it, for each hashed column the CRC-32 of its
name and value; so the order of columns means nothing. Guarantees that rows of equal hashed values get equal partitions
in every batch and on every machine. The image that is hashed is the row after the change, of a delete the row before.
Columns are found by name, so virtual ones, which no change carries, never shift another; a column that a selector
dropped adds nothing. Never looks at a single row.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.change.batch import ChangeBatch
from tailrace.change.schema import Column, Index, TableSchema
from tailrace.errors import ConfigError
from tailrace.route.partition.checksum import Checksums
from tailrace.route.partition.rule import PartitionRule
from tailrace.route.partition.values import column_checksums


@dataclass(frozen=True, slots=True)
class Partitioner:
    """`names` are the hashed columns; None of them at all (`missing`) is partition 0."""

    rule: PartitionRule
    table: TableSchema
    names: tuple[str, ...] = ()
    missing: bool = False

    def partitions(self, batch: ChangeBatch, count: int) -> NDArray[np.int64]:
        """For each row of a batch of the table, whole or as a selector left it, a number below `count`."""
        if self.missing:
            return np.zeros(batch.num_rows, np.int64)
        if self.rule.kind == "fixed":
            check_number(self.rule, count)
            return np.full(batch.num_rows, self.rule.number, np.int64)
        if self.rule.kind == "ts":
            return np.asarray(batch.commit_ts.to_numpy().view(np.uint64) % np.uint64(count), np.int64)
        return (self.hashes(batch) % np.uint32(count)).astype(np.int64)

    def hashes(self, batch: ChangeBatch) -> Checksums:
        """The hash behind the partition, for the rules that have one."""
        whole = zlib.crc32((self.table.schema + self.table.name).encode())
        result = np.full(batch.num_rows, whole, np.uint32)
        present = {field.name for field in batch.table.arrow_struct}
        absent = batch.after.is_null() if batch.after.null_count else None
        for name in self.names:
            if name in present and batch.num_rows:
                result ^= column_checksums(name, _image(batch, name, absent))
        return result


def _image(batch: ChangeBatch, name: str, absent: pa.BooleanArray | None) -> pa.Array:
    after = pc.struct_field(batch.after, name)
    return after if absent is None else pc.if_else(absent, pc.struct_field(batch.before, name), after)


def compile_rule(rule: PartitionRule, table: TableSchema) -> Partitioner:
    """Raises ConfigError when the table lacks what the rule names and the dialect wants it all."""
    if rule.kind == "index":
        return Partitioner(rule, table, _key(rule, table))
    if rule.kind != "columns":
        return Partitioner(rule, table)
    found = [_column(rule, table, name) for name in rule.columns]
    if rule.exact and not all(found):
        raise _absent(rule, table, [name for name, column in zip(rule.columns, found, strict=True) if not column])
    names = dict.fromkeys(column.name for column in found if column)
    # TiCDC writes a column to the hash as often as it is named, and twice is as never.
    hashed = tuple(column.name for column in found if column) if rule.exact else tuple(names)
    return Partitioner(rule, table, hashed, missing=bool(rule.columns) and not hashed)


def problems(rule: PartitionRule, table: TableSchema, dropped: Sequence[str] = ()) -> list[str]:
    """What a subscription's creation only warns of. What fails it is raised as ConfigError: an index that is not
    there or not unique, a column that a selector drops and, in TiCDC's dialect, a column that is not there."""
    compiled = compile_rule(rule, table)
    if rule.kind == "index" and rule.index:
        index = _index(rule, table)
        if index is not None and not (index.unique or index.primary):
            raise ConfigError(f"{rule.where}.index is {rule.index!r}, which is no unique index", table=table.full_name)
    if rule.kind != "columns":
        return []
    lost = [name for name in compiled.names if name in dropped]
    if lost:
        raise ConfigError(
            f"{rule.where} hashes {', '.join(lost)}, which sink.column-selectors drop; keep what is hashed",
            table=table.full_name,
        )
    absent = [name for name in rule.columns if not _column(rule, table, name)]
    if not absent:
        return []
    left = f"only {', '.join(compiled.names)} is hashed" if compiled.names else "all changes go to partition 0"
    return [f"{rule.where} names {', '.join(absent)}, which {table.full_name} does not carry: {left}"]


def check_number(rule: PartitionRule, count: int) -> None:
    """Raises ConfigError when a fixed partition is beyond the topic's."""
    if rule.kind == "fixed" and rule.number >= count:
        raise ConfigError(
            f"{rule.where}.partition is {rule.number}; with {count} partitions it may be 0 to {count - 1}"
        )


def _key(rule: PartitionRule, table: TableSchema) -> tuple[str, ...]:
    if not rule.index:
        return table.handle_key
    index = _index(rule, table)
    if index is not None:
        return index.columns
    if not rule.exact and rule.index.lower() == "primary" and table.pk_is_handle:
        return table.handle_key
    known = ", ".join(each.name for each in table.indexes) or "none"
    raise ConfigError(f"{rule.where}.index is {rule.index!r}; the table has the indexes {known}", table=table.full_name)


def _index(rule: PartitionRule, table: TableSchema) -> Index | None:
    return next((index for index in table.indexes if _same(rule, index.name, rule.index)), None)


def _column(rule: PartitionRule, table: TableSchema, name: str) -> Column | None:
    return next((column for column in table.row_columns if _same(rule, column.name, name)), None)


def _same(rule: PartitionRule, name: str, said: str) -> bool:
    return name == said if rule.exact else name.lower() == said.lower()


def _absent(rule: PartitionRule, table: TableSchema, names: Sequence[str]) -> ConfigError:
    known = ", ".join(column.name for column in table.row_columns)
    return ConfigError(
        f"{rule.where}.columns names {', '.join(names)}; the table carries {known}", table=table.full_name
    )
