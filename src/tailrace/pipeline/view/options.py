"""The options of a view, as `.option(...)` and `.load(URI)` give them.

A `ViewOptions` that exists is valid; everything else was refused with a ConfigError that names the option and what it
may be. Names are Spark's (no case); an unknown one is refused with the nearest valid one. No message shows a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Literal, cast
from zoneinfo import ZoneInfo

from tailrace.change.tso import MAX_TS, Ts, compose
from tailrace.errors import ConfigError

LATEST: Ts = -1
OPTIONS = (
    *("table", "startTs", "endTs", "columns", "partitions", "mergeSchema", "schemaAt", "zeroDates", "timeZone"),
    *("maxFilesPerTrigger", "maxBytesPerTrigger", "partitionBytes", "config", "virtualColumns", "subscriber"),
)
_PATHS = frozenset({"path", "paths"})
_PART = r"(`(?:[^`]|``)+`|[^.`]+)"
_TABLE = re.compile(rf"{_PART}\.{_PART}")
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_PARTITION_BYTES = 32 << 20
_LEAST_PARTITION_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """`start_ts` is excluded, `end_ts` included; `start_ts` None: from the beginning, LATEST: from now on. Limits of
    a trigger are 0 where there is none, `columns` and `partitions` empty where all are read."""

    uri: str
    schema: str
    table: str
    start_ts: Ts | None = None
    end_ts: Ts = MAX_TS
    columns: tuple[str, ...] = ()
    partitions: frozenset[int] = frozenset()
    merge_schema: bool = False
    schema_at: Ts = 0
    zero_dates: Literal["null", "string"] = "null"
    time_zone: str = "UTC"
    max_files: int = 0
    max_bytes: int = 0
    partition_bytes: int = _PARTITION_BYTES
    config: str = ""
    virtual: frozenset[str] = frozenset()
    subscriber: str = ""

    def __repr__(self) -> str:
        return f"ViewOptions({self.full_name})"

    @property
    def full_name(self) -> str:
        return f"{self.schema}.{self.table}"


def read_options(given: Mapping[str, str]) -> ViewOptions:
    """The options of one `load`; raises ConfigError."""
    known = {name.lower(): name for name in OPTIONS}
    for name in given:
        if name.lower() not in known.keys() | _PATHS:
            near = get_close_matches(name.lower(), known, n=1)
            hint = f"; did you mean {known[near[0]]}?" if near else f"; it may be one of {', '.join(OPTIONS)}"
            raise ConfigError(f"there is no option {name}{hint}")
    said = {name.lower(): value.strip() for name, value in given.items()}
    if not said.get("path"):
        raise ConfigError("load(...) names the folder, bucket or data server, as load('s3://bucket/prefix')")
    schema, table = _table(said.get("table", ""))
    zone = _zone(said.get("timezone") or "UTC")
    return ViewOptions(
        uri=said["path"],
        schema=schema,
        table=table,
        start_ts=_start(said.get("startts", ""), zone),
        end_ts=_moment("endTs", said["endts"], zone) if said.get("endts") else MAX_TS,
        columns=_names(said.get("columns", "")),
        partitions=_ids(said.get("partitions", "")),
        merge_schema=_flag("mergeSchema", said.get("mergeschema", "")),
        schema_at=_moment("schemaAt", said["schemaat"], zone) if said.get("schemaat") else 0,
        zero_dates=_zero_dates(said.get("zerodates") or "null"),
        time_zone=zone.key,
        max_files=_number("maxFilesPerTrigger", said.get("maxfilespertrigger", ""), 0),
        max_bytes=_size("maxBytesPerTrigger", said.get("maxbytespertrigger", ""), 0),
        partition_bytes=max(
            _size("partitionBytes", said.get("partitionbytes", ""), _PARTITION_BYTES), _LEAST_PARTITION_BYTES
        ),
        config=said.get("config", ""),
        virtual=frozenset(_names(said.get("virtualcolumns", ""))),
        subscriber=said.get("subscriber", ""),
    )


def _table(said: str) -> tuple[str, str]:
    found = _TABLE.fullmatch(said)
    if found is None:
        raise ConfigError(
            f"the option table is {said!r}; it must be schema.table, a name with a dot in it in backquotes"
        )
    return _plain(found[1]), _plain(found[2])


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name.strip()


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"the option timeZone is {name!r}; it must be a name such as Asia/Shanghai") from error


def _start(said: str, zone: ZoneInfo) -> Ts | None:
    if said.lower() == "latest":
        return LATEST
    return _moment("startTs", said, zone) if said else None


def _moment(name: str, said: str, zone: ZoneInfo) -> Ts:
    """A TSO, or a moment as ISO 8601 writes it, in the view's time zone where it names none."""
    if said.isascii() and said.isdigit() and int(said) <= MAX_TS:
        return int(said)
    try:
        when = datetime.fromisoformat(said)
    except ValueError as error:
        raise ConfigError(
            f"the option {name} is {said!r}; it must be a TSO (a number) or a moment such as 2026-11-18T10:00:00"
        ) from error
    return compose(round((when if when.tzinfo else when.replace(tzinfo=zone)).timestamp() * 1000))


def _names(said: str) -> tuple[str, ...]:
    """Names with commas between them, one with a comma in it in backquotes."""
    parts = re.findall(r"\s*(`(?:[^`]|``)+`|[^,`]+)\s*(?:,|$)", said)
    return tuple(_plain(part.strip()) for part in parts)


def _ids(said: str) -> frozenset[int]:
    parts = [part.strip() for part in said.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise ConfigError(f"the option partitions is {said!r}; it must be ids of partitions with commas between them")
    return frozenset(int(part) for part in parts)


def _flag(name: str, said: str) -> bool:
    if said.lower() not in ("", "true", "false"):
        raise ConfigError(f"the option {name} is {said!r}; it must be true or false")
    return said.lower() == "true"


def _zero_dates(said: str) -> Literal["null", "string"]:
    if said.lower() not in ("null", "string"):
        raise ConfigError(f"the option zeroDates is {said!r}; it must be null or string")
    return cast(Literal["null", "string"], said.lower())


def _number(name: str, said: str, default: int) -> int:
    if said and not (said.isascii() and said.isdigit() and int(said) > 0):
        raise ConfigError(f"the option {name} is {said!r}; it must be a whole number from 1 on")
    return int(said) if said else default


def _size(name: str, said: str, default: int) -> int:
    found = _SIZE.fullmatch(said)
    if said and (found is None or not int(found[1])):
        raise ConfigError(f"the option {name} is {said!r}; it must be a number of bytes such as 1048576, 64m or 1g")
    return int(found[1]) << _UNITS[found[2].lower()] if found else default
