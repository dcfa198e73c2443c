"""Debezium, in JSON: one change event a row, as TiCDC lays it out."""

from tailrace.codec.debezium.encode import DebeziumEncoder
from tailrace.codec.debezium.options import DebeziumOptions

__all__ = ["DebeziumEncoder", "DebeziumOptions"]
