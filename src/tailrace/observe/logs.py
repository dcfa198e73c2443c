"""Logs: one JSON object a line, or the same as text for people.

`say` is how the server logs: an event of `names`, and fields. Guarantee: every URI in a text of a line is masked, so
a password in one stays out, whoever logged it; what is a `Secret` shows itself as stars anyway. A line has no line
breaks.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Literal, TextIO

from tailrace.config import masked_uri
from tailrace.observe import metrics
from tailrace.observe.names import EVENTS, EVENTS_LOGGED

Format = Literal["json", "text"]
Field = str | int | float | bool | None

_URI = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+""")


def say(logger: logging.Logger, level: int, event: str, **fields: Field) -> None:
    """Log an event of `names` with its fields, and count it."""
    if event not in EVENTS:
        raise ValueError(f"{event!r} is not in observe.names")
    metrics.count(EVENTS_LOGGED, event=event)
    logger.log(level, event, extra={"fields": fields})


def set_up(stream: TextIO, form: Format = "json", level: int = logging.INFO) -> None:
    """Send all of Tailrace's logs, and the warnings of everybody else, to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("tailrace").setLevel(level)


class JsonLines(logging.Formatter):
    """`{"time": …, "level": …, "logger": …, "event": …, fields…}`."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_fields(self, record), ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """`time LEVEL event name=value …`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(self, record)
        head = [" ".join(str(fields.pop(name)).split()) for name in ("time", "level", "logger", "event")]
        rest = [f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in fields.items()]
        return " ".join([head[0], head[1].upper(), head[3], *rest])


def _fields(formatter: logging.Formatter, record: logging.LogRecord) -> dict[str, Field]:
    moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    said = {"time": moment, "level": record.levelname.lower(), "logger": record.name, "event": record.getMessage()}
    extra = getattr(record, "fields", {})
    trouble = {"traceback": formatter.formatException(record.exc_info)} if record.exc_info else {}
    whole = said | extra | trouble
    return {name: _masked(value) if isinstance(value, str) else value for name, value in whole.items()}


def _masked(text: str) -> str:
    return _URI.sub(lambda found: masked_uri(found[0]), text)
