"""DDL events and resolved timestamps as open-protocol messages: one key and one value each."""

from __future__ import annotations

import struct

from tailrace.change.ddl import DdlEvent
from tailrace.change.go_json import quote
from tailrace.change.tso import Ts
from tailrace.codec.base import Message

VERSION = struct.pack(">Q", 1)
ROW, DDL, RESOLVED = 1, 2, 3


def ddl_message(event: DdlEvent) -> Message:
    names = "".join(
        f',"{label}":{quote(name)}' for label, name in (("scm", event.schema_name), ("tbl", event.table_name)) if name
    )
    key = f'{{"ts":{event.commit_ts}{names},"t":{DDL}}}'
    return _message(key, f'{{"q":{quote(event.query)},"t":{int(event.type)}}}')


def resolved_message(upto: Ts) -> Message:
    """Its value is a frame of nothing."""
    return _message(f'{{"ts":{upto},"t":{RESOLVED}}}', "")


def _message(key: str, value: str) -> Message:
    return Message(VERSION + _frame(key.encode()), _frame(value.encode()))


def _frame(content: bytes) -> bytes:
    return struct.pack(">Q", len(content)) + content
