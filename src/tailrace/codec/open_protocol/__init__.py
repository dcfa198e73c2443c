"""Open-protocol: several changes a message, each a key and a value of JSON, as TiCDC writes it into Kafka."""

from tailrace.codec.open_protocol.decode import OpenProtocolDecoder
from tailrace.codec.open_protocol.encode import OpenProtocolEncoder
from tailrace.codec.open_protocol.options import OpenProtocolOptions

__all__ = ["OpenProtocolDecoder", "OpenProtocolEncoder", "OpenProtocolOptions"]
