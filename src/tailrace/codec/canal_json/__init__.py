"""Canal-JSON: one object a change, as TiCDC writes it into files and messages."""

from tailrace.codec.canal_json.decode import CanalJsonDecoder
from tailrace.codec.canal_json.encode import CanalJsonEncoder
from tailrace.codec.canal_json.messages import CanalJsonMessageEncoder
from tailrace.codec.canal_json.options import CanalJsonOptions

__all__ = ["CanalJsonDecoder", "CanalJsonEncoder", "CanalJsonMessageEncoder", "CanalJsonOptions"]
