"""What a MySQL or TiDB DDL statement says, as values: names, columns, keys, partitions. Pure; it runs nothing."""

from tailrace.change.statement.parse import parse_statement
from tailrace.change.statement.values import ColumnText, Key, Part, Partitioning, PartitionStep, Statement, TableName

__all__ = ["ColumnText", "Key", "Part", "PartitionStep", "Partitioning", "Statement", "TableName", "parse_statement"]
