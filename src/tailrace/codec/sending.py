"""What message codecs say alike: what a record costs beside its bytes, the time, how a stored message is named."""

from __future__ import annotations

import time
import uuid

# TiCDC counts so many bytes for what Kafka keeps beside a record's key and value.
RECORD_OVERHEAD = 36


def now() -> int:
    """The wall clock in milliseconds."""
    return time.time_ns() // 1_000_000


def new_name() -> str:
    """A name that no other stored message has."""
    return f"{uuid.uuid4()}.json"
