"""DDL events and watermarks as canal-json messages, and back.

These are one message each, so they are built and read one by one, with the fields in the order of Go's encoder. Which
statement has which `type` is canal's own choice of words; on the way back several codes of TiDB have the same word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tailrace.change.ddl import DdlEvent
from tailrace.change.go_json import quote
from tailrace.change.tso import Ts

WATERMARK = "TIDB_WATERMARK"
_WORDS = {
    "CREATE": (3,),
    "RENAME": (14, 47),
    "CINDEX": (7, 9, 32),
    "DINDEX": (8, 10, 33),
    "ALTER": (5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38, 41, 61, 64, 71, 72),
    "ERASE": (4,),
    "TRUNCATE": (11,),
}
_WORD_OF = {code: word for word, codes in _WORDS.items() for code in codes}
_CODE_OF = {word: codes[0] for word, codes in _WORDS.items()}


def ddl_message(event: DdlEvent, ts: int, extension: bool) -> bytes:
    word = _WORD_OF.get(event.type, "QUERY")
    names = (event.schema_name, event.table_name)
    return _message(names, word, event.commit_ts, ts, event.query, "commitTs" if extension else "")


def watermark_message(upto: Ts, ts: int) -> bytes:
    return _message(("", ""), WATERMARK, upto, ts, "", "watermarkTs")


def _message(names: tuple[str, str], word: str, commit_ts: Ts, ts: int, sql: str, extension: str) -> bytes:
    """The extension holds one number, which is left out where it is zero."""
    ddl = "false" if word == WATERMARK else "true"
    text = (
        f'{{"id":0,"database":{quote(names[0])},"table":{quote(names[1])},"pkNames":null,"isDdl":{ddl},'
        f'"type":"{word}","es":{commit_ts >> 18},"ts":{ts},"sql":{quote(sql)},'
        '"sqlType":null,"mysqlType":null,"data":null,"old":null'
    )
    if extension:
        number = f'"{extension}":{commit_ts}' if commit_ts else ""
        text += f',"_tidb":{{{number}}}'
    return (text + "}").encode()


def ddl_event(said: Mapping[str, Any], commit_ts: Ts) -> DdlEvent:
    """The event that a message tells of; its type is the first of those with its word, 0 for `QUERY`."""
    code = _CODE_OF.get(said["type"], 0)
    return DdlEvent(commit_ts, commit_ts, 0, code, said["sql"], said["database"], said["table"])
