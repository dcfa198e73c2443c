"""Canal-JSON: one object a change, as TiCDC writes it into files and messages."""

from tailrace.codec.canal_json.decode import CanalJsonDecoder
from tailrace.codec.canal_json.encode import CanalJsonEncoder
from tailrace.codec.canal_json.messages import CanalJsonMessageEncoder
from tailrace.codec.canal_json.options import CanalJsonOptions
from tailrace.codec.canal_json.receive import CanalJsonMessageDecoder

__all__ = [
    "CanalJsonDecoder",
    "CanalJsonEncoder",
    "CanalJsonMessageDecoder",
    "CanalJsonMessageEncoder",
    "CanalJsonOptions",
]
