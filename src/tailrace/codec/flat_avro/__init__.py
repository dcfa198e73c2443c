"""Flat-avro: one Avro record a change, all columns side by side, as TiCDC sends it through Kafka."""

from tailrace.codec.flat_avro.decode import FlatAvroMessageDecoder
from tailrace.codec.flat_avro.encode import FlatAvroMessageEncoder
from tailrace.codec.flat_avro.options import FlatAvroOptions
from tailrace.codec.flat_avro.registry import MemoryRegistry, Registry

__all__ = ["FlatAvroMessageDecoder", "FlatAvroMessageEncoder", "FlatAvroOptions", "MemoryRegistry", "Registry"]
