"""Partition rules: which partition of its topic each change goes to, with TiCDC's hashes."""

from tailrace.route.partition.partitioner import Partitioner as Partitioner
from tailrace.route.partition.partitioner import compile_rule as compile_rule
from tailrace.route.partition.partitioner import problems as problems
from tailrace.route.partition.rule import PartitionRule as PartitionRule
from tailrace.route.partition.rule import parse_rule as parse_rule
