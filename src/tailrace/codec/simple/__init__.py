"""Simple, in JSON: one object a change, and the schemas that changes are read by as messages of their own."""

from tailrace.codec.simple.encode import SimpleEncoder
from tailrace.codec.simple.options import SimpleOptions

__all__ = ["SimpleEncoder", "SimpleOptions"]
